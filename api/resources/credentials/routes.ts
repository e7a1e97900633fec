import { Type } from 'typebox';
import { openPasswords } from '../../../shared/data/commands.js';
import { findDataServer } from '../../../shared/data/store.js';
import { found } from '../../http/assertions.js';
import { defineRoute } from '../../http/route.js';
import { Strict } from '../../http/schema.js';
import { lockService } from '../services/find-service.js';

const CredentialsResponse = Strict({
  credentials: Strict(
    {
      user: Type.String(),
      password: Type.String(),
      database: Type.String({ description: "'' for redis" }),
    },
    'Credentials',
  ),
});

/** Credentials of databases, for clients that use a tunnel. Applications get them from variables. */
export const credentialRoutes = [
  defineRoute('POST', '/workspaces/:workspaceId/services/:serviceId/credentials', 'credentials.reveal', {
    summary: "Reveal a database's credentials",
    description: 'The user and the password of a deployed database. Each call is recorded in the audit log.',
    response: CredentialsResponse,
    keyed: false,
    handler: async (request) => {
      const { id } = await lockService(request);
      const server = found(await findDataServer(request.trx, id));
      const { user: password } = openPasswords(request.deps.keyring, server);
      return { credentials: { user: server.user_name, password, database: server.database_name } };
    },
  }),
];
