import type { SessionWithUser } from '../../../shared/db/sessions.js';
import type { UserPresentation } from './schema.js';

export function presentUser(session: SessionWithUser): UserPresentation {
  return {
    id: session.user_id,
    email: session.email,
    emailVerified: session.email_verified_at !== null,
    mfaEnabled: session.totp_confirmed_at !== null,
    mfaVerified: session.second_factor,
  };
}
