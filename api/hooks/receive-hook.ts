import { Type } from 'typebox';
import { validate as isUuid } from 'uuid';
import { insertCommitEvent } from '../../shared/commits/store.js';
import { AppError } from '../../shared/core/errors.js';
import {
  deliveryId,
  type HookEvent,
  irrelevance,
  isGenuine,
  LARGEST_DELIVERY,
  readEvent,
} from '../../shared/hooks/model.js';
import { findHookTarget, type HookTarget, recordDelivery } from '../../shared/hooks/store.js';
import { openFrom, SEALED } from '../../shared/secrets/sealed-columns.js';
import { Slots } from '../git/slots.js';
import { clientOf } from '../http/client.js';
import type { ApiDeps } from '../http/context.js';
import { type Endpoint, SESSION_ROOT } from '../http/endpoint.js';
import { consume, createLimiter } from '../http/rate-limit.js';
import type { ApiContext, ApiMiddleware } from '../http/state.js';
import { noteDeletedBranch, pushToPreview } from './preview-push.js';
import { receivePull } from './pull-delivery.js';

const PATH = /^\/api\/hooks\/([0-9a-f-]{36})$/i;
const NOTHING = Type.Object({}, { additionalProperties: false });
const ENDPOINT: Endpoint = {
  method: 'POST',
  root: SESSION_ROOT,
  path: '/hooks/:hookId',
  access: 'anyone',
  operation: 'hook.deliver',
  summary: 'Receive a delivery',
  status: 200,
  query: NOTHING,
  body: null,
  response: NOTHING,
  keyed: false,
};
/** Deliveries of one hook in a minute, and requests of one client for hooks that do not exist. */
const A_MINUTE = { hook: 60, unknown: 60 };
/** Bodies of five MiB that are held in memory at a time. */
const BODIES = { each: 4, all: 20 };

/**
 * `POST /api/hooks/{hookId}`: takes a delivery of a server of repositories, or the call of a deploy hook. It is verified, stored, and
 * answered with 202; a worker looks at the repository afterwards. A genuine delivery that deploys nothing gets 200 and the reason, because
 * servers switch hooks off that answer with errors.
 */
export function receiveHook(deps: ApiDeps): ApiMiddleware {
  const { db, keyring } = deps;
  const deliveries = createLimiter(db, 'hook', A_MINUTE.hook);
  const unknown = createLimiter(db, 'hook-unknown', A_MINUTE.unknown);
  const slots = new Slots(BODIES);

  async function deliver(ctx: ApiContext, id: string): Promise<{ status: number; reason: string }> {
    const hook = isUuid(id) ? await findHookTarget(db, id) : null;
    if (hook === null) {
      await consume(ctx, unknown, await clientOf(ctx));
      throw new AppError('not_found', 'There is nothing at this path');
    }
    await consume(ctx, deliveries, hook.id);
    const release = slots.take(hook.id);
    try {
      const body = await readBody(ctx);
      const headers = (name: string) => ctx.get(name);
      const secret = openFrom(keyring, SEALED.hookSecret, hook.id, hook.sealed_secret);
      const key = typeof ctx.query.key === 'string' ? ctx.query.key : '';
      if (!isGenuine(hook.provider, secret, { headers, body, key })) {
        throw new AppError('unauthenticated', 'The signature of the delivery is missing or wrong');
      }
      const event = readEvent(hook.provider, headers, hook.provider === 'generic' ? null : payloadOf(ctx, body));
      const outcome = await store(hook, event, deliveryId(hook.provider, headers));
      await recordDelivery(db, hook.id, outcome.reason);
      return outcome;
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
    const reason = event.type === 'push' ? irrelevance(event, { ...configuration, archived }) : null;
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

/** Throws payload_too_large, and invalid_request if the connection is lost. */
async function readBody({ req, request }: ApiContext): Promise<Buffer> {
  const tooLarge = () => new AppError('payload_too_large', `A delivery may have ${LARGEST_DELIVERY} bytes`);
  if ((request.length ?? 0) > LARGEST_DELIVERY) throw tooLarge();
  const chunks: Buffer[] = [];
  let bytes = 0;
  try {
    for await (const chunk of req as AsyncIterable<Buffer>) {
      bytes += chunk.length;
      if (bytes > LARGEST_DELIVERY) throw tooLarge();
      chunks.push(chunk);
    }
  } catch (error) {
    if (error instanceof AppError) throw error;
    throw new AppError('invalid_request', 'The connection was lost before the request was complete');
  }
  return Buffer.concat(chunks);
}

/** The JSON of a delivery; GitHub can send it as a form too. Null if it is none, which deploys nothing. */
function payloadOf(ctx: ApiContext, body: Buffer): unknown {
  try {
    const text = body.toString('utf8');
    if (!/^application\/x-www-form-urlencoded/i.test(ctx.get('Content-Type'))) return JSON.parse(text);
    return JSON.parse(new URLSearchParams(text).get('payload') ?? 'null');
  } catch {
    return null;
  }
}
