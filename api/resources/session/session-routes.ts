import { Type } from 'typebox';
import { AppError } from '../../../shared/core/error-registry.js';
import { deleteOtherSessions } from '../../../shared/identity/session-store.js';
import { defineRoute } from '../../http/route.js';
import { Strict, Timestamp, Uuid } from '../../http/schema.js';
import { endSession, listSessions } from './own-sessions.js';

const OwnSession = Strict(
  {
    id: Uuid,
    current: Type.Boolean({ description: 'True for the session that asks' }),
    origin: Type.String({ description: 'The address of the client that signed in' }),
    userAgent: Type.String({ description: 'The browser or program that signed in, as it names itself' }),
    createdAt: Timestamp,
    seenAt: Timestamp,
    expiresAt: Timestamp,
  },
  'OwnSession',
);
const OwnSessionListResponse = Strict({ sessions: Type.Array(OwnSession) });
const EndedResponse = Strict({ ended: Type.Literal(true) });

/** The sessions of the signed-in user. */
export const ownSessionRoutes = [
  defineRoute({
    method: 'GET',
    path: '/sessions',
    access: 'session',
    operation: 'session.list',
    summary: 'List your sessions',
    description: 'The sessions of the signed-in user that have not ended, the last used first.',
    response: OwnSessionListResponse,
    handler: async ({ deps, caller }) => ({
      sessions: (await listSessions(deps.db, caller.userId)).map((row) => ({
        id: row.id,
        current: row.id === caller.credentialId,
        origin: row.origin,
        userAgent: row.user_agent,
        createdAt: row.created_at.toISOString(),
        seenAt: row.seen_at.toISOString(),
        expiresAt: row.expires_at.toISOString(),
      })),
    }),
  }),
  defineRoute({
    method: 'DELETE',
    path: '/sessions/:sessionId',
    access: 'session',
    operation: 'session.end',
    summary: 'End one of your sessions',
    description: 'Ends a session of the signed-in user, whose cookie then becomes invalid.',
    response: EndedResponse,
    handler: async ({ deps, caller, ctx }) => {
      const { sessionId = '' } = ctx.state.input.params;
      if (!(await endSession(deps.db, caller.userId, sessionId))) throw new AppError('not_found');
      return { ended: true } as const;
    },
  }),
  defineRoute({
    method: 'DELETE',
    path: '/sessions',
    access: 'session',
    operation: 'session.endOthers',
    summary: 'End your other sessions',
    description: 'Ends all sessions of the signed-in user but the one that asks.',
    response: EndedResponse,
    handler: async ({ deps, caller }) => {
      await deleteOtherSessions(deps.db, caller.userId, caller.credentialId);
      return { ended: true } as const;
    },
  }),
];
