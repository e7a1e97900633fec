import { beginSession } from '../../../../shared/identity/sign-in.js';
import { deleted } from '../../../http/assertions.js';
import { present } from '../../../http/present.js';
import { defineRoute } from '../../../http/route.js';
import { DeletedResponse } from '../../../http/schema.js';
import { assertProof } from '../assert-proof.js';
import { BootstrapResponse, EnrolBody, PasskeyOptionsBody } from '../schema.js';
import { inputOf, welcome } from '../welcome.js';
import { deletePasskey, findPasskey, insertPasskey, listPasskeys, type PasskeyRow } from './passkey-store.js';
import {
  CreatePasskeyBody,
  OptionsResponse,
  Passkey,
  PasskeyListResponse,
  PasskeyResponse,
  PasskeySignInBody,
} from './schema.js';
import { passkeyOptions } from './second-step.js';
import { refusedPasskey, registrationOptions, SIGN_IN, usePasskey, verifiedCredential } from './web-authn.js';

/** Passkeys: keys of a device or password manager that sign users in without a password (WebAuthn). */
export const passkeyRoutes = [
  defineRoute('GET', '/session/passkeys', 'passkey.list', {
    access: 'session',
    summary: 'List your passkeys',
    description: 'The passkeys of the signed-in user, oldest first.',
    response: PasskeyListResponse,
    handler: async ({ deps, caller }) => ({
      passkeys: (await listPasskeys(deps.db, caller.userId)).map(presentPasskey),
    }),
  }),
  defineRoute('POST', '/session/passkeys/options', 'passkey.prepare', {
    access: 'session',
    summary: 'Begin to add a passkey',
    description: 'Returns what the browser needs to make a passkey. Valid for five minutes.',
    body: EnrolBody,
    example: { password: 'correct horse battery staple' },
    response: OptionsResponse,
    handler: async (request) => {
      // Otherwise someone who stole the session could add a passkey, and sign in again after the session has ended.
      await assertProof(request);
      const { deps, caller } = request;
      const known = await listPasskeys(deps.db, caller.userId);
      return { options: await registrationOptions(deps, { id: caller.userId, email: caller.email }, known) };
    },
  }),
  defineRoute('POST', '/session/passkeys', 'passkey.create', {
    access: 'session',
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
      return { passkey: presentPasskey(passkey) };
    },
  }),
  defineRoute('DELETE', '/session/passkeys/:passkeyId', 'passkey.delete', {
    access: 'session',
    summary: 'Delete a passkey',
    description: 'Deletes a passkey of the signed-in user. It can no longer sign in; open sessions stay.',
    response: DeletedResponse,
    handler: async ({ deps, caller, ctx }) => {
      const { passkeyId = '' } = ctx.state.input.params;
      return deleted(await deletePasskey(deps.db, caller.userId, passkeyId));
    },
  }),
  defineRoute('POST', '/session/passkey/options', 'session.preparePasskey', {
    access: 'signing-in',
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
  defineRoute('POST', '/session/passkey', 'session.createFromPasskey', {
    access: 'signing-in',
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

const presentPasskey = (row: PasskeyRow) => present(Passkey, row);
