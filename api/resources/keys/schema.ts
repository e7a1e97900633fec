import { type Static, Type } from 'typebox';
import { KEY_SCOPES } from '../../../shared/identity/policy.js';
import { MAX_DATE_TIME_LENGTH, Name, Nullable, oneOf, PageSchema, Strict, Timestamp, Uuid } from '../../http/schema.js';

const ApiKeySchema = Strict(
  {
    id: Uuid,
    name: Type.String(),
    scope: oneOf('KeyScope', KEY_SCOPES),
    /** The first part of the key, which identifies it and is not secret. */
    prefix: Type.String(),
    /** The member on whose behalf the key acts. */
    email: Type.String(),
    createdAt: Timestamp,
    expiresAt: Nullable(Timestamp),
    /** When the key was last used; recorded at most once a minute. */
    lastUsedAt: Nullable(Timestamp),
  },
  'ApiKey',
);
export type ApiKeyPresentation = Static<typeof ApiKeySchema>;

export const ApiKeyListResponse = Strict({ keys: Type.Array(ApiKeySchema), page: PageSchema });
export const CreateApiKeyBody = Strict({
  name: Name,
  scope: oneOf('KeyScope', KEY_SCOPES),
  expiresAt: Type.Optional(Nullable(Type.String({ format: 'date-time', maxLength: MAX_DATE_TIME_LENGTH }))),
});
/** `secret` is the complete key. No other response contains it. */
export const CreatedApiKeyResponse = Strict({ key: ApiKeySchema, secret: Type.String() });
