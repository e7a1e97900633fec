import { createHash } from 'node:crypto';
import { type AuditDetails, type AuditEntry, insertAuditEntry } from '../../shared/audit/store.js';
import type { Transaction } from '../../shared/core/database/database-client.js';
import { AppError, invalidRequest } from '../../shared/core/error-registry.js';
import { validTraceparent } from '../../shared/deployments/trace-context.js';
import type { OperationName } from '../../shared/identity/policy.js';
import { findReceipt, insertReceipt, type Receipt, type ReceiptKey } from '../../shared/receipts/store.js';
import { assertPermitted } from '../auth/authorize.js';
import type { ApiDeps } from './api-deps.js';
import { auditEntry } from './audit-entry.js';
import { clientAddress } from './client-identity.js';
import type { ReceiptQuota } from './receipt-quota.js';
import type { ApiContext, ApiStep } from './request-state.js';
import type { ReadRequest, ReadRoute, Route, SessionRoute, SignInLimits, WriteRequest, WriteRoute } from './route.js';

const KEY = /^[!-~]{1,160}$/;
/** PostgreSQL's codes for a deadlock and a serialization failure. The write changed nothing, so it is retried. */
const RETRIED = new Set(['40P01', '40001']);
const TRIES = 3;

/** Runs the handler of a route and sends its result as the response. */
export function perform(deps: ApiDeps, limits: SignInLimits, route: Route): ApiStep {
  if (route.access !== 'key or session') return performForSession(deps, limits, route);
  return route.method === 'GET' ? performRead(deps, route) : performWrite(deps, route);
}

function performForSession(deps: ApiDeps, limits: SignInLimits, { handler }: SessionRoute): ApiStep {
  return async (ctx) => {
    const { caller, input } = ctx.state;
    ctx.body = await handler({ deps, limits, ctx, caller, body: input.body });
  };
}

function performRead(deps: ApiDeps, { handler }: ReadRoute): ApiStep {
  return async (ctx) => {
    ctx.body = await handler({ ...requestOf(ctx, deps), db: deps.db, found: ctx.state.found });
  };
}

/**
 * Runs a write in one transaction with its receipt, the stored response (specification, Endpoints). Repetitions with
 * the same Idempotency-Key get that response. A failure stores nothing.
 */
function performWrite(deps: ApiDeps, route: WriteRoute): ApiStep {
  const { operation, handler } = route;
  return async (ctx) => {
    const receiptKey = receiptKeyOf(ctx);
    if (receiptKey === null && (await performDirectly(ctx, deps, route))) return;
    const payloadHash = payloadHashOf(ctx);
    let wake = false;
    let details: AuditDetails | null = null;
    const work = (trx: Transaction) => async (): Promise<Work> => {
      const request = writeRequest(ctx, deps, operation, trx, receiptKey, () => (wake = true));
      const body = await handler({ ...request, note: (noted) => (details = noted) });
      const entry = auditEntry(ctx, operation, canonicalPath(ctx), body);
      return {
        receipt: { payload_hash: payloadHash, status: ctx.state.route.status, body: JSON.stringify(body) },
        entry: entry && { ...entry, details },
      };
    };
    const workspaceId = ctx.state.workspace?.row.id ?? null;
    const retention = { receiptKey, payloadHash, workspaceId, quota: deps.receipts };
    const { receipt, replayed } = await retrying(() => deps.db.transaction((trx) => once(trx, retention, work(trx))));
    if (receiptKey && workspaceId !== null && !replayed)
      deps.receipts.add(workspaceId, Buffer.byteLength(receipt.body));
    if (wake) deps.dispatcher.wake();
    if (receiptKey) ctx.set('Idempotency-Replayed', String(replayed));
    answer(ctx, receipt);
  };
}

/** Returns the step that completes, after the commit, a write whose handler returned `pending`. */
export function completion(deps: ApiDeps, complete: NonNullable<WriteRoute['complete']>): ApiStep {
  return async (ctx) => {
    const { pending } = JSON.parse(String(ctx.body)) as { pending: string };
    ctx.body = JSON.stringify(
      await complete(pending, { ...requestOf(ctx, deps), db: deps.db, found: ctx.state.found }),
    );
  };
}

/** Returns false if the handler must perform or refuse the write. */
async function performDirectly(ctx: ApiContext, deps: ApiDeps, { operation, direct }: WriteRoute): Promise<boolean> {
  if (direct === undefined) return false;
  const { found, input, route } = ctx.state;
  const body = await direct({
    ...requestOf(ctx, deps),
    db: deps.db,
    found,
    body: input.body,
    authorize: (facts) => permit(ctx, operation, facts),
    audit: (shown) => auditEntry(ctx, operation, canonicalPath(ctx), shown),
  });
  if (body === null) return false;
  ctx.status = route.status;
  ctx.body = body;
  return true;
}

function answer(ctx: ApiContext, { status, body }: Receipt): void {
  ctx.status = status;
  ctx.type = 'application/json';
  ctx.body = body;
}

interface Retention {
  receiptKey: ReceiptKey | null;
  payloadHash: string;
  workspaceId: string | null;
  quota: ReceiptQuota;
}

interface Work {
  receipt: Receipt;
  entry: AuditEntry | null;
}

async function once(
  trx: Transaction,
  { receiptKey, payloadHash, workspaceId, quota }: Retention,
  perform: () => Promise<Work>,
): Promise<{ receipt: Receipt; replayed: boolean }> {
  const retained = receiptKey && (await findReceipt(trx, receiptKey));
  if (retained) {
    if (retained.payload_hash !== payloadHash) throw new AppError('idempotency_conflict');
    return { receipt: retained, replayed: true };
  }
  if (receiptKey && workspaceId !== null) await quota.assertRoom(trx, workspaceId);
  const { receipt, entry } = await perform();
  // Both statements are sent at once, to shorten the time for which other transactions wait for the locks.
  await Promise.all([
    entry && insertAuditEntry(trx, entry),
    receiptKey && insertReceipt(trx, receiptKey, receipt, workspaceId),
  ]);
  return { receipt, replayed: false };
}

async function retrying<T>(work: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await work();
    } catch (error) {
      if (attempt === TRIES || !RETRIED.has((error as { code?: string }).code ?? '')) throw error;
    }
  }
}

/** Returns the Idempotency-Key, which is valid only for this workspace, user, credential, method and path. */
function receiptKeyOf(ctx: ApiContext): ReceiptKey | null {
  const { route, caller, workspace, input } = ctx.state;
  if (!route.keyed || ctx.headers['idempotency-key'] === undefined) return null;
  const key = ctx.get('Idempotency-Key');
  if (!KEY.test(key)) {
    throw invalidRequest('header.Idempotency-Key', 'must be 1 to 160 visible ASCII characters without spaces');
  }
  const { requestId } = input.body;
  if (requestId !== undefined && requestId !== key)
    throw invalidRequest('/requestId', 'must equal the Idempotency-Key');
  const scope = [workspace?.row.id ?? null, caller.userId, caller.credentialId, route.method, canonicalPath(ctx)];
  return { scope: hash(JSON.stringify(scope)), key };
}

/** Returns the request object that every handler of the versioned API receives. */
export function requestOf(ctx: ApiContext, deps: ApiDeps): Omit<ReadRequest, 'db' | 'found'> {
  const { log, caller, workspace, input } = ctx.state;
  // The cast is safe: `workspace` is null exactly if the path contains no workspace, as the type `WorkspaceOf` says.
  return {
    deps,
    log,
    caller,
    workspace: workspace as ReadRequest['workspace'],
    params: input.params,
    query: input.query,
    path: canonicalPath(ctx),
  };
}

function permit(ctx: ApiContext, operation: OperationName, facts: Parameters<WriteRequest['authorize']>[0]): void {
  const { workspace } = ctx.state;
  if (workspace) assertPermitted(operation, { ...workspace.facts, ...facts });
}

function writeRequest(
  ctx: ApiContext,
  deps: ApiDeps,
  operation: OperationName,
  trx: Transaction,
  receiptKey: ReceiptKey | null,
  wakeDispatcher: () => void,
): Omit<WriteRequest, 'note'> {
  const { input, requestId } = ctx.state;
  return {
    ...requestOf(ctx, deps),
    requestId,
    address: clientAddress(ctx.req, deps.config.trustProxy),
    traceparent: validTraceparent(ctx.get('traceparent')),
    body: input.body,
    trx,
    receiptKey,
    authorize: (facts) => permit(ctx, operation, facts),
    needEngine() {
      const { engineProblem } = ctx.state;
      if (engineProblem === undefined) throw new Error(`${operation} does not declare that it needs the engine`);
      if (engineProblem !== null) throw engineProblem;
      wakeDispatcher();
    },
    wakeDispatcher,
  };
}

/** Uses the ids of `input`, which are in lower case, unlike the ids in the requested path. */
function canonicalPath(ctx: ApiContext): string {
  const { route, input } = ctx.state;
  return route.path.replace(/:(\w+)/g, (_, name) => input.params[name] ?? '');
}

function payloadHashOf(ctx: ApiContext): string {
  return hash(canonicalJson(ctx.state.input.body));
}

function hash(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

/** Sorts the keys, so that equal payloads have equal text. */
function canonicalJson(value: unknown): string {
  return JSON.stringify(value, (_, child) =>
    typeof child === 'object' && child !== null && !Array.isArray(child)
      ? Object.fromEntries(Object.entries(child).sort(([a], [b]) => (a < b ? -1 : 1)))
      : child,
  );
}
