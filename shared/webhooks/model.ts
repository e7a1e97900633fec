import { createHmac } from 'node:crypto';
import { hostOf, isPrivateAddress } from '../services/service-source.js';

export const WEBHOOK_EVENTS = [
  'deployment.live',
  'deployment.failed',
  'run.failed',
  'backup.failed',
  'budget.alert',
  'alert.firing',
  'alert.resolved',
] as const;
export type WebhookEvent = (typeof WEBHOOK_EVENTS)[number];

/** Formats of a delivery's body. All except `json` are chat messages. */
export const WEBHOOK_FORMATS = ['json', 'slack', 'discord', 'teams'] as const;
export type WebhookFormat = (typeof WEBHOOK_FORMATS)[number];

/** Maximum number of webhooks per workspace. `MAX_WAITING` is the maximum number of waiting deliveries per webhook. */
export const MAX_WEBHOOKS = 20;
export const MAX_WAITING = 1000;
export const MAX_URL_LENGTH = 2048;

/** Returns why a webhook's URL is invalid, or null. Host names are resolved and checked when a delivery is sent. */
export function webhookUrlProblem(address: string, allowLocal: boolean): string | null {
  if (!URL.canParse(address) || /[^!-~]/.test(address)) return 'is no address such as https://example.com/path';
  const url = new URL(address);
  if (url.protocol !== 'https:' && url.protocol !== 'http:') return 'must begin with https:// or http://';
  if (url.username !== '' || url.password !== '') return 'must have no user and no password';
  if (!allowLocal && isPrivateAddress(hostOf(url)))
    return 'is a private address, which is not allowed on this installation';
  return null;
}

/** Masks the secrets in a webhook's URL. For a chat, the path alone would suffice to write to the chat. */
export function shownUrl(address: string, format: WebhookFormat): string {
  const url = new URL(address);
  if (format !== 'json') return `${url.origin}/***`;
  if (url.search !== '') url.search = '***';
  url.hash = '';
  return url.href;
}

/** Delays between the attempts to send a delivery, in milliseconds. The last attempt is about a day after the first. */
const PAUSE = { first: 30_000, longest: 2 * 60 * 60_000 };
export const MAX_TRIES = 20;

/** Returns the delay after an attempt, in milliseconds; null after the last attempt. Attempts are counted from 1. */
export function pauseAfterTry(tries: number): number | null {
  return tries >= MAX_TRIES ? null : Math.min(PAUSE.first * 2 ** (tries - 1), PAUSE.longest);
}

/** Returns the delay after a response with `Retry-After`, in milliseconds; null after the last attempt. */
export function pauseAfterAnswer(tries: number, retryAfterMs: number): number | null {
  const pause = pauseAfterTry(tries);
  return pause === null ? null : Math.max(pause, Math.min(retryAfterMs, PAUSE.longest));
}

/** Returns the delay that a `Retry-After` header requests, in milliseconds; 0 without a valid header. */
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

/** Returns `t=<seconds>,v1=<hex>`. `<hex>` is the HMAC-SHA256 of `<seconds>.<body>`. Receivers can reject old times. */
export function signatureOf(secret: string, body: string, now: Date): string {
  const seconds = Math.floor(now.getTime() / 1000);
  return `t=${seconds},v1=${createHmac('sha256', secret).update(`${seconds}.${body}`).digest('hex')}`;
}

/** Returns the result of a delivery by its response status. `gone`: the receiver asks for no further attempts. */
export function resultOf(status: number): 'delivered' | 'gone' | 'again' {
  if (status >= 200 && status < 300) return 'delivered';
  return status === 410 ? 'gone' : 'again';
}
