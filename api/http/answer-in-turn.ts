import type { ApiDeps } from './api-deps.js';
import { completion, perform, requestOf } from './perform-request.js';
import type { ApiStep } from './request-state.js';
import type { Route, SignInLimits } from './route.js';
import { Turns } from './workspace-turns.js';

export interface RequestTurns {
  /** Limits all requests of workspaces, because each may use one of the pool's 20 database connections. */
  usual: Turns;
  /** Limits log searches in addition to `usual`, because they may examine very many lines. */
  searches: Turns;
  /** Limits writes that wait for a worker, name server or mail server after their commit. They use no connection. */
  completions: Turns;
}

export function requestTurns(): RequestTurns {
  return {
    usual: new Turns({ each: 6, all: 18, waiting: 200 }),
    searches: new Turns({ each: 2, all: 4, waiting: 10 }),
    completions: new Turns({ each: 6, all: 300, waiting: 20 }),
  };
}

/** Returns the steps that perform a request. They limit the concurrent requests of a workspace. */
export function answerInTurn(deps: ApiDeps, limits: SignInLimits, route: Route, turns: RequestTurns): ApiStep[] {
  const answer = perform(deps, limits, route);
  if (route.access !== 'key or session') return [answer];
  const usual = inTurn(turns.usual, answer);
  if (route.method === 'GET') {
    const { isSearch } = route;
    if (isSearch === undefined) return [usual];
    const search = inTurn(turns.searches, usual);
    return [(ctx) => (isSearch(requestOf(ctx, deps)) ? search(ctx) : usual(ctx))];
  }
  const { engine, complete } = route;
  const steps = [usual];
  if (engine) steps.unshift(askEngine(deps));
  if (complete !== undefined) steps.push(inTurn(turns.completions, completion(deps, complete)));
  return steps;
}

/** Checks the queue engine before the transaction, so that an engine that hangs blocks no database connection. */
function askEngine({ engine }: ApiDeps): ApiStep {
  return async (ctx) => {
    ctx.state.engineProblem = await engine.ping().then(
      () => null,
      (error: unknown) => error,
    );
  };
}

function inTurn(turns: Turns, step: ApiStep): ApiStep {
  return async (ctx) => {
    const end = await turns.take(ctx.state.workspace?.row.id ?? ctx.state.caller.userId).catch((error: unknown) => {
      ctx.set('Retry-After', '1');
      throw error;
    });
    try {
      await step(ctx);
    } finally {
      end();
    }
  };
}
