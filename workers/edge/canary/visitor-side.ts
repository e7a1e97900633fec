import type { SideName } from '../../../shared/deployments/canary-store.js';
import type { Exchange } from '../proxy/exchange.js';
import type { HeaderChange } from '../rules/rule-set.js';
import type { LiveCanary, VisitorSide } from './live-canary.js';

const COOKIE = 'ranvier_canary';
/** How long a browser keeps the cookie, in seconds: as long as the longest canary. */
const MAX_AGE = 86_400;
const NONE: ReadonlySet<string> = new Set();
/** A response that ended too early is counted as an error. */
const BROKEN = 502;

/** Returns the release that a visitor's cookie names. The cookies of other canaries are ignored. */
export function sideInCookie(header: string | undefined, deploymentId: string): SideName | null {
  const [, id, side] = /(?:^|;) *ranvier_canary=([0-9a-f]{12})\.(new|previous) *(?:;|$)/.exec(header ?? '') ?? [];
  return id === deploymentId.slice(-12) ? (side as SideName) : null;
}

/** Chooses the new release in `percent` of 100 cases. `chance` is random, from 0 to below 1. */
export function drawnSide(percent: number, chance: number): SideName {
  return chance < percent / 100 ? 'new' : 'previous';
}

/** Returns the release that serves a visitor, and sets a cookie if the visitor has none. */
export function takeSide(exchange: Exchange, canary: LiveCanary): SideName {
  const { deploymentId, percent } = canary;
  if (exchange.canary !== null) return exchange.canary.side;
  const known = sideInCookie(exchange.req.headers.cookie, deploymentId);
  const side = known ?? drawnSide(percent, Math.random());
  exchange.canary = { side, counts: canary[side], brokeOff: false };
  if (known === null) {
    const secure = exchange.client.protocol === 'https' ? '; Secure' : '';
    const value = `${COOKIE}=${deploymentId.slice(-12)}.${side}; Path=/; Max-Age=${MAX_AGE}; HttpOnly; SameSite=Lax${secure}`;
    const change: HeaderChange = { set: [{ name: 'Set-Cookie', value }], without: NONE };
    exchange.headerChanges = [...(exchange.headerChanges ?? []), change];
  }
  return side;
}

/** Counts a response for the release that sent it. `ms` is null if its duration does not count as latency. */
export function countVisit({ counts, brokeOff }: VisitorSide, status: number, ms: number | null): void {
  counts.count(brokeOff ? BROKEN : status, 0, ms);
}
