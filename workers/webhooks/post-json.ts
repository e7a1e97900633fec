import { type GuardedRequest, requestGuarded } from '../core/guarded-request.js';
import type { JobDeps } from '../worker-deps.js';

/** Dependencies of the code that sends requests to tenants' addresses. */
export type SenderDeps = Pick<JobDeps, 'db' | 'keyring' | 'config' | 'log'> & Pick<GuardedRequest, 'resolve'>;

export interface Answer {
  status: number;
  retryAfter: string | undefined;
  body: string;
}

const TIMEOUT_MS = 10_000;

/** Posts JSON, and reads at most `answerBytes` of the response's body. Rejects with the errors of `requestGuarded`. */
export async function postJson(
  { config, resolve }: Pick<SenderDeps, 'config' | 'resolve'>,
  address: string,
  { headers, answerBytes = 0, body }: Pick<GuardedRequest, 'headers' | 'body'> & { answerBytes?: number },
): Promise<Answer> {
  const answer = await requestGuarded(address, {
    method: 'POST',
    allowLocal: config.allowLocalRepositories,
    timeoutMs: TIMEOUT_MS,
    headers: { ...headers, 'Content-Type': 'application/json', 'User-Agent': 'Ranvier' },
    body,
    maxBodyBytes: answerBytes,
    cutsBody: true,
    resolve,
  });
  return { status: answer.status, retryAfter: answer.headers['retry-after'], body: answer.body };
}
