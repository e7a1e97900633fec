import type { Db } from '../../../shared/core/database/database-client.js';
import { errorMessage, invalidRequest } from '../../../shared/core/error-registry.js';
import type { Mailer } from '../../../shared/core/mail.js';
import { setVerification, useVerificationToken } from '../../../shared/identity/store.js';
import { hashToken, newToken } from '../../../shared/secrets/random-token.js';
import { defineRoute } from '../../http/route.js';
import { VERIFY_PATH } from '../../pages/verify-page.js';
import { SentResponse, TokenBody, VerifiedResponse } from './schema.js';

/** Mails a link that is valid for a day. Returns false if this installation sends no e-mail. */
async function requestVerification(
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

async function confirmVerification(db: Db, token: string): Promise<void> {
  if (await useVerificationToken(db, hashToken(token))) return;
  throw invalidRequest('/token', 'is unknown, used or expired; request another one');
}

/** Verification of e-mail addresses. A user without a verified address has read access only. */
export const verificationRoutes = [
  defineRoute('POST', '/session/verification', 'verification.request', {
    access: 'session',
    summary: 'Request a verification e-mail',
    description: 'Sends a link that verifies the e-mail address of the user.',
    response: SentResponse,
    handler: async ({ deps, limits, ctx, caller }) => {
      if (caller.emailVerified) return { sent: false, reason: 'The e-mail address is already verified' };
      await limits.mails.take(ctx, caller.userId);
      try {
        const user = { id: caller.userId, email: caller.email };
        const sent = await requestVerification(deps.db, deps.mailer, user, deps.config.publicUrl + VERIFY_PATH);
        return {
          sent,
          reason: sent ? '' : 'This installation sends no e-mail; ask its operator to verify the address',
        };
      } catch (error) {
        ctx.state.log().warn(`a verification mail could not be sent: ${errorMessage(error)}`);
        return { sent: false, reason: 'The mail server refused the e-mail; try again later' };
      }
    },
  }),
  defineRoute('POST', '/session/verification/confirm', 'verification.confirm', {
    access: 'anyone',
    summary: 'Verify an e-mail address',
    description: 'Verifies the address with the token that was mailed to it. No session is needed.',
    body: TokenBody,
    response: VerifiedResponse,
    handler: async ({ deps, body }) => {
      await confirmVerification(deps.db, body.token);
      return { emailVerified: true } as const;
    },
  }),
];
