import { type Static, Type } from 'typebox';
import { Name, Nullable, Strict, Timestamp, Uuid } from '../../../http/schema.js';

const Base64Url = Type.String({ minLength: 1, maxLength: 4096, pattern: '^[A-Za-z0-9_-]+$' });
const CredentialId = Type.String({ minLength: 1, maxLength: 1400, pattern: '^[A-Za-z0-9_-]+$' });

/** Options for `navigator.credentials.create` and `get`. PublicKeyCredential.parse…FromJSON reads this JSON form. */
export const OptionsResponse = Strict({
  options: Type.Record(Type.String(), Type.Unknown(), { description: 'The options of WebAuthn in its JSON form' }),
});

/** A new credential in WebAuthn's JSON form (`PublicKeyCredential.toJSON`). Browsers may add fields. */
export const CreatePasskeyBody = Strict({
  name: Name,
  credential: Type.Object({
    id: CredentialId,
    rawId: CredentialId,
    type: Type.Literal('public-key'),
    response: Type.Object({
      clientDataJSON: Base64Url,
      attestationObject: Base64Url,
    }),
  }),
});
/** A passkey's signature of a challenge, in WebAuthn's JSON form (`PublicKeyCredential.toJSON`). */
export const PasskeyProof = Type.Object({
  id: CredentialId,
  rawId: CredentialId,
  type: Type.Literal('public-key'),
  response: Type.Object({
    clientDataJSON: Base64Url,
    authenticatorData: Base64Url,
    signature: Base64Url,
    userHandle: Type.Optional(Nullable(Base64Url)),
  }),
});
export type PasskeyProof = Static<typeof PasskeyProof>;
export const PasskeySignInBody = Strict({ credential: PasskeyProof });

export const Passkey = Strict(
  { id: Uuid, name: Type.String(), createdAt: Timestamp, usedAt: Nullable(Timestamp) },
  'Passkey',
);
export const PasskeyResponse = Strict({ passkey: Passkey });
export const PasskeyListResponse = Strict({ passkeys: Type.Array(Passkey) });
