import { field, parsedJson, text } from '../../shared/core/json-fields.js';
import { escapeControls } from '../../shared/core/plain-text.js';
import { retryAfterMs } from '../../shared/webhooks/model.js';
import type { Answer } from '../webhooks/post-json.js';

/** `sent`: the collector stored all but `rejected` records. `skipped`: it will never accept the batch. */
export type Outcome =
  | { result: 'sent'; rejected: number; error: string }
  | { result: 'skipped'; error: string }
  | { result: 'again'; waitMs: number; error: string };

const PAUSE = { first: 5_000, longest: 5 * 60_000 };
const MAX_RETRY_AFTER_MS = 60 * 60_000;
const MAX_ERROR_LENGTH = 300;
/** Response statuses for an invalid batch, which is not sent again. Other faults, such as a wrong key, may be fixed. */
const SKIPPED = new Set([400, 413, 422]);

/** Decides what to do after the response to a batch. `tries` is the number of failures before it. */
export function outcomeOf(answer: Answer, tries: number, now: Date): Outcome {
  const { status, retryAfter, body } = answer;
  if (status >= 200 && status < 300) return partialSuccessOf(body);
  const error = shortened(`answered with ${status}${messageOf(body)}`);
  if (SKIPPED.has(status)) return { result: 'skipped', error };
  const asked = Math.min(retryAfterMs(retryAfter, now), MAX_RETRY_AFTER_MS);
  return { result: 'again', waitMs: Math.max(pauseAfter(tries), asked), error };
}

/** Decides what to do if there was no response. */
export function withoutAnswer(message: string, tries: number): Outcome {
  return { result: 'again', waitMs: pauseAfter(tries), error: shortened(message) };
}

function pauseAfter(tries: number): number {
  return Math.min(PAUSE.first * 2 ** Math.min(tries, 20), PAUSE.longest);
}

/** Parses a 2xx body, `{ partialSuccess: { rejectedLogRecords, errorMessage } }`. Rejected records are not resent. */
function partialSuccessOf(body: string): Outcome {
  const partial = field(parsedJson(body), 'partialSuccess');
  const counts = ['rejectedLogRecords', 'rejectedDataPoints', 'rejectedSpans'].map((name) =>
    Number(field(partial, name) ?? 0),
  );
  const rejected = counts.find((count) => Number.isSafeInteger(count) && count > 0) ?? 0;
  const message = text(partial, 'errorMessage');
  const said = message === '' ? '' : `: ${message}`;
  const error = rejected > 0 ? `the collector rejected ${rejected} records${said}` : said.slice(2);
  return { result: 'sent', rejected, error: shortened(error) };
}

/** Returns the message in the body of a failure, which is a google.rpc.Status. */
function messageOf(body: string): string {
  const message = text(parsedJson(body), 'message');
  return message === '' ? '' : `: ${message}`;
}

function shortened(message: string): string {
  return escapeControls(message).slice(0, MAX_ERROR_LENGTH);
}
