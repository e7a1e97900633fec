import { v7 as uuidv7 } from 'uuid';
import { countOf, type Db, oneRow, rowsOf, type Transaction, theRow } from '../core/database/database-client.js';
import type { Role } from './policy.js';

const LIFETIME = `interval '7 days'`;

export interface InvitationRow {
  id: string;
  workspace_id: string;
  email: string;
  role: Role;
  /** Null if the invitation was accepted or withdrawn. */
  token_hash: Buffer | null;
  invited_by: string;
  created_at: Date;
  expires_at: Date;
}

export type NewInvitation = Pick<InvitationRow, 'workspace_id' | 'email' | 'role' | 'invited_by' | 'token_hash'>;

export function insertInvitation(trx: Transaction, invitation: NewInvitation): Promise<InvitationRow> {
  return theRow<InvitationRow>(
    trx,
    `insert into invitations (id, workspace_id, email, role, token_hash, invited_by, expires_at)
     values (:id, :workspace_id, :email, :role, :token_hash, :invited_by, now() + ${LIFETIME}) returning *`,
    { id: uuidv7(), ...invitation },
  );
}

/** Returns invitations that can still be accepted, oldest first. */
export function listInvitations(db: Db, workspaceId: string): Promise<InvitationRow[]> {
  return rowsOf<InvitationRow>(
    db,
    `select * from invitations where workspace_id = :workspaceId and token_hash is not null and expires_at > now()
      order by created_at, id`,
    { workspaceId },
  );
}

/**
 * Counts the invitations of the last seven days, which is the lifetime of an invitation. Includes accepted and
 * withdrawn ones.
 */
export function countSentInvitations(db: Db, workspaceId: string): Promise<number> {
  return countOf(db, 'select count(*) from invitations where workspace_id = ? and expires_at > now()', [workspaceId]);
}

export async function findInvitation(db: Db, id: string): Promise<InvitationRow | undefined> {
  return db<InvitationRow>('invitations').where({ id }).first();
}

/** Replaces an invitation's token. Returns false if the invitation was withdrawn or accepted. */
export async function setInvitationToken(db: Db, id: string, tokenHash: Buffer): Promise<boolean> {
  return (await db('invitations').where({ id }).whereNotNull('token_hash').update({ token_hash: tokenHash })) > 0;
}

const OF_TOKEN = 'select * from invitations where token_hash = :tokenHash and expires_at > now()';

/** Returns the invitation with this token; null if there is none or it has expired. */
export function findInvitationOfToken(db: Db, tokenHash: Buffer): Promise<InvitationRow | null> {
  return oneRow<InvitationRow>(db, OF_TOKEN, { tokenHash });
}

/** Finds an invitation and locks it. Of two concurrent requests, the second waits and then finds nothing. */
export function lockInvitation(trx: Transaction, tokenHash: Buffer): Promise<InvitationRow | null> {
  return oneRow<InvitationRow>(trx, `${OF_TOKEN} for update`, { tokenHash });
}

/** Returns the invitations that an e-mail address can still accept, with workspace names, oldest first. */
export function invitationsOf(db: Db, email: string): Promise<(InvitationRow & { workspace_name: string })[]> {
  return rowsOf(
    db,
    `select i.*, w.name as workspace_name from invitations i join workspaces w on w.id = i.workspace_id
      where i.email = :email and i.token_hash is not null and i.expires_at > now() order by i.created_at, i.id`,
    { email },
  );
}

/** Returns an invitation that this e-mail address can still accept, and locks it. */
export function lockInvitationOf(trx: Transaction, id: string, email: string): Promise<InvitationRow | null> {
  return oneRow<InvitationRow>(
    trx,
    'select * from invitations where id = :id and email = :email and token_hash is not null and expires_at > now() for update',
    { id, email },
  );
}

/** Invalidates all invitations of an e-mail address to a workspace. Returns how many it invalidated. */
export function endInvitations(trx: Transaction, workspaceId: string, email: string): Promise<number> {
  return trx('invitations')
    .where({ workspace_id: workspaceId, email })
    .whereNotNull('token_hash')
    .update({ token_hash: null });
}

/** Invalidates the invitations that a member sent, because the member's rights have changed. */
export async function endInvitationsBy(trx: Transaction, workspaceId: string, inviter: string): Promise<void> {
  await trx('invitations').where({ workspace_id: workspaceId, invited_by: inviter }).update({ token_hash: null });
}

/** Invalidates one invitation. Returns false if there is none or it is already invalid. */
export async function endInvitation(trx: Transaction, workspaceId: string, id: string): Promise<boolean> {
  const ended = await trx('invitations')
    .where({ workspace_id: workspaceId, id })
    .whereNotNull('token_hash')
    .update({ token_hash: null });
  return ended > 0;
}

export async function deleteExpiredInvitations(db: Db): Promise<number> {
  return db('invitations').whereRaw('expires_at <= now()').delete();
}
