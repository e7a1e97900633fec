import type { Db } from '../../../shared/core/database/database-client.js';
import { invalidRequest } from '../../../shared/core/error-registry.js';
import type { Mailer } from '../../../shared/core/mail.js';
import { setVerification, useVerificationToken } from '../../../shared/identity/store.js';
import { hashToken, newToken } from '../../../shared/secrets/random-token.js';

/**
 * Mails a link that verifies the user's address. It is valid for a day. The token is in the link's fragment, which
 * servers do not log. Returns false if this installation sends no e-mail.
 */
export async function requestVerification(
  db: Db,
  mailer: Mailer,
  user: { id: string; email: string },
  page: string,
): Promise<boolean> {
  const { token, hash } = newToken();
  await setVerification(db, user.id, hash);
  return mailer.send({
    to: user.email,
    subject: 'Verify your e-mail address',
    text: [
      'Somebody, hopefully you, asked Ranvier to verify this e-mail address. Within a day, open',
      '',
      `${page}#${token}`,
      '',
      'If it was not you, nothing has to be done.',
      '',
    ].join('\n'),
  });
}

/** Marks an address as verified. Throws invalid_request if the token is unknown, used or expired. */
export async function confirmVerification(db: Db, token: string): Promise<void> {
  if (await useVerificationToken(db, hashToken(token))) return;
  throw invalidRequest('/token', 'is unknown, used or expired; request another one');
}
