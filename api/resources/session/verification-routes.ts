import { errorMessage } from '../../../shared/core/error-registry.js';
import { defineRoute } from '../../http/route.js';
import { VERIFY_PATH } from '../../pages/verify-page.js';
import { SentResponse, TokenBody, VerifiedResponse } from './schema.js';
import { confirmVerification, requestVerification } from './verify-email.js';

/** Verification of e-mail addresses. A user without a verified address has read access only. */
export const verificationRoutes = [
  defineRoute({
    method: 'POST',
    path: '/session/verification',
    access: 'session',
    operation: 'verification.request',
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
  defineRoute({
    method: 'POST',
    path: '/session/verification/confirm',
    access: 'anyone',
    operation: 'verification.confirm',
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
