import { Type } from 'typebox';
import { type Db, rowCountOf, rowsOf } from '../../../shared/core/database/database-client.js';
import { AppError } from '../../../shared/core/error-registry.js';
import type { SessionRow } from '../../../shared/identity/rows.js';
import { deleteOtherSessions, IDLE } from '../../../shared/identity/session-store.js';
import { present } from '../../http/present.js';
import { defineRoute } from '../../http/route.js';
import { Strict, Timestamp, Uuid } from '../../http/schema.js';

function listSessions(db: Db, userId: string): Promise<SessionRow[]> {
  return rowsOf<SessionRow>(
    db,
    `select * from sessions where user_id = ? and expires_at > now() and seen_at > now() - ${IDLE}
      order by seen_at desc, id desc`,
    [userId],
  );
}

async function endSession(db: Db, userId: string, id: string): Promise<boolean> {
  return (await rowCountOf(db, 'delete from sessions where user_id = ? and id = ?', [userId, id])) > 0;
}

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

export const ownSessionRoutes = [
  defineRoute('GET', '/sessions', 'session.list', {
    access: 'session',
    summary: 'List your sessions',
    description: 'The sessions of the signed-in user that have not ended, the last used first.',
    response: OwnSessionListResponse,
    handler: async ({ deps, caller }) => ({
      sessions: (await listSessions(deps.db, caller.userId)).map((row) =>
        present(OwnSession, row, { current: row.id === caller.credentialId }),
      ),
    }),
  }),
  defineRoute('DELETE', '/sessions/:sessionId', 'session.end', {
    access: 'session',
    summary: 'End one of your sessions',
    description: 'Ends a session of the signed-in user, whose cookie then becomes invalid.',
    response: EndedResponse,
    handler: async ({ deps, caller, ctx }) => {
      const { sessionId = '' } = ctx.state.input.params;
      if (!(await endSession(deps.db, caller.userId, sessionId))) throw new AppError('not_found');
      return { ended: true } as const;
    },
  }),
  defineRoute('DELETE', '/sessions', 'session.endOthers', {
    access: 'session',
    summary: 'End your other sessions',
    description: 'Ends all sessions of the signed-in user but the one that asks.',
    response: EndedResponse,
    handler: async ({ deps, caller }) => {
      await deleteOtherSessions(deps.db, caller.userId, caller.credentialId);
      return { ended: true } as const;
    },
  }),
];
