import type { Platform } from '../support/platform.js';
import type { HostileTenant } from './hostile-tenant.js';
import type { OrdinaryMix } from './ordinary-mix.js';
import type { Kind } from './work-loop.js';

export interface CaseContext {
  platform: Platform;
  tenants: readonly [HostileTenant, ...HostileTenant[]];
  mix: OrdinaryMix;
  signal: AbortSignal;
}

/** One attack on one of the four rules of docs/security.md. */
export interface HostileCase {
  name: string;
  /** The number of the rule that the attack tries to break (1 to 4); 0 if the attack is on the isolation. */
  rule: number;
  short: boolean;
  /** Attacks. Returns how the attack reached its aim; '' if it did not. */
  attempt(context: CaseContext): Promise<string>;
}

/** Builds a case. `run` attacks and returns what it saw; `check` returns how the attack reached its aim, or ''. */
export function hostileCase<T>(init: {
  name: string;
  rule: number;
  short?: boolean;
  run(context: CaseContext): Promise<T>;
  check(seen: T, context: CaseContext): string | Promise<string>;
}): HostileCase {
  const { name, rule, short = false } = init;
  return { name, rule, short, attempt: async (context) => init.check(await init.run(context), context) };
}

export const NOT_LIVE = 'the hostile application did not go live, so nothing was tried';

/** Returns '' if the condition holds, and otherwise the fault. */
export function unless(holds: boolean, fault: string): string {
  return holds ? '' : fault;
}

/** Returns the first such work since `begun` that failed or took too long; '' if none. Slow machines get more time. */
export function harmed({ mix }: CaseContext, kind: Kind, begun: number, withinMs: number): string {
  const samples = mix.since(begun).filter((sample) => sample.kind === kind);
  if (samples.length === 0) return `no ordinary ${kind} has ended meanwhile`;
  const bad = samples.find(({ failure, ms }) => failure !== '' || ms > withinMs * mix.slowness);
  return bad === undefined ? '' : `an ordinary ${kind} took ${Math.round(bad.ms)} ms ${bad.failure}`;
}
