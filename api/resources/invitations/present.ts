import type { InvitationRow } from '../../../shared/identity/invitation-store.js';
import type { InvitationPresentation } from './schema.js';

export function presentInvitation(row: InvitationRow): InvitationPresentation {
  return {
    id: row.id,
    email: row.email,
    role: row.role,
    invitedBy: row.invited_by,
    createdAt: row.created_at.toISOString(),
    expiresAt: row.expires_at.toISOString(),
  };
}
