import type { IncomingHttpHeaders } from 'node:http';
import { field, parsedJson } from '../../shared/core/json-fields.js';
import { escapeControls } from '../../shared/core/plain-text.js';
import { retryAfterMs } from '../../shared/webhooks/model.js';

/** An object means that the request must be sent again. `waitMs` is the wait that the git host asked for, or 0. */
export type Verdict = 'done' | 'refused' | { waitMs: number };

interface Answer {
  status: number;
  headers: IncomingHttpHeaders;
  body: string;
}

/**
 * Interprets a git host's response. GitHub's 403 is final for a missing permission, but temporary for an exceeded rate
 * limit. GitLab responds with 400 if the commit already has the status.
 */
export function verdictOf({ status, headers, body }: Answer, now: Date): Verdict {
  if (status >= 200 && status < 300) return 'done';
  if (status === 400 && body.includes('Cannot transition status')) return 'done';
  const waitMs = Math.max(retryAfterMs(headers['retry-after'], now), exhaustedMs(headers, now));
  if (status === 429 || (waitMs > 0 && (status === 403 || status === 503))) return { waitMs };
  return status === 408 || status >= 500 ? { waitMs: 0 } : 'refused';
}

function exhaustedMs(headers: IncomingHttpHeaders, now: Date): number {
  const [left, reset] = [headers['x-ratelimit-remaining'], Number(headers['x-ratelimit-reset'])];
  return left === '0' && Number.isFinite(reset) ? Math.max(0, reset * 1000 - now.getTime()) : 0;
}

const MAX_REASON_LENGTH = 150;

/** Returns the reason in a git host's refusal, as one short line. */
export function reasonOf({ status, body }: Pick<Answer, 'status' | 'body'>): string {
  const answer = parsedJson(body);
  const message = field(answer, 'message') ?? field(answer, 'error');
  const reason = message === undefined ? '' : typeof message === 'string' ? message : JSON.stringify(message);
  return `answered with ${status}${reason === '' ? '' : `: ${escapeControls(reason).slice(0, MAX_REASON_LENGTH)}`}`;
}
