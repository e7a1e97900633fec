import { setTimeout as delay } from 'node:timers/promises';
import { withTimeLimit } from '../../shared/core/time-limit.js';

/** Each kind of ordinary work: the pause after it, and the time within which it has to succeed on a quiet machine, in milliseconds. */
export const KINDS = {
  alive: { pauseMs: 50, boundMs: 5_000 },
  read: { pauseMs: 150, boundMs: 5_000 },
  write: { pauseMs: 500, boundMs: 5_000 },
  visit: { pauseMs: 150, boundMs: 5_000 },
  hook: { pauseMs: 1_000, boundMs: 5_000 },
  'sign-in': { pauseMs: 2_000, boundMs: 10_000 },
  'git fetch': { pauseMs: 2_000, boundMs: 20_000 },
  'git push': { pauseMs: 3_000, boundMs: 20_000 },
  deployment: { pauseMs: 15_000, boundMs: 90_000 },
  backup: { pauseMs: 15_000, boundMs: 90_000 },
};
export type Kind = keyof typeof KINDS;
/** The kinds that are single requests, which a process of its own makes. */
export type RequestKind = 'alive' | 'read' | 'write' | 'visit';
/** The 99th percentile is of these. */
export const REQUESTS: readonly Kind[] = ['read', 'write', 'visit'];

/** Where the requests of one workspace go. */
export interface RequestTargets {
  baseUrl: string;
  workspaceId: string;
  key: string;
  serviceId: string;
  url: string;
  apiPort: number;
  edgePort: number;
  /** What the service answers. */
  word: string;
}

/** So many times its bound is waited for ordinary work, on any machine. */
const MAX_SLOWNESS = 8;

/** One piece of ordinary work. `failure` is '' if it succeeded; times in milliseconds. */
export interface Sample {
  kind: Kind;
  begun: number;
  ms: number;
  failure: string;
}

/** Does one kind of work again and again until the signal says that the run is over. */
export async function repeat(
  kind: Kind,
  work: () => Promise<unknown>,
  signal: AbortSignal,
  done: (sample: Sample) => void,
): Promise<void> {
  const { pauseMs, boundMs } = KINDS[kind];
  while (!signal.aborted) {
    const [begun, from] = [Date.now(), performance.now()];
    const limitMs = MAX_SLOWNESS * boundMs;
    const late = () => new Error(`not done within ${limitMs} ms`);
    const failure = await withTimeLimit(work(), limitMs, late).then(
      () => '',
      (error: Error) => `${error} ${error.cause ?? ''}`.trim().slice(0, 300),
    );
    done({ kind, begun, ms: performance.now() - from, failure });
    await delay(pauseMs, undefined, { signal }).catch(() => undefined);
  }
}

/** The 99th percentile of the times, in whole milliseconds; 0 without samples of these kinds. */
export function percentile99(samples: readonly Sample[], kinds: readonly Kind[] = REQUESTS): number {
  const times = samples.filter(({ kind }) => kinds.includes(kind)).map(({ ms }) => ms);
  times.sort((a, b) => a - b);
  return Math.round(times[Math.min(times.length - 1, Math.floor(times.length * 0.99))] ?? 0);
}

/** A request takes at most this long on a quiet machine without an attack, in the 99th percentile. */
const QUIET_MS = 40;

/** How many times slower than a quiet machine this one is, from samples before the attack: 1 to 8. */
export function slownessOf(quiet: readonly Sample[]): number {
  return Math.min(MAX_SLOWNESS, Math.max(1, percentile99(quiet) / QUIET_MS));
}
