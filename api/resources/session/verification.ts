import { confirmVerification, requestVerification } from '../../../shared/commands/verify-email.js';
import { errorMessage } from '../../../shared/errors.js';
import { VERIFY_PATH } from '../../verify-page.js';
import { defineSession } from './route.js';
import { SentResponse, TokenBody, VerifiedResponse } from './schema.js';

/** The proof that an e-mail address is the user's; without it he only reads. */
export const verificationRoutes = [
  defineSession({
    method: 'POST',
    path: '/session/verification',
    operation: 'verification.request',
    summary: 'Mail a link that verifies the e-mail address',
    access: 'session',
    response: SentResponse,
    handler: async ({ deps, limits, ctx, caller }) => {
      if (caller.emailVerified) return { sent: false, reason: 'The e-mail address is verified already' };
      await limits.mails.take(ctx, caller.userId);
      try {
        const user = { id: caller.userId, email: caller.email };
        const sent = await requestVerification(deps.db, deps.mailer, user, deps.config.publicUrl + VERIFY_PATH);
        return {
          sent,
          reason: sent ? '' : 'This installation sends no e-mail; ask its operator to verify the address',
        };
      } catch (error) {
        ctx.state.log.warn(`a verification mail could not be sent: ${errorMessage(error)}`);
        return { sent: false, reason: 'The mail server did not take the e-mail; try again later' };
      }
    },
  }),
  defineSession({
    method: 'POST',
    path: '/session/verification/confirm',
    operation: 'verification.confirm',
    summary: 'Verify an e-mail address with the token that was mailed to it; no session is needed',
    access: 'anyone',
    body: TokenBody,
    response: VerifiedResponse,
    handler: async ({ deps, body }) => {
      await confirmVerification(deps.db, body.token);
      return { emailVerified: true } as const;
    },
  }),
];
