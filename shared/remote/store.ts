import { v7 as uuidv7 } from 'uuid';
import {
  type Db,
  lockUntilCommit,
  oneRow,
  rowCountOf,
  type Transaction,
  theRow,
} from '../core/database/database-client.js';
import { CHANNELS } from '../core/database/listener.js';
import { LOST_SECONDS, type RemoteKind, type Summons, TICKET_SECONDS } from './model.js';

export interface RemoteSessionRow {
  id: string;
  kind: RemoteKind;
  workspace_id: string;
  service_id: string;
  replica_id: string;
  host_id: string;
  actor: string;
  user_id: string;
  credential: 'key' | 'session';
  credential_id: string;
  request_id: string;
  expires_at: Date;
  command: string | string[] | null;
  columns: number | null;
  rows: number | null;
  port: number | null;
  client_address: string | null;
  opened_at: Date | null;
  ended_at: Date | null;
  exit_code: number | null;
  reason: string;
  recorded_until: Date | null;
}

export type NewRemoteSession = Omit<
  RemoteSessionRow,
  'id' | 'expires_at' | 'client_address' | 'opened_at' | 'ended_at' | 'exit_code' | 'reason'
>;

/** Stores a new session. The ticket with this hash opens it. */
export function insertRemoteSession(
  trx: Transaction,
  session: NewRemoteSession,
  ticketHash: Buffer,
): Promise<RemoteSessionRow> {
  const { command, ...values } = session;
  return theRow<RemoteSessionRow>(
    trx,
    `insert into remote_sessions (id, kind, workspace_id, service_id, replica_id, host_id, actor, user_id, credential, credential_id,
                                  request_id, ticket_hash, expires_at, command, columns, rows, port, recorded_until)
     values (:id, :kind, :workspace_id, :service_id, :replica_id, :host_id, :actor, :user_id, :credential, :credential_id,
             :request_id, :ticketHash, now() + make_interval(secs => :seconds), :command, :columns, :rows, :port, :recorded_until) returning *`,
    {
      ...values,
      id: uuidv7(),
      ticketHash,
      seconds: TICKET_SECONDS[session.kind],
      command: command === null ? null : JSON.stringify(command),
    },
  );
}

/** Takes a lock until the commit, so that only one transaction at a time counts a workspace's sessions. */
export async function lockRemoteSessions(trx: Transaction, workspaceId: string): Promise<void> {
  await lockUntilCommit(trx, `remote ${workspaceId}`);
}

/** SQL: true if a remote session is open, or was created so recently that it is about to open. */
export const OPEN_SESSION = `ended_at is null and (seen_at > now() - make_interval(secs => ${LOST_SECONDS})
  or (opened_at is null and created_at > now() - make_interval(secs => ${TICKET_SECONDS.shell})))`;

/** Returns how many sessions of a workspace, and of one of its services, are open or about to open. */
export function countRemoteSessions(
  db: Db,
  kind: RemoteKind,
  { workspaceId, serviceId }: { workspaceId: string; serviceId: string },
): Promise<{ service: number; workspace: number }> {
  return theRow(
    db,
    `select count(*)::int as workspace, (count(*) filter (where service_id = :serviceId))::int as service
       from remote_sessions
      where workspace_id = :workspaceId and kind = :kind and ${OPEN_SESSION}`,
    { kind, workspaceId, serviceId },
  );
}

export async function findRemoteSession(db: Db, id: string): Promise<RemoteSessionRow | null> {
  return oneRow<RemoteSessionRow>(db, 'select * from remote_sessions where id = ?', [id]);
}

/** Asks the workers of a host to connect to this process. Must be repeated, because a notification can be missed. */
export async function summonWorker(db: Db, summons: Summons): Promise<void> {
  await db.raw('select pg_notify(?, ?)', [CHANNELS.remote, JSON.stringify(summons)]);
}

/**
 * Deletes ended sessions older than a week. Keeps sessions whose recording has not expired. Returns how many were
 * deleted.
 */
export function deleteOldRemoteSessions(db: Db): Promise<number> {
  return rowCountOf(
    db,
    `delete from remote_sessions where created_at < now() - interval '7 days'
        and (recorded_until is null or recorded_until <= now())
        and (ended_at is not null or coalesce(seen_at, expires_at) < now() - interval '1 day')`,
  );
}
