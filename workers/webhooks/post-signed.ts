import { type GuardedRequest, requestGuarded } from '../core/guarded-request.js';

export type PostOptions = Pick<GuardedRequest, 'allowLocal' | 'headers' | 'timeoutMs' | 'resolve'> & {
  body: string;
  /** How many bytes of the response body are read; 0 by default. The rest is discarded. */
  answerBytes?: number;
};

/** The used parts of a response. */
export interface Answer {
  status: number;
  retryAfter: string | undefined;
  /** Empty unless `answerBytes` is set. */
  body: string;
}

/** Posts a body and resolves to the response's status and Retry-After header. Rejects as `requestGuarded` does. */
export async function postSigned(address: string, { answerBytes = 0, ...options }: PostOptions): Promise<Answer> {
  const given = { ...options, method: 'POST', maxBodyBytes: answerBytes, cutsBody: true } as const;
  const { status, headers, body } = await requestGuarded(address, given);
  return { status, retryAfter: headers['retry-after'], body };
}
