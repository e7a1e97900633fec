import { setTimeout as delay } from 'node:timers/promises';
import { withTimeLimit } from '../../shared/core/time-limit.js';
import type { Hook } from '../support/hook-delivery.js';

/** Kinds of ordinary work: the pause after each, and its time limit on a quiet machine. */
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
/** Kinds of work that are single requests, which a separate process makes. */
export type RequestKind = 'alive' | 'read' | 'write' | 'visit' | 'hook';
export const REQUESTS: readonly Kind[] = ['read', 'write', 'visit'];

export interface RequestTargets {
  baseUrl: string;
  workspaceId: string;
  key: string;
  serviceId: string;
  hook: Hook;
  url: string;
  apiPort: number;
  edgePort: number;
  word: string;
}

/** A slow machine multiplies the time limits of ordinary work by at most this. */
const MAX_SLOWNESS = 8;

/** One piece of ordinary work. `failure` is '' if it succeeded; times in milliseconds. */
export interface Sample {
  kind: Kind;
  begun: number;
  ms: number;
  failure: string;
}

/** Repeats one kind of work until the signal aborts. */
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

/** Returns the 99th percentile of the times, in whole milliseconds; 0 without samples. */
export function percentile99(samples: readonly Sample[], kinds: readonly Kind[] = REQUESTS): number {
  const times = samples.filter(({ kind }) => kinds.includes(kind)).map(({ ms }) => ms);
  times.sort((a, b) => a - b);
  return Math.round(times[Math.min(times.length - 1, Math.floor(times.length * 0.99))] ?? 0);
}

/** The 99th percentile of requests on a quiet machine without an attack. */
const QUIET_MS = 40;

/** Returns how many times slower than a quiet machine this one is (1 to 8), from samples before the attack. */
export function slownessOf(quiet: readonly Sample[]): number {
  return Math.min(MAX_SLOWNESS, Math.max(1, percentile99(quiet) / QUIET_MS));
}
