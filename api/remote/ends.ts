import { CLOSE, IDLE_MS, type RemoteKind } from '../../shared/remote/model.js';

/**
 * Why the platform closes a shell or tunnel: the WebSocket's close code, and the reason for the client and the audit
 * log.
 */
export interface EndCause {
  code: number;
  reason: string;
}

const IDLE: EndCause = { code: CLOSE.idle, reason: 'it was idle for 15 minutes' };

/** Returns why a shell or tunnel must be closed now; null if it may stay. */
export function causeOfEnd(
  { kind, activeAt }: { kind: RemoteKind; activeAt: number },
  now: number,
  lostAccess: string | undefined,
): EndCause | null {
  if (lostAccess !== undefined) return { code: CLOSE.accessEnded, reason: lostAccess };
  return kind === 'shell' && now - activeAt >= IDLE_MS ? IDLE : null;
}

/** Returns why a client, worker or command ended a connection. `worker` is null if the client left first. */
export function reasonOfEnd(exitCode: number | null, worker: { code: number; reason: string } | null): string {
  if (worker === null) return 'the client left';
  if (worker.code === CLOSE.notFound) return worker.reason;
  if (exitCode !== null) return 'the command ended';
  return worker.code === 1000 ? 'the connection was closed' : worker.reason || 'the worker went away';
}
