import { type AuditDetails, insertAuditEntry } from '../../shared/audit/store.js';
import { type Db, oneRow, rowsOf } from '../../shared/core/database/database-client.js';
import { type AccessFacts, type OperationName, refusal } from '../../shared/identity/policy.js';
import { HAS_SECOND_FACTOR } from '../../shared/identity/second-factor-store.js';
import { LOST_SECONDS, type RemoteKind } from '../../shared/remote/model.js';
import type { RemoteSessionRow } from '../../shared/remote/store.js';
import { snapshotIsProtected } from '../../shared/variables/snapshot-store.js';
import type { WorkspaceConfiguration } from '../../shared/workspaces/model.js';
import { isMfaMissing } from '../auth/authorize.js';

/** The operations that must be permitted to a session's user, both when it starts and while it lasts. */
const OPERATIONS = { shell: 'shell.open', tunnel: 'tunnel.open' } as const satisfies Record<RemoteKind, OperationName>;

/** Redeems a client's ticket for its session; null if the ticket is invalid. A shell's ticket can be used only once. */
export function takeTicket(
  db: Db,
  { kind, ticketHash, address }: { kind: RemoteKind; ticketHash: Buffer; address: string },
): Promise<RemoteSessionRow | null> {
  return oneRow<RemoteSessionRow>(
    db,
    `update remote_sessions set opened_at = coalesce(opened_at, now()), seen_at = now(), client_address = :address
      where ticket_hash = :ticketHash and kind = :kind and ended_at is null and expires_at > now()
        and (kind = 'tunnel' or opened_at is null)
      returning *`,
    { kind, ticketHash, address },
  );
}

/** Records that these sessions are still open. */
export async function touchSessions(db: Db, ids: readonly string[]): Promise<void> {
  await db.raw('update remote_sessions set seen_at = now() where id = any(?) and ended_at is null', [[...ids]]);
}

export interface SessionEnd {
  reason: string;
  exitCode?: number | null;
}

/** Records the end of a shell, with its audit entry. Does nothing if it is already recorded. */
export async function endShell(db: Db, id: string, { reason, exitCode = null }: SessionEnd): Promise<void> {
  await db.transaction(async (trx) => {
    const row = await oneRow<RemoteSessionRow & { opened_at: Date; ended_at: Date }>(
      trx,
      `update remote_sessions set ended_at = now(), reason = :reason, exit_code = :exitCode
        where id = :id and ended_at is null returning *`,
      { id, reason, exitCode },
    );
    if (row === null) return;
    const { command, opened_at, ended_at } = row;
    const seconds = Math.round((ended_at.getTime() - opened_at.getTime()) / 1000);
    await insertAuditEntry(trx, auditOf(row, 'shell.end', { command, exitCode, reason, seconds }));
  });
}

/** Records a use of a tunnel in the audit log. A use ends shortly after its last connection has closed. */
export async function noteTunnelUse(db: Db, row: RemoteSessionRow, facts: AuditDetails): Promise<void> {
  const { port } = row;
  await db.transaction((trx) => insertAuditEntry(trx, auditOf(row, 'tunnel.end', { port, ...facts })));
}

/** Closes a tunnel permanently: its ticket can no longer open connections. */
export async function closeTunnel(db: Db, id: string, reason: string): Promise<void> {
  await db.raw('update remote_sessions set ended_at = now(), reason = ? where id = ? and ended_at is null', [
    reason,
    id,
  ]);
}

function auditOf(row: RemoteSessionRow, operation: string, facts: Record<string, unknown>) {
  const { id, kind, workspace_id, service_id, actor, user_id, credential, credential_id, request_id } = row;
  const details = { ...facts, replica: row.replica_id, address: row.client_address };
  const path = `/services/${service_id}/${kind}s/${id}`;
  const who = { workspace_id, actor, user_id, credential, credential_id, request_id };
  return { ...who, operation, path, target_id: id, target_name: '', details };
}

/** Returns shells that are recorded as open, but that no API process has reported for LOST_SECONDS. */
export async function lostShells(db: Db): Promise<string[]> {
  const rows = await rowsOf<{ id: string }>(
    db,
    `select id from remote_sessions
      where kind = 'shell' and ended_at is null and seen_at < now() - make_interval(secs => ${LOST_SECONDS}) limit 1000`,
  );
  return rows.map(({ id }) => id);
}

type FactsRow = Pick<RemoteSessionRow, 'id' | 'kind' | 'credential'> &
  Omit<AccessFacts, 'mfaMissing'> & {
    configuration: Partial<WorkspaceConfiguration>;
    secondFactor: boolean;
    needsProvider: boolean;
    credentialLives: boolean;
    serviceLives: boolean;
  };

/** Returns which of these sessions must be closed: session id → reason. */
export async function sessionsWithoutAccess(db: Db, ids: readonly string[]): Promise<Map<string, string>> {
  const rows = await rowsOf<FactsRow>(
    db,
    `select r.id, r.kind, r.credential, m.role, coalesce(k.scope, 'write') as scope, r.credential = 'key' as "withKey",
            u.email_verified_at is not null as "emailVerified",
            w.configuration, case r.credential when 'key' then ${HAS_SECOND_FACTOR} else coalesce(b.second_factor, false) end
              as "secondFactor",
            coalesce(e.protected, false) or (r.kind = 'shell' and n.id is not null and ${snapshotIsProtected('n')}) as "protectedEnvironment",
            coalesce(b.by_password and not i.passwords, false) as "needsProvider",
            s.deleted_at is null as "serviceLives",
            case r.credential
              when 'key' then k.revoked_at is null and (k.expires_at is null or k.expires_at > now()) and k.id is not null
              else b.expires_at > now() and b.id is not null end as "credentialLives"
       from remote_sessions r
       join workspaces w on w.id = r.workspace_id
       join services s on s.id = r.service_id
       join users u on u.id = r.user_id
       left join workspace_sign_in i on i.workspace_id = r.workspace_id
       left join environments e on e.id = s.environment_id
       left join replicas p on p.id = r.replica_id
       left join deployments d on d.id = p.deployment_id
       left join snapshots n on n.id = d.snapshot_id
       left join memberships m on m.workspace_id = r.workspace_id and m.user_id = r.user_id
       left join api_keys k on r.credential = 'key' and k.id = r.credential_id
       left join sessions b on r.credential = 'session' and b.id = r.credential_id
      where r.id = any(?)`,
    [[...ids]],
  );
  const reasons = new Map(rows.map((row) => [row.id, lostAccess(row)]));
  return new Map(ids.map((id) => [id, reasons.get(id) ?? GONE] as const).filter(([, reason]) => reason !== ''));
}

const GONE = 'the service or its workspace was deleted';

function lostAccess({
  kind,
  credential,
  configuration,
  secondFactor,
  needsProvider,
  credentialLives,
  serviceLives,
  ...facts
}: FactsRow): string {
  if (!serviceLives) return GONE;
  if (!credentialLives) {
    return credential === 'key'
      ? 'the key that opened it was revoked or expired'
      : 'the browser session that opened it ended';
  }
  if (needsProvider) return 'the workspace is closed to sessions with a password';
  const refused = refusal(OPERATIONS[kind], { ...facts, mfaMissing: isMfaMissing(configuration, secondFactor) });
  return refused === null ? '' : 'the role or the rights of its owner changed';
}
