import type { ApiDeps } from './api-deps.js';
import { completion, perform, requestOf } from './perform-request.js';
import type { ApiStep } from './request-state.js';
import type { Route, SignInLimits } from './route.js';
import { Turns } from './workspace-turns.js';

export interface RequestTurns {
  /** Requests that each hold at most one connection to the database. The pool has 20. */
  usual: Turns;
  /** Log reads that may examine very many lines: the longest statements that callers can cause. */
  searches: Turns;
  /** Writes that are committed and wait for a worker, a name server or a mail server, without a connection. */
  completions: Turns;
}

export function requestTurns(): RequestTurns {
  return {
    usual: new Turns({ each: 6, all: 18, waiting: 200 }),
    searches: new Turns({ each: 2, all: 4, waiting: 10 }),
    completions: new Turns({ each: 6, all: 300, waiting: 20 }),
  };
}

/**
 * Returns the steps that answer a request. Few requests of one workspace use the database at a time.
 * They wait for the network, a worker or a search outside of that turn.
 */
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

/** Asks before the transaction, so that a request does not hold a connection while the engine hangs. */
function askEngine({ engine }: ApiDeps): ApiStep {
  return async (ctx) => {
    ctx.state.engineProblem = await engine.ping().then(
      () => null,
      (error: unknown) => error,
    );
  };
}

/** Waits for a turn of the request's workspace before the step. */
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
