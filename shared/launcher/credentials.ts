import { join } from 'node:path';
import { type Config, edgeUrl } from '../core/config.js';
import type { Db, Transaction } from '../core/database/database-client.js';
import { errorMessage } from '../core/error-registry.js';
import { readIfThere } from '../core/exists.js';
import { createKey, createWorkspace } from '../identity/commands.js';
import { findApiKey, findUserByEmail, setPasswordHash, workspacesOf } from '../identity/store.js';
import { parseApiKey } from '../secrets/api-key.js';
import { hashPassword, newPassword } from '../secrets/password.js';
import { writePrivately } from './private-file.js';

/** Stored in `DATA_DIR/credentials.json`. */
export interface Credentials {
  baseUrl: string;
  edgeUrl: string;
  dashboardUrl: string;
  workspaceId: string;
  email: string;
  password: string;
  apiKey: string;
}

type Identity = Pick<Credentials, 'workspaceId' | 'email' | 'password' | 'apiKey'>;

const OWNER = 'owner@ranvier.localhost';

/**
 * Returns the credentials of the platform. Reuses those of an earlier start while their API key is in the database.
 * `created` is true if they are new.
 */
export async function ensureCredentials(
  db: Db,
  config: Pick<Config, 'dataDir' | 'port' | 'edgePort' | 'edgeTls'>,
): Promise<{ credentials: Credentials; created: boolean }> {
  const { dataDir, port } = config;
  const path = join(dataDir, 'credentials.json');
  const kept = await keptIdentity(db, path);
  const identity = kept ?? (await db.transaction(newIdentity));
  const credentials: Credentials = {
    baseUrl: `http://localhost:${port}/api/v1`,
    edgeUrl: edgeUrl(config, 'localhost'),
    dashboardUrl: `http://localhost:${port}/admin/queues`,
    workspaceId: identity.workspaceId,
    email: identity.email,
    password: identity.password,
    apiKey: identity.apiKey,
  };
  await writePrivately(path, `${JSON.stringify(credentials, null, 2)}\n`);
  return { credentials, created: kept === null };
}

async function keptIdentity(db: Db, path: string): Promise<Identity | null> {
  const text = await readIfThere(path);
  if (text === null) return null;
  const identity = parse(text, path);
  const row = await findApiKey(db, parseApiKey(identity.apiKey)?.lookup ?? '');
  return row && row.revoked_at === null ? identity : null;
}

function parse(text: string, path: string): Identity {
  try {
    return JSON.parse(text) as Identity;
  } catch (error) {
    throw new Error(`${path} is not JSON (${errorMessage(error)}): remove it, and a new password and key are made`);
  }
}

async function newIdentity(trx: Transaction): Promise<Identity> {
  const password = newPassword();
  const known = await findUserByEmail(trx, OWNER);
  const [workspace] = known ? await workspacesOf(trx, known.id) : [];
  const workspaceId =
    workspace?.id ?? (await createWorkspace(trx, { name: 'My workspace', owner: OWNER })).workspace.id;
  const owner = known ?? (await findUserByEmail(trx, OWNER));
  if (!owner) throw new Error(`the user ${OWNER} was not stored`);
  await setPasswordHash(trx, owner.id, await hashPassword(password));
  const { key } = await createKey(trx, {
    workspaceId,
    email: OWNER,
    scope: 'write',
    name: 'npm start',
    expiresAt: null,
  });
  return { workspaceId, email: OWNER, password, apiKey: key };
}
