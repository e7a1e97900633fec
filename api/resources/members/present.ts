import type { MemberPresentation } from './schema.js';
import type { MemberView } from './store.js';

export function presentMember(row: MemberView): MemberPresentation {
  return {
    id: row.user_id,
    email: row.email,
    role: row.role,
    emailVerified: row.email_verified,
    mfaEnabled: row.second_factor,
    createdAt: row.created_at.toISOString(),
  };
}
