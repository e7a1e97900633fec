import type { SideName } from '../../../shared/deployments/canary-store.js';
import type { Exchange } from '../proxy/exchange.js';
import type { HeaderChange } from '../rules/rule-set.js';
import type { LiveCanary, VisitorSide } from './live-canary.js';

const COOKIE = 'ranvier_canary';
/** How long a browser keeps the cookie, in seconds: as long as the longest canary. */
const MAX_AGE = 86_400;
const NONE: ReadonlySet<string> = new Set();
/** An answer that broke off counts as one with this status. */
const BROKEN = 502;

/**
 * Returns the side that the cookie names; null for none. The cookie contains the end of the deployment's id, so that
 * the cookie of another canary is ignored.
 */
export function sideInCookie(header: string | undefined, deploymentId: string): SideName | null {
  const [, id, side] = /(?:^|;) *ranvier_canary=([0-9a-f]{12})\.(new|previous) *(?:;|$)/.exec(header ?? '') ?? [];
  return id === deploymentId.slice(-12) ? (side as SideName) : null;
}

/** Draws the side of a new visitor. `chance` is a random number, at least 0 and below 1. */
export function drawnSide(percent: number, chance: number): SideName {
  return chance < percent / 100 ? 'new' : 'previous';
}

/**
 * Returns the visitor's side. Without a cookie, the side is drawn at random, and the response sets the cookie. If the
 * request was held and is handled again, it keeps its side.
 */
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

/** Counts an answer for its side. `ms` is null if the duration of the answer does not count as latency. */
export function countVisit({ counts, brokeOff }: VisitorSide, status: number, ms: number | null): void {
  counts.count(brokeOff ? BROKEN : status, 0, ms);
}
