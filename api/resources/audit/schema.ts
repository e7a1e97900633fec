import { type Static, Type } from 'typebox';
import { CREDENTIAL_KINDS } from '../../../shared/audit/store.js';
import { Nullable, oneOf, PageSchema, Strict, Timestamp, Uuid } from '../../http/schema.js';

const AuditEntrySchema = Strict(
  {
    id: Uuid,
    /** The API operation, such as `service.update`. */
    operation: Type.String(),
    /** `name` is the name of the API key; null if the write was authorized by another kind of credential. */
    actor: Type.String(),
    /** `name` is the name of the API key; null for other credentials. */
    credential: Strict({ kind: oneOf('CredentialKind', CREDENTIAL_KINDS), id: Uuid, name: Nullable(Type.String()) }),
    /**
     * `path` is the request's path within the workspace. `id` and `name` are those of the changed record. `id` is null
     * if the write concerns no single record.
     */
    target: Strict({ path: Type.String(), id: Nullable(Uuid), name: Type.String() }),
    requestId: Type.String(),
    /** Details that depend on the operation. For a shell: its command, replica and exit code. */
    details: Nullable(Type.Record(Type.String(), Type.Unknown())),
    createdAt: Timestamp,
  },
  'AuditEntry',
);
export type AuditEntryPresentation = Static<typeof AuditEntrySchema>;

export const AuditResponse = Strict({ entries: Type.Array(AuditEntrySchema), page: PageSchema });
