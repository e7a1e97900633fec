// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the texts are code, in which these stand
import type { Fault } from '../fault.js';

const RECEIPTS = 'shared/receipts/store.ts';
const PERFORM = 'api/http/perform.ts';

export const API_FAULTS: readonly Fault[] = [
  {
    name: 'receipt: found after it has expired',
    file: RECEIPTS,
    find: 'key = $2 and expires_at > now()',
    replace: 'key = $2',
  },
  { name: 'receipt: kept for 24 minutes', file: RECEIPTS, find: '24 hours', replace: '24 minutes' },
  {
    name: 'receipt: all are deleted',
    file: RECEIPTS,
    find: "whereRaw('expires_at <= now()')",
    replace: "whereRaw('true')",
  },
  {
    name: 'receipt: two requests with a key do not wait',
    file: RECEIPTS,
    find: 'rowsOfPrepared(trx, LOCK, [`receipt ${scope} ${key}`]),',
    replace: 'undefined,',
  },
  {
    name: 'receipt: expired ones count for the quota',
    file: RECEIPTS,
    find: 'where workspace_id = :workspaceId and expires_at > now()',
    replace: 'where workspace_id = :workspaceId',
  },
  {
    name: 'receipt: the quota admits one too many',
    file: 'api/http/receipt-quota.ts',
    find: 'count < this.#most.count',
    replace: 'count <= this.#most.count',
  },
  {
    name: 'body: one byte over the limit',
    file: 'api/http/body.ts',
    find: 'textLimit: BODY_LIMIT',
    replace: 'textLimit: BODY_LIMIT + 1',
  },
  {
    name: 'body: compressed bodies are read',
    file: 'api/http/body.ts',
    find: 'if (!/^(identity)?$/i.test(',
    replace: 'if (!/^.*$/i.test(',
  },
  {
    name: 'receipt: good for every scope',
    file: RECEIPTS,
    find: 'where scope = $1 and key = $2',
    replace: 'where cast($1 as text) is not null and key = $2',
  },
  {
    name: 'receipt: an expired one of the key stays',
    file: RECEIPTS,
    find: 'body = excluded.body,',
    replace: 'body = receipts.body,',
  },
  {
    name: 'receipt: its bytes do not count',
    file: 'api/http/receipt-quota.ts',
    find: ' && bytes < this.#most.bytes',
    replace: '',
  },
  {
    name: 'turns: a workspace takes all',
    file: 'api/http/turns.ts',
    find: 'if (line.running >= each)',
    replace: 'if (false)',
  },
  {
    name: 'turns: any number waits',
    file: 'api/http/turns.ts',
    find: 'line.waiting.length >= this.#limits.waiting',
    replace: 'false',
  },
  {
    name: 'turns: places are never given back',
    file: 'api/http/turns.ts',
    find: 'line.running -= 1;',
    replace: '',
  },
  {
    name: 'rate limit: two windows are one',
    file: 'api/http/rate-limit.ts',
    find: '{ keyPrefix: name, points',
    replace: "{ keyPrefix: 'one', points",
  },
  {
    name: 'guesses: right ones count',
    file: 'api/auth/guess-limit.ts',
    find: 'return () => giveBack(taken);',
    replace: 'return async () => {};',
  },
  {
    name: 'guesses: other clients lock a known one out',
    file: 'api/auth/guess-limit.ts',
    find: 'if (!known) {',
    replace: 'if (true) {',
  },
  {
    name: 'guesses: codes are not counted',
    file: 'api/auth/guess-limit.ts',
    find: 'await consume(ctx, codes, userId);',
    replace: '',
  },
  {
    name: 'guesses: a client may try all accounts',
    file: 'api/auth/guess-limit.ts',
    find: 'if (!known)\n                await take(clients, client);',
    replace: '',
  },
  {
    name: 'hashing: any number at once',
    file: 'api/auth/hash-gate.ts',
    find: 'AT_ONCE = 2',
    replace: 'AT_ONCE = 200',
  },
  {
    name: 'hashing: one client takes the queue',
    file: 'api/auth/hash-gate.ts',
    find: ' || ofOne >= WAITING.ofOne',
    replace: '',
  },
  {
    name: 'slow lane: there is no wait',
    file: 'api/auth/slow-lane.ts',
    find: 'await delay(at - now);',
    replace: '',
  },
  {
    name: 'csrf: any token is right',
    file: 'api/auth/csrf.ts',
    find: "!csrf.matches(cookie, ctx.get('X-CSRFToken'))",
    replace: 'false',
  },
  {
    name: 'receipt: the payload is not compared',
    file: PERFORM,
    find: 'if (retained.payload_hash !== payloadHash)',
    replace: 'if (false)',
  },
  {
    name: 'receipt: the answer is not kept',
    file: PERFORM,
    find: 'receiptKey && insertReceipt(trx, receiptKey, receipt, workspaceId),',
    replace: '',
  },
  {
    name: 'receipt: all users share a key',
    file: PERFORM,
    find: 'caller.userId, caller.credentialId, route.method',
    replace: 'route.method',
  },
  {
    name: 'receipt: all paths share a key',
    file: PERFORM,
    find: 'route.method, canonicalPath(ctx)]',
    replace: 'route.method]',
  },
  {
    name: 'write: a deadlock fails it',
    file: PERFORM,
    find: 'attempt === TRIES || ',
    replace: 'true || ',
  },
  {
    name: 'write: every error is tried again',
    file: PERFORM,
    find: "attempt === TRIES || !RETRIED.has(error.code ?? '')",
    replace: 'attempt === TRIES',
  },
  {
    name: 'write: the dispatcher is woken before the commit',
    file: PERFORM,
    find: '() => (wake = true)',
    replace: '() => { wake = true; deps.dispatcher.wake(); }',
  },
  {
    name: 'write: a requestId that differs from the key is taken',
    file: PERFORM,
    find: 'requestId !== undefined && requestId !== key',
    replace: 'false',
  },
  {
    name: 'rate limit: points of a window that has ended are handed out',
    file: 'api/http/shared-window.ts',
    find: 'lease.endsAt > now && !window.taking',
    replace: '!window.taking',
  },
  {
    name: 'rate limit: a process is granted more than is left',
    file: 'shared/limits/model.ts',
    find: 'Math.min(taken, limit - before)',
    replace: 'taken',
  },
  {
    name: 'origin: a page of another site is our own',
    file: 'api/http/origin.ts',
    find: "site !== '' && site !== 'same-origin' && site !== 'none'",
    replace: 'false',
  },
  {
    name: 'origin: a page without TLS is our own',
    file: 'api/http/origin.ts',
    find: "if (ctx.secure && protocol !== 'https:')",
    replace: 'if (false)',
  },
  {
    name: 'origin: one header of ours is enough',
    file: 'api/http/origin.ts',
    find: 'if (!origins.every(',
    replace: 'if (!origins.some(',
  },
];
