import { once } from 'node:events';
import { validate as isUuid } from 'uuid';
import { insertCommitEvent } from '../../shared/commits/store.js';
import { AppError } from '../../shared/core/error-registry.js';
import {
  deliveryId,
  type Headers,
  type HookEvent,
  irrelevance,
  isGenuine,
  MAX_DELIVERY_BYTES,
  readEvent,
} from '../../shared/hooks/model.js';
import { openFrom, SEALED } from '../../shared/secrets/sealed-columns.js';
import type { ApiDeps } from '../http/api-deps.js';
import { clientOf } from '../http/client-identity.js';
import { SESSION_ROOT, undeclared } from '../http/endpoint.js';
import { FairPlaces } from '../http/fair-places.js';
import { consume, createLimiter } from '../http/rate-limit.js';
import type { ApiContext, ApiMiddleware } from '../http/request-state.js';
import { Turns } from '../http/workspace-turns.js';
import { findHookTarget, type HookTarget, recordDelivery } from '../resources/hooks/store.js';
import { noteDeletedBranch, pushToPreview } from './preview-push.js';
import { receivePull } from './pull-delivery.js';

const PATH = /^\/api\/hooks\/([0-9a-f-]{36})$/i;
const ENDPOINT = undeclared({
  method: 'POST',
  root: SESSION_ROOT,
  path: '/hooks/:hookId',
  access: 'anyone',
  operation: 'hook.deliver',
});
/**
 * Maximum number of deliveries per minute: authentic ones for each hook, forged ones for each client at a hook, and
 * deliveries to unknown hooks for each client.
 */
const A_MINUTE = { hook: 60, forged: 60, unknown: 60 };
/** Maximum number of bodies (up to five MiB each) read concurrently, per workspace and in total. */
const BODIES = { each: 8, all: 40 };
/** Maximum number of authentic deliveries that are stored concurrently. Each uses a database connection. */
const STORED = { each: 2, all: 6, waiting: 20 };
/** Maximum time for a body to arrive, in milliseconds. It exceeds the 10 s after which git hosts give up. */
const BODY_MS = 20_000;

/**
 * Serves `POST /api/hooks/{hookId}`. Verifies and stores deliveries; a worker reads the repository later. An authentic
 * delivery that deploys nothing gets 200, because git hosts disable hooks that respond with errors.
 */
export function receiveHook(deps: ApiDeps): ApiMiddleware {
  const { db, keyring } = deps;
  const deliveries = createLimiter(db, 'hook', A_MINUTE.hook);
  const forged = createLimiter(db, 'hook-forged', A_MINUTE.forged);
  const unknown = createLimiter(db, 'hook-unknown', A_MINUTE.unknown);
  const bodies = new FairPlaces(BODIES);
  const turns = new Turns(STORED);

  async function deliver(ctx: ApiContext, id: string): Promise<{ status: number; reason: string }> {
    const hook = isUuid(id) ? await findHookTarget(db, id) : null;
    if (hook === null) {
      await consume(ctx, unknown, await clientOf(ctx));
      throw new AppError('not_found', 'There is nothing at this path');
    }
    const headers = (name: string) => ctx.get(name);
    const event = await readGenuine(ctx, hook, headers);
    await consume(ctx, deliveries, hook.id);
    const end = await turns.take(hook.workspace_id);
    try {
      const outcome = await store(hook, event, deliveryId(hook.provider, headers));
      await recordDelivery(db, hook.id, outcome.reason);
      return outcome;
    } finally {
      end();
    }
  }

  async function readGenuine(ctx: ApiContext, hook: HookTarget, headers: Headers): Promise<HookEvent> {
    const given = new AbortController();
    const release = bodies.take(hook.workspace_id, (reason) => given.abort(reason));
    try {
      const body = await readBody(ctx, given);
      const secret = openFrom(keyring, SEALED.hookSecret, hook.id, hook.sealed_secret);
      const key = typeof ctx.query.key === 'string' ? ctx.query.key : '';
      if (!isGenuine(hook.provider, secret, { headers, body, key })) {
        await consume(ctx, forged, `${hook.id} ${await clientOf(ctx)}`);
        throw new AppError('unauthenticated', 'The signature of the delivery is missing or wrong');
      }
      return readEvent(hook.provider, headers, hook.provider === 'generic' ? null : payloadOf(ctx, body));
    } finally {
      release();
    }
  }

  async function store(
    hook: HookTarget,
    event: HookEvent,
    delivery: string | null,
  ): Promise<{ status: number; reason: string }> {
    if (event.type === 'ignored') return { status: 200, reason: event.reason };
    const { configuration, archived } = hook;
    const actor = `hook:${hook.provider}`;
    if (event.type === 'pull') {
      const outcome = await receivePull(deps, { hook, report: event.report, deliveryId: delivery, actor });
      if (outcome.status === 202) deps.dispatcher.wake();
      return outcome;
    }
    if (event.type === 'deleted') return noteDeletedBranch(deps, { hook, branch: event.branch });
    if (event.type === 'push') {
      const preview = await pushToPreview(deps, { hook, event, deliveryId: delivery, actor });
      if (preview?.status === 202) deps.dispatcher.wake();
      if (preview !== null) return preview;
    }
    // A push that applies a stack (`stack_by`) ignores the service's `autoDeploy`: the stack's document decides.
    const wanted = hook.stack_by === null ? configuration : { ...configuration, autoDeploy: 'commit' };
    const reason = event.type === 'push' ? irrelevance(event, { ...wanted, archived }) : null;
    if (reason !== null) return { status: 200, reason };
    const stored = await insertCommitEvent(db, {
      service_id: hook.service_id,
      hook_id: hook.id,
      delivery_id: delivery,
      actor,
      ...(event.type === 'push'
        ? { kind: 'push', branch: event.branch, before_sha: event.before, after_sha: event.after }
        : { kind: 'deploy' }),
    });
    if (stored === null) return { status: 200, reason: 'this delivery was received before' };
    deps.dispatcher.wake();
    return { status: 202, reason: 'accepted' };
  }

  return async (ctx, next) => {
    const [, id] = PATH.exec(ctx.path) ?? [];
    if (id === undefined) return next();
    ctx.state.route = ENDPOINT;
    if (ctx.method !== 'POST') throw new AppError('method_not_allowed');
    const { status, reason } = await deliver(ctx, id.toLowerCase());
    ctx.status = status;
    ctx.body = { accepted: status === 202, reason };
  };
}

/**
 * Throws payload_too_large if the body is too large, invalid_request if the connection is lost or too slow, and the
 * reason of `ending` if it is aborted.
 */
async function readBody(ctx: ApiContext, ending: AbortController): Promise<Buffer> {
  const { req, request } = ctx;
  const tooLarge = () => new AppError('payload_too_large', `A delivery may have ${MAX_DELIVERY_BYTES} bytes`);
  if ((request.length ?? 0) > MAX_DELIVERY_BYTES) throw tooLarge();
  const late = setTimeout(() => {
    ending.abort(new AppError('invalid_request', `The delivery was not complete within ${BODY_MS / 1000} seconds`));
  }, BODY_MS);
  const lost = () => new AppError('invalid_request', 'The connection was lost before the request was complete');
  if (req.destroyed) ending.abort(lost());
  const chunks: Buffer[] = [];
  let bytes = 0;
  req.on('data', (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes > MAX_DELIVERY_BYTES) ending.abort(tooLarge());
    else if (!ending.signal.aborted) chunks.push(chunk);
  });
  try {
    await once(req, 'end', { signal: ending.signal });
  } catch {
    // The rest of the body stays unread, so the connection is closed after the response.
    req.removeAllListeners('data').pause();
    ctx.set('Connection', 'close');
    ending.signal.throwIfAborted();
    throw lost();
  } finally {
    clearTimeout(late);
  }
  return Buffer.concat(chunks);
}

/** GitHub may send the JSON in a form field. Invalid JSON gives null: the delivery then deploys nothing. */
function payloadOf(ctx: ApiContext, body: Buffer): unknown {
  try {
    const text = body.toString('utf8');
    if (!/^application\/x-www-form-urlencoded/i.test(ctx.get('Content-Type'))) return JSON.parse(text);
    return JSON.parse(new URLSearchParams(text).get('payload') ?? 'null');
  } catch {
    return null;
  }
}
