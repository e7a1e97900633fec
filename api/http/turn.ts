import type { ApiDeps } from './context.js';
import { completion, perform, requestOf } from './perform.js';
import type { Route, SignInLimits } from './route.js';
import type { ApiStep } from './state.js';
import { Turns } from './turns.js';

export interface RequestTurns {
  /** Each holds at most one connection to the database, and the pool has 20. */
  usual: Turns;
  /** Log reads that may look at very many lines: the longest statements that callers can cause. */
  searches: Turns;
  /** Writes that are committed and wait for a worker, a name server or a mail server. They hold no connection. */
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
 * The steps that answer a request. Of a workspace's requests few at a time use the database, in turns. What waits for the network, for a
 * worker or for the place of a search waits before that turn or after it.
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

/** Asks before the transaction: an engine that hangs holds no connection. */
function askEngine({ engine }: ApiDeps): ApiStep {
  return async (ctx) => {
    ctx.state.engineProblem = await engine.ping().then(
      () => null,
      (error: unknown) => error,
    );
  };
}

/** Makes a request wait for its workspace's turn before the step. */
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
