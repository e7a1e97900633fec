import { errorMessage } from '../../shared/core/error-registry.js';
import { parsedJson } from '../../shared/core/json-fields.js';
import { type GuardedAnswer, type GuardedRequest, requestGuarded } from '../core/guarded-request.js';
import type { Masker } from '../masking/masker.js';
import { reasonOf, verdictOf } from './forge-answer.js';
import type { ForgeRequest } from './forges.js';

/** Thrown if the git host refuses a request for good. */
export class ForgeRefusal extends Error {}

/** Thrown if a request must be sent again later. `waitMs` is the wait that the git host asked for, or 0. */
export class ForgeAway extends Error {
  readonly waitMs: number;

  constructor(message: string, waitMs: number) {
    super(message);
    this.waitMs = waitMs;
  }
}

/** Sends a request and returns the JSON of the response. With `missing`, returns undefined on 404 or 410. */
export type Ask = (request: ForgeRequest, options?: { missing?: boolean }) => Promise<unknown>;

export interface ClientOptions extends Pick<GuardedRequest, 'allowLocal' | 'headers' | 'resolve' | 'signal'> {
  apiUrl: string;
  /** Masks the token in request contents and in error messages. */
  masker: Masker;
}

/** All requests of one report must end within 60 s. Then another job may send reports to the git host. */
const TIMEOUT_MS = 10_000;
const MAX_BODY_BYTES = 1024 ** 2;

/** Returns a function that sends requests to a git host's API. It throws `ForgeRefusal` and `ForgeAway`. */
export function forgeClient({ apiUrl, masker, ...options }: ClientOptions): Ask {
  return async ({ method, path, body }, { missing = false } = {}) => {
    let answer: GuardedAnswer;
    try {
      const text = body === undefined ? {} : { body: masker.mask(JSON.stringify(body)) };
      const limits = { timeoutMs: TIMEOUT_MS, maxBodyBytes: MAX_BODY_BYTES };
      answer = await requestGuarded(apiUrl + path, { ...options, ...limits, ...text, method });
    } catch (error) {
      options.signal?.throwIfAborted();
      throw new ForgeAway(masker.mask(`no answer: ${errorMessage(error)}`), 0);
    }
    if (missing && (answer.status === 404 || answer.status === 410)) return undefined;
    const verdict = verdictOf(answer, new Date());
    if (verdict === 'done') return parsedJson(answer.body);
    const reason = masker.mask(reasonOf(answer));
    throw verdict === 'refused' ? new ForgeRefusal(reason) : new ForgeAway(reason, verdict.waitMs);
  };
}
