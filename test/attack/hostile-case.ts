import type { Platform } from '../support/platform.js';
import type { HostileTenant } from './hostile-tenant.js';
import type { OrdinaryMix } from './ordinary-mix.js';
import type { Kind } from './work-loop.js';

/** What a case has to work with. */
export interface Ground {
  platform: Platform;
  /** Workspaces that mean harm. A case that needs one takes the first. */
  tenants: readonly [HostileTenant, ...HostileTenant[]];
  mix: OrdinaryMix;
  /** Ends what a case does, when its time is over. */
  signal: AbortSignal;
}

/** One attack on one of the four rules of docs/security.md. */
export interface HostileCase {
  name: string;
  /** The rule that it tries to break: 1 to 4; 0 if it is about isolation. */
  rule: number;
  /** Whether a short run has it. */
  short: boolean;
  /** Attacks, and returns how the attack reached its aim; '' if it did not. */
  attempt(ground: Ground): Promise<string>;
}

/** `run` attacks and returns what it saw; `check` says from that how the attack reached its aim, '' if it did not. */
export function hostileCase<T>(init: {
  name: string;
  rule: number;
  short?: boolean;
  run(ground: Ground): Promise<T>;
  check(seen: T, ground: Ground): string | Promise<string>;
}): HostileCase {
  const { name, rule, short = false } = init;
  return { name, rule, short, attempt: async (ground) => init.check(await init.run(ground), ground) };
}

/** '' if this holds. */
export function unless(holds: boolean, fault: string): string {
  return holds ? '' : fault;
}

/** How ordinary work of one kind was harmed since then: the first failure, or one that took longer than `withinMs` would be on this machine; '' if none was. */
export function harmed({ mix }: Ground, kind: Kind, begun: number, withinMs: number): string {
  const samples = mix.since(begun).filter((sample) => sample.kind === kind);
  if (samples.length === 0) return `no ordinary ${kind} has ended meanwhile`;
  const bad = samples.find(({ failure, ms }) => failure !== '' || ms > withinMs * mix.slowness);
  return bad === undefined ? '' : `an ordinary ${kind} took ${Math.round(bad.ms)} ms ${bad.failure}`;
}
