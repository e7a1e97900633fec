import { found } from '../../http/assertions.js';
import { pageRequest, presentPage } from '../../http/pagination.js';
import { defineRoute } from '../../http/route.js';
import { DeletedResponse, PageQuery } from '../../http/schema.js';
import { CreateDrainBody, DrainListResponse, type DrainPresentation, DrainResponse } from './schema.js';
import { createDrain, type DrainView, deleteDrain, findDrain, listDrains } from './store.js';

const COLLECTION = '/workspaces/:workspaceId/drains';
const ONE = `${COLLECTION}/:drainId` as const;

function presentDrain(row: DrainView): DrainPresentation {
  const behindMs = row.behind_since === null ? 0 : Date.now() - row.behind_since.getTime();
  return {
    id: row.id,
    name: row.name,
    endpoint: row.endpoint,
    signals: row.signals,
    serviceId: row.service_id,
    headerNames: row.header_names,
    createdAt: row.created_at.toISOString(),
    lastSentAt: row.sent_at?.toISOString() ?? null,
    lastError: row.error,
    behindSeconds: Math.max(0, Math.floor(behindMs / 1000)),
    droppedLines: row.dropped_lines,
  };
}

/** Drains: collectors to which `workers/drains` sends a workspace's logs, metrics and traces. */
export const drainRoutes = [
  defineRoute({
    method: 'GET',
    path: COLLECTION,
    operation: 'drain.list',
    summary: 'List drains',
    description: "The workspace's drains, newest first, and how far they are behind.",
    query: PageQuery,
    response: DrainListResponse,
    handler: async (request) => {
      const page = await listDrains(request.db, request.workspace.row.id, pageRequest(request));
      return { drains: page.items.map(presentDrain), page: presentPage(request, page) };
    },
  }),
  defineRoute({
    method: 'POST',
    path: COLLECTION,
    operation: 'drain.create',
    summary: 'Create a drain',
    description:
      'Sends what happens from now on to a collector of OpenTelemetry (OTLP over HTTP, JSON): log lines, metrics of services, and a trace ' +
      'of each deployment. No answer contains the values of the headers.',
    errors: ['capacity_exceeded'],
    body: CreateDrainBody,
    example: {
      endpoint: 'https://otlp.example.com',
      signals: ['logs', 'traces'],
      headers: { Authorization: 'Bearer token' },
    },
    status: 201,
    response: DrainResponse,
    handler: async ({ deps, trx, body, workspace }) => {
      const { name = '', serviceId = null, headers = {}, endpoint, signals } = body;
      const input = { workspaceId: workspace.row.id, name, serviceId, headers, endpoint, signals };
      return { drain: presentDrain(await createDrain(trx, deps, input)) };
    },
  }),
  defineRoute({
    method: 'GET',
    path: ONE,
    operation: 'drain.read',
    summary: 'Read a drain',
    description: 'What was sent last, and how far the drain is behind.',
    response: DrainResponse,
    handler: async ({ db, params, workspace }) => ({
      drain: presentDrain(found(await findDrain(db, workspace.row.id, params.drainId))),
    }),
  }),
  defineRoute({
    method: 'DELETE',
    path: ONE,
    operation: 'drain.delete',
    summary: 'Delete a drain',
    description: 'Nothing more is sent; what waits is not sent either.',
    response: DeletedResponse,
    handler: async ({ trx, params, workspace }) => {
      found((await deleteDrain(trx, workspace.row.id, params.drainId)) || undefined);
      return { deleted: true } as const;
    },
  }),
];
