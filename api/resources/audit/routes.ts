import { type Static, Type } from 'typebox';
import { type AuditView, CREDENTIAL_KINDS, listAuditEntries } from '../../../shared/audit/store.js';
import { pageRequest, presentPage } from '../../http/pagination.js';
import { present } from '../../http/present.js';
import { defineRoute } from '../../http/route.js';
import { Nullable, oneOf, PageQuery, PageSchema, Strict, Timestamp, Uuid } from '../../http/schema.js';

const AuditEntrySchema = Strict(
  {
    id: Uuid,
    /** The API operation, such as `service.update`. */
    operation: Type.String(),
    actor: Type.String(),
    /** `name` is the name of the API key; null if the write was authorized by another kind of credential. */
    credential: Strict({ kind: oneOf('CredentialKind', CREDENTIAL_KINDS), id: Uuid, name: Nullable(Type.String()) }),
    /** The request's path within the workspace, and the changed record. `id` is null if no single record changed. */
    target: Strict({ path: Type.String(), id: Nullable(Uuid), name: Type.String() }),
    requestId: Type.String(),
    /** Details that depend on the operation. For a shell: its command, replica and exit code. */
    details: Nullable(Type.Record(Type.String(), Type.Unknown())),
    createdAt: Timestamp,
  },
  'AuditEntry',
);
export type AuditEntryPresentation = Static<typeof AuditEntrySchema>;

const AuditResponse = Strict({ entries: Type.Array(AuditEntrySchema), page: PageSchema });

export const auditRoutes = [
  defineRoute('GET', '/workspaces/:workspaceId/audit', 'audit.list', {
    summary: 'List audit entries',
    description: 'Who changed what in the last 90 days, newest first.',
    query: PageQuery,
    response: AuditResponse,
    handler: async (request) => {
      const page = await listAuditEntries(request.db, request.params.workspaceId, pageRequest(request));
      return { entries: page.items.map(presentEntry), page: presentPage(request, page) };
    },
  }),
];

function presentEntry(row: AuditView) {
  return present(AuditEntrySchema, row, {
    credential: { kind: row.credential, id: row.credential_id, name: row.key_name },
    target: { path: row.path, id: row.target_id, name: row.target_name },
    details: row.details && { ...row.details },
  });
}
