import type { ApiContext, ApiMiddleware, ApiStep } from './request-state.js';

interface IndexedRoute {
  method: string;
  path: string;
  steps: readonly ApiStep[];
}

interface Entry {
  names: string[];
  steps: readonly ApiStep[];
}

const UUID_LENGTH = 36;
const DASH = 0x2d;

/**
 * Finds a route by its path in one look-up, because the router would try every route's pattern. The router handles only
 * what is not found here: a parameter that is not a UUID, HEAD, a wrong method, an unknown path.
 */
export class RouteIndex {
  readonly #entries = new Map<string, Entry>();

  constructor(routes: readonly IndexedRoute[]) {
    for (const { method, path, steps } of routes) {
      const names = [...path.matchAll(/:(\w+)/g)].map(([, name = '']) => name);
      this.#entries.set(`${method} ${path.replace(/:\w+/g, ':')}`, { names, steps });
    }
  }

  middleware(): ApiMiddleware {
    return (ctx, next) => {
      const { shape, ids } = shapeOf(ctx.path);
      const entry = this.#entries.get(`${ctx.method} ${shape}`);
      // A path that itself has a segment `:` has fewer UUIDs than the route has parameters.
      if (entry?.names.length !== ids.length) return next();
      const params: Record<string, string> = {};
      for (const [index, name] of entry.names.entries()) params[name] = ids[index] ?? '';
      ctx.params = params;
      return takeSteps(entry.steps, ctx);
    };
  }
}

/** Replaces each UUID in a path with `:`, and returns the result and the UUIDs. */
export function shapeOf(path: string): { shape: string; ids: string[] } {
  const ids: string[] = [];
  const shape = path
    .split('/')
    .map((segment) => {
      if (segment.length !== UUID_LENGTH || segment.charCodeAt(8) !== DASH || segment.charCodeAt(23) !== DASH) {
        return segment;
      }
      ids.push(segment);
      return ':';
    })
    .join('/');
  return { shape, ids };
}

/** Runs the steps in order. Awaits only steps that return a promise, which is faster. */
export async function takeSteps(steps: readonly ApiStep[], ctx: ApiContext): Promise<void> {
  for (const step of steps) {
    const waiting = step(ctx);
    if (waiting !== undefined) await waiting;
  }
}
