import type { Db } from '../db/client.js';
import { setVerification, takeVerification } from '../db/identity.js';
import { invalidRequest } from '../errors.js';
import type { Mailer } from '../mail.js';
import { hashToken, newToken } from '../secrets/token.js';

/**
 * Mails the user a link that proves the address for a day: the page with a token in the fragment, which no server logs. False
 * where this installation sends no e-mail.
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

/** Throws invalid_request for a token that is none, was used or has expired. */
export async function confirmVerification(db: Db, token: string): Promise<void> {
  if (await takeVerification(db, hashToken(token))) return;
  throw invalidRequest('/token', 'is no token of ours, was used or has expired; ask for another one');
}
