import { CLOSE, IDLE_MS, type RemoteKind } from '../../shared/remote/model.js';

/**
 * Why the platform closes a shell or tunnel. `code` is the WebSocket's close code; clients and the audit log get
 * `reason`.
 */
export interface EndCause {
  code: number;
  reason: string;
}

const IDLE: EndCause = { code: CLOSE.idle, reason: 'it was idle for 15 minutes' };

/**
 * Returns why a shell or tunnel must be closed now; null if it may stay open. `lostAccess` is the reason if its user
 * has lost access. Pure.
 */
export function causeOfEnd(
  { kind, activeAt }: { kind: RemoteKind; activeAt: number },
  now: number,
  lostAccess: string | undefined,
): EndCause | null {
  if (lostAccess !== undefined) return { code: CLOSE.accessEnded, reason: lostAccess };
  return kind === 'shell' && now - activeAt >= IDLE_MS ? IDLE : null;
}

/**
 * Returns why a shell or tunnel ended, if the platform did not close it. `worker` is how the worker closed its
 * connection; null if the client disconnected first.
 */
export function reasonOfEnd(exitCode: number | null, worker: { code: number; reason: string } | null): string {
  if (worker === null) return 'the client left';
  if (worker.code === CLOSE.notFound) return worker.reason;
  if (exitCode !== null) return 'the command ended';
  return worker.code === 1000 ? 'the connection was closed' : worker.reason || 'the worker went away';
}
