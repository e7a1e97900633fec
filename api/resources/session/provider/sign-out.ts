import { v7 as uuidv7 } from 'uuid';
import { type Db, oneRow } from '../../../../shared/core/database/database-client.js';
import { hashToken } from '../../../../shared/secrets/random-token.js';
import { openFrom, SEALED, sealIn } from '../../../../shared/secrets/sealed-columns.js';
import type { ApiDeps } from '../../../http/api-deps.js';
import { ProviderClient } from './provider-client.js';

/** Longer ID tokens are not stored: the URL of a sign-out contains the token, and servers limit the length of URLs. */
const MAX_ID_TOKEN_LENGTH = 6_000;

/** Stores the ID token with the session, or with the sign-in link if a second factor is still required. */
export async function recordProviderSignIn(
  { db, keyring }: Pick<ApiDeps, 'db' | 'keyring'>,
  of: { sessionId: string } | { linkToken: string },
  idToken: string,
): Promise<void> {
  const id = uuidv7();
  const hint = idToken.length > MAX_ID_TOKEN_LENGTH ? '' : idToken;
  const row = { id, sealed_id_token: sealIn(keyring, SEALED.idToken, id, hint) };
  if ('sessionId' in of) await db('provider_sign_ins').insert({ ...row, session_id: of.sessionId });
  else {
    const link = db('sign_in_links').where({ token_hash: hashToken(of.linkToken) });
    await db('provider_sign_ins').insert({ ...row, link_id: link.select('id') });
  }
}

interface ProviderSignIn {
  id: string;
  sealed_id_token: Buffer;
}

/** Returns the stored sign-in of a session that began with the provider; null for other sessions. */
export function findProviderSignIn(db: Db, sessionId: string): Promise<ProviderSignIn | null> {
  const found = 'select id, sealed_id_token from provider_sign_ins where session_id = ?';
  return oneRow<ProviderSignIn>(db, found, [sessionId]);
}

/** Returns the provider's page that signs the person out there; null if there is none. */
export async function providerSignOutUrl(
  { config, keyring }: Pick<ApiDeps, 'config' | 'keyring'>,
  { id, sealed_id_token }: ProviderSignIn,
): Promise<string | null> {
  if (!config.oidc) return null;
  const idToken = openFrom(keyring, SEALED.idToken, id, sealed_id_token);
  return new ProviderClient(config.oidc, config.publicUrl).signOutUrl(idToken);
}
