import { type Static, Type } from 'typebox';
import { plainLine } from '../../../shared/core/plain-text.js';
import { DRAIN_SIGNALS, MAX_HEADERS } from '../../../shared/drains/model.js';
import { MAX_URL_LENGTH } from '../../../shared/webhooks/model.js';
import { deleted, found } from '../../http/assertions.js';
import { pageRequest, presentPage } from '../../http/pagination.js';
import { present } from '../../http/present.js';
import { defineRoute } from '../../http/route.js';
import {
  DeletedResponse,
  described,
  Name,
  Nullable,
  oneOf,
  PageQuery,
  PageSchema,
  Strict,
  Timestamp,
  Uuid,
} from '../../http/schema.js';
import { createDrain, type DrainView, deleteDrain, findDrain, listDrains } from './store.js';

const Signals = Type.Array(oneOf('DrainSignal', DRAIN_SIGNALS), { minItems: 1, maxItems: DRAIN_SIGNALS.length });

const DrainSchema = Strict(
  {
    id: Uuid,
    name: Type.String(),
    endpoint: Type.String(),
    signals: Signals,
    serviceId: Nullable(described(Uuid, 'The only service whose records are sent; null for all of the workspace')),
    headerNames: Type.Array(Type.String(), { description: 'No answer contains the values' }),
    createdAt: Timestamp,
    lastSentAt: Nullable(Timestamp),
    lastError: Type.String({
      description:
        'By signal what was wrong with its last request, or what was lost in the last hour; empty if nothing was',
    }),
    behindSeconds: Type.Integer({ minimum: 0, description: 'The age of the oldest record that waits; 0 if none does' }),
    droppedLines: Type.Integer({
      minimum: 0,
      description: 'Log lines that the collector refused, or that were deleted before they could be sent',
    }),
  },
  'Drain',
);
export type DrainPresentation = Static<typeof DrainSchema>;

const DrainResponse = Strict({ drain: DrainSchema });
const DrainListResponse = Strict({ drains: Type.Array(DrainSchema), page: PageSchema });

const Headers = Type.Record(
  Type.String({ pattern: '^[A-Za-z0-9_-]{1,64}$' }),
  Type.String({ maxLength: 2048, pattern: '^[!-~]([ -~]*[!-~])?$' }),
  {
    additionalProperties: false,
    maxProperties: MAX_HEADERS,
    description: 'Sent with each request, for example Authorization. Visible ASCII characters',
  },
);

const CreateDrainBody = Strict({
  name: Type.Optional(Name),
  endpoint: plainLine(MAX_URL_LENGTH, {
    minLength: 1,
    description:
      'one line without control characters. The address of an OTLP/HTTP collector before /v1/logs: http:// or https://, in ASCII, ' +
      'without user, password and query; not a private one, unless the installation allows it',
  }),
  signals: Signals,
  headers: Type.Optional(Headers),
  serviceId: Type.Optional(Uuid),
});

const COLLECTION = '/workspaces/:workspaceId/drains';
const ONE = `${COLLECTION}/:drainId` as const;

function presentDrain(row: DrainView) {
  const behindMs = row.behind_since === null ? 0 : Date.now() - row.behind_since.getTime();
  return present(DrainSchema, row, {
    lastSentAt: row.sent_at?.toISOString() ?? null,
    lastError: row.error,
    behindSeconds: Math.max(0, Math.floor(behindMs / 1000)),
  });
}

/** Drains: collectors to which `workers/drains` sends a workspace's logs, metrics and traces. */
export const drainRoutes = [
  defineRoute('GET', COLLECTION, 'drain.list', {
    summary: 'List drains',
    description: "The workspace's drains, newest first, and how far they are behind.",
    query: PageQuery,
    response: DrainListResponse,
    handler: async (request) => {
      const page = await listDrains(request.db, request.workspace.row.id, pageRequest(request));
      return { drains: page.items.map(presentDrain), page: presentPage(request, page) };
    },
  }),
  defineRoute('POST', COLLECTION, 'drain.create', {
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
  defineRoute('GET', ONE, 'drain.read', {
    summary: 'Read a drain',
    description: 'What was sent last, and how far the drain is behind.',
    response: DrainResponse,
    handler: async ({ db, params, workspace }) => ({
      drain: presentDrain(found(await findDrain(db, workspace.row.id, params.drainId))),
    }),
  }),
  defineRoute('DELETE', ONE, 'drain.delete', {
    summary: 'Delete a drain',
    description: 'Nothing more is sent; what waits is not sent either.',
    response: DeletedResponse,
    handler: async ({ trx, params, workspace }) => deleted(await deleteDrain(trx, workspace.row.id, params.drainId)),
  }),
];
