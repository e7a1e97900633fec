import { type Static, Type } from 'typebox';
import { Nullable, oneOf, PageSchema, Strict, Timestamp, Uuid } from '../../http/schema.js';

const AuditEntrySchema = Strict(
  {
    id: Uuid,
    /** The operation of the API, such as `service.update`. */
    operation: Type.String(),
    /** The e-mail address at that time. */
    actor: Type.String(),
    /** `name` is the key's name; null for a session. */
    credential: Strict({ kind: oneOf('CredentialKind', ['key', 'session']), id: Uuid, name: Nullable(Type.String()) }),
    /** The path below the workspace, and the created or changed record: its id, and its name if it has one. */
    target: Strict({ path: Type.String(), id: Nullable(Uuid), name: Type.String() }),
    requestId: Type.String(),
    /** Facts of the operation: of a shell its command, its replica and its exit code. */
    details: Nullable(Type.Record(Type.String(), Type.Unknown())),
    createdAt: Timestamp,
  },
  'AuditEntry',
);
export type AuditEntryPresentation = Static<typeof AuditEntrySchema>;

export const AuditResponse = Strict({ entries: Type.Array(AuditEntrySchema), page: PageSchema });
