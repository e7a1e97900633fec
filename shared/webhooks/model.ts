import { createHmac } from 'node:crypto';
import { hostOf, isPrivateAddress } from '../services/service-source.js';

export const WEBHOOK_EVENTS = [
  'deployment.live',
  'deployment.failed',
  'run.failed',
  'backup.failed',
  'budget.alert',
] as const;
export type WebhookEvent = (typeof WEBHOOK_EVENTS)[number];

/** How the bodies of deliveries are written. All but `json` are messages for a chat. */
export const WEBHOOK_FORMATS = ['json', 'slack', 'discord', 'teams'] as const;
export type WebhookFormat = (typeof WEBHOOK_FORMATS)[number];

/** How many webhooks one workspace may have, and how many deliveries may wait for one of them. */
export const MAX_WEBHOOKS = 20;
export const MAX_WAITING = 1000;
export const MAX_URL_LENGTH = 2048;

/** Returns what is wrong with a webhook's address, or null. Names are resolved and checked when something is sent. */
export function webhookUrlProblem(address: string, allowLocal: boolean): string | null {
  if (!URL.canParse(address) || /[^!-~]/.test(address)) return 'is no address such as https://example.com/path';
  const url = new URL(address);
  if (url.protocol !== 'https:' && url.protocol !== 'http:') return 'must begin with https:// or http://';
  if (url.username !== '' || url.password !== '') return 'must have no user and no password';
  if (!allowLocal && isPrivateAddress(hostOf(url)))
    return 'is a private address, which is not allowed on this installation';
  return null;
}

/**
 * Returns the address without its secrets, for display. The query is left out, and for a chat the path, which is all that
 * somebody needs to write into the chat.
 */
export function shownUrl(address: string, format: WebhookFormat): string {
  const url = new URL(address);
  if (format !== 'json') return `${url.origin}/***`;
  if (url.search !== '') url.search = '***';
  url.hash = '';
  return url.href;
}

/** The first and the longest pause, in milliseconds. The last try is about a day after the first. */
const PAUSE = { first: 30_000, longest: 2 * 60 * 60_000 };
export const MAX_TRIES = 20;

/**
 * Returns the pause after the try with this number, counted from 1, in milliseconds.
 * Returns null after the last one.
 */
export function pauseAfterTry(tries: number): number | null {
  return tries >= MAX_TRIES ? null : Math.min(PAUSE.first * 2 ** (tries - 1), PAUSE.longest);
}

/** Returns the pause after an answer that named one, in milliseconds. It is never shorter than without it. */
export function pauseAfterAnswer(tries: number, retryAfterMs: number): number | null {
  const pause = pauseAfterTry(tries);
  return pause === null ? null : Math.max(pause, Math.min(retryAfterMs, PAUSE.longest));
}

/** Returns how long a `Retry-After` header asks to wait, in milliseconds. Returns 0 without a usable header. */
export function retryAfterMs(header: string | undefined, now: Date): number {
  if (header === undefined) return 0;
  const seconds = Number(header);
  const ms = Number.isFinite(seconds) ? seconds * 1000 : Date.parse(header) - now.getTime();
  return ms > 0 ? Math.ceil(ms) : 0;
}

export interface DeliveryContent {
  id: string;
  event: WebhookEvent;
  workspaceId: string;
  happenedAt: Date;
  data: Readonly<Record<string, unknown>>;
}

export function deliveryBody({ id, event, workspaceId, happenedAt, data }: DeliveryContent): string {
  return JSON.stringify({ id, event, workspaceId, createdAt: happenedAt.toISOString(), data });
}

/**
 * Returns the signature `t=<seconds>,v1=<hex>`: the HMAC-SHA256 of `<seconds>.<body>`.
 * Each try is signed with its own time, so that a receiver can refuse old ones.
 */
export function signatureOf(secret: string, body: string, now: Date): string {
  const seconds = Math.floor(now.getTime() / 1000);
  return `t=${seconds},v1=${createHmac('sha256', secret).update(`${seconds}.${body}`).digest('hex')}`;
}

/** Returns whether a delivery has arrived, by the answer's status. `gone`: the receiver wants no further tries. */
export function resultOf(status: number): 'delivered' | 'gone' | 'again' {
  if (status >= 200 && status < 300) return 'delivered';
  return status === 410 ? 'gone' : 'again';
}
