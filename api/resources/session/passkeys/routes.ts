import { AppError } from '../../../../shared/core/error-registry.js';
import { beginSession } from '../../../../shared/identity/sign-in.js';
import { defineRoute } from '../../../http/route.js';
import { assertProof } from '../assert-proof.js';
import { BootstrapResponse, EnrolBody, PasskeyOptionsBody } from '../schema.js';
import { inputOf, welcome } from '../welcome.js';
import { deletePasskey, findPasskey, insertPasskey, listPasskeys, type PasskeyRow } from './passkey-store.js';
import {
  CreatePasskeyBody,
  OptionsResponse,
  PasskeyDeletedResponse,
  PasskeyListResponse,
  PasskeyResponse,
  PasskeySignInBody,
} from './schema.js';
import { passkeyOptions } from './second-step.js';
import { refusedPasskey, registrationOptions, SIGN_IN, usePasskey, verifiedCredential } from './web-authn.js';

/** Passkeys: keys of a device or password manager that sign users in without a password (WebAuthn). */
export const passkeyRoutes = [
  defineRoute({
    method: 'GET',
    path: '/session/passkeys',
    access: 'session',
    operation: 'passkey.list',
    summary: 'List your passkeys',
    description: 'The passkeys of the signed-in user, oldest first.',
    response: PasskeyListResponse,
    handler: async ({ deps, caller }) => ({ passkeys: (await listPasskeys(deps.db, caller.userId)).map(present) }),
  }),
  defineRoute({
    method: 'POST',
    path: '/session/passkeys/options',
    access: 'session',
    operation: 'passkey.prepare',
    summary: 'Begin to add a passkey',
    description: 'Returns what the browser needs to make a passkey. Valid for five minutes.',
    body: EnrolBody,
    example: { password: 'correct horse battery staple' },
    response: OptionsResponse,
    handler: async (request) => {
      // A proof is required. Otherwise someone who stole the session could add a passkey, and sign in again after the
      // session has ended.
      await assertProof(request);
      const { deps, caller } = request;
      const known = await listPasskeys(deps.db, caller.userId);
      return { options: await registrationOptions(deps, { id: caller.userId, email: caller.email }, known) };
    },
  }),
  defineRoute({
    method: 'POST',
    path: '/session/passkeys',
    access: 'session',
    operation: 'passkey.create',
    summary: 'Add a passkey',
    description: 'Stores the passkey that the browser has made. It signs in without a password and a second factor.',
    errors: ['conflict', 'capacity_exceeded'],
    body: CreatePasskeyBody,
    status: 201,
    response: PasskeyResponse,
    handler: async ({ deps, caller, body: { name, credential } }) => {
      const verified = await verifiedCredential(deps, caller.userId, credential);
      const passkey = await deps.db.transaction((trx) =>
        insertPasskey(trx, {
          user_id: caller.userId,
          name,
          credential_id: verified.id,
          public_key: Buffer.from(verified.publicKey),
          counter: verified.counter,
        }),
      );
      return { passkey: present(passkey) };
    },
  }),
  defineRoute({
    method: 'DELETE',
    path: '/session/passkeys/:passkeyId',
    access: 'session',
    operation: 'passkey.delete',
    summary: 'Delete a passkey',
    description: 'Deletes a passkey of the signed-in user. It can no longer sign in; open sessions stay.',
    response: PasskeyDeletedResponse,
    handler: async ({ deps, caller, ctx }) => {
      const { passkeyId = '' } = ctx.state.input.params;
      if (!(await deletePasskey(deps.db, caller.userId, passkeyId))) throw new AppError('not_found');
      return { deleted: true } as const;
    },
  }),
  defineRoute({
    method: 'POST',
    path: '/session/passkey/options',
    access: 'signing-in',
    operation: 'session.preparePasskey',
    summary: 'Begin to sign in with a passkey',
    description:
      'Returns what the browser needs to ask for a passkey. Valid for five minutes. With an e-mail address and a ' +
      'password, or with the token of a link, for the second factor of that sign-in.',
    errors: ['conflict'],
    body: PasskeyOptionsBody,
    example: { email: 'ada@example.com', password: 'correct horse battery staple' },
    response: OptionsResponse,
    handler: async (request) => ({ options: await passkeyOptions(request) }),
  }),
  defineRoute({
    method: 'POST',
    path: '/session/passkey',
    access: 'signing-in',
    operation: 'session.createFromPasskey',
    summary: 'Sign in with a passkey',
    description: 'Signs in with a passkey, which proves the second factor too, and answers like bootstrap.',
    body: PasskeySignInBody,
    response: BootstrapResponse,
    handler: async (request) => {
      const { deps, body } = request;
      const { credential } = body;
      const found = await findPasskey(deps.db, credential.id);
      if (found === null) throw refusedPasskey('this installation does not know it');
      await usePasskey(deps.db, deps, found.passkey, credential, SIGN_IN);
      const proof = { byPassword: false, byPasskey: true };
      return welcome(request, await beginSession(deps.db, deps, found.user, { ...(await inputOf(request)), ...proof }));
    },
  }),
];

function present({ id, name, created_at, used_at }: PasskeyRow) {
  return { id, name, createdAt: created_at.toISOString(), usedAt: used_at?.toISOString() ?? null };
}
