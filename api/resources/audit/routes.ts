import { type AuditView, listAuditEntries } from '../../../shared/audit/store.js';
import { pageRequest, presentPage } from '../../http/pagination.js';
import { defineRoute } from '../../http/route.js';
import { PageQuery } from '../../http/schema.js';
import { type AuditEntryPresentation, AuditResponse } from './schema.js';

export const auditRoutes = [
  defineRoute({
    method: 'GET',
    path: '/workspaces/:workspaceId/audit',
    operation: 'audit.list',
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

function presentEntry(row: AuditView): AuditEntryPresentation {
  return {
    id: row.id,
    operation: row.operation,
    actor: row.actor,
    credential: { kind: row.credential, id: row.credential_id, name: row.key_name },
    target: { path: row.path, id: row.target_id, name: row.target_name },
    requestId: row.request_id,
    details: row.details === null ? null : { ...row.details },
    createdAt: row.created_at.toISOString(),
  };
}
