import type { AuthenticationResponseJSON, RegistrationResponseJSON, WebAuthnCredential } from '@simplewebauthn/server';
import type { Db } from '../../../../shared/core/database/database-client.js';
import { AppError, errorMessage, invalidRequest } from '../../../../shared/core/error-registry.js';
import type { ApiDeps } from '../../../http/api-deps.js';
import { Challenges, useChallenge } from './challenges.js';
import { type PasskeyRow, recordPasskeyUse } from './passkey-store.js';
import type { PasskeyProof } from './schema.js';

/** Loads the package when a passkey is first used, because it takes memory and few installations use passkeys. */
const library = () => import('@simplewebauthn/server');

/** Returns the site to which passkeys are bound. Browsers allow passkeys only on https sites and on localhost. */
function siteOf({ config }: Pick<ApiDeps, 'config'>): { origin: string; id: string } {
  const { origin, hostname } = new URL(config.publicUrl);
  return { origin, id: hostname };
}

function challengesOf({ config }: Pick<ApiDeps, 'config'>): Challenges {
  return new Challenges(Buffer.from(config.secretsKey.reveal(), 'base64'));
}

/** Returns the WebAuthn options with which a browser creates a passkey for the user. */
export async function registrationOptions(
  deps: ApiDeps,
  user: { id: string; email: string },
  known: readonly PasskeyRow[],
): Promise<Record<string, unknown>> {
  const { generateRegistrationOptions } = await library();
  const options = await generateRegistrationOptions({
    rpName: 'Ranvier',
    rpID: siteOf(deps).id,
    userName: user.email,
    userID: new Uint8Array(Buffer.from(user.id)),
    challenge: new Uint8Array(challengesOf(deps).create(user.id)),
    attestationType: 'none',
    excludeCredentials: known.map(({ credential_id }) => ({ id: credential_id })),
    authenticatorSelection: { residentKey: 'required', userVerification: 'required' },
  });
  return { ...options };
}

/**
 * What a passkey's signature is for: a sign-in with only the passkey (`subject` is ''), or the second step of a
 * sign-in.
 */
export interface Purpose {
  subject: string;
  /** True if the device has to ask for a PIN or a fingerprint, because the passkey is the only proof. */
  verifiesUser: boolean;
}
export const SIGN_IN: Purpose = { subject: '', verifiesUser: true };

/** Returns the options with which a browser asks for a passkey: one of `allowed`, if it is given. */
export async function signInOptions(
  deps: ApiDeps,
  { subject, verifiesUser }: Purpose,
  allowed?: readonly PasskeyRow[],
): Promise<Record<string, unknown>> {
  const { generateAuthenticationOptions } = await library();
  const options = await generateAuthenticationOptions({
    rpID: siteOf(deps).id,
    challenge: new Uint8Array(challengesOf(deps).create(subject)),
    userVerification: verifiesUser ? 'required' : 'discouraged',
    ...(allowed && { allowCredentials: allowed.map(({ credential_id }) => ({ id: credential_id })) }),
  });
  return { ...options };
}

/** Verifies a new passkey that a browser has created for the user. Throws invalid_request. */
export async function verifiedCredential(
  deps: ApiDeps,
  userId: string,
  credential: object,
): Promise<WebAuthnCredential> {
  const { verifyRegistrationResponse } = await library();
  const { origin, id } = siteOf(deps);
  const verified = await verifyRegistrationResponse({
    response: { ...credential, clientExtensionResults: {} } as RegistrationResponseJSON,
    expectedChallenge: (challenge) => challengesOf(deps).isValid(userId, challenge),
    expectedOrigin: origin,
    expectedRPID: id,
  }).catch((error: unknown) => {
    throw invalidRequest('/credential', `is not accepted: ${errorMessage(error)}`);
  });
  if (!verified.verified) throw invalidRequest('/credential', 'is not accepted');
  return verified.registrationInfo.credential;
}

async function verifiedCounter(
  deps: ApiDeps,
  passkey: PasskeyRow,
  credential: object,
  { subject, verifiesUser }: Purpose,
): Promise<number> {
  const { verifyAuthenticationResponse } = await library();
  const { origin, id } = siteOf(deps);
  const verified = await verifyAuthenticationResponse({
    response: { ...credential, clientExtensionResults: {} } as AuthenticationResponseJSON,
    expectedChallenge: (challenge) => challengesOf(deps).isValid(subject, challenge),
    expectedOrigin: origin,
    expectedRPID: id,
    requireUserVerification: verifiesUser,
    credential: {
      id: passkey.credential_id,
      publicKey: new Uint8Array(passkey.public_key),
      counter: Number(passkey.counter),
    },
  }).catch((error: unknown) => {
    throw refusedPasskey(errorMessage(error));
  });
  if (!verified.verified) throw refusedPasskey('its signature is wrong');
  return verified.authenticationInfo.newCounter;
}

/** Checks a passkey's signature of a challenge, which is accepted only once. Throws unauthenticated with the reason. */
export async function usePasskey(
  db: Db,
  deps: ApiDeps,
  passkey: PasskeyRow,
  credential: PasskeyProof,
  purpose: Purpose,
): Promise<void> {
  const counter = await verifiedCounter(deps, passkey, credential, purpose);
  const unused = await useChallenge(db, challengeIn(credential.response.clientDataJSON));
  if (!unused || !(await recordPasskeyUse(db, { id: passkey.id, counter })))
    throw refusedPasskey('this answer was used before');
}

export function refusedPasskey(reason: string): AppError {
  return new AppError('unauthenticated', `The passkey is not accepted: ${reason}`);
}

/** Returns the challenge to which a credential responds, from the data that the browser signed. */
function challengeIn(clientDataJson: string): string {
  try {
    const { challenge } = JSON.parse(Buffer.from(clientDataJson, 'base64url').toString('utf8')) as {
      challenge: unknown;
    };
    return typeof challenge === 'string' ? challenge : '';
  } catch {
    return '';
  }
}
