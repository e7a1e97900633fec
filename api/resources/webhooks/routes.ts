import { AppError } from '../../../shared/core/error-registry.js';
import { createWebhook, deleteWebhook, listWebhooks, type WebhookRow } from '../../../shared/webhooks/store.js';
import { pageRequest, presentPage } from '../../http/pagination.js';
import { defineRoute } from '../../http/route.js';
import { DeletedResponse, PageQuery } from '../../http/schema.js';
import { CreatedWebhookResponse, CreateWebhookBody, WebhookListResponse, type WebhookView } from './schema.js';

const COLLECTION = '/workspaces/:workspaceId/webhooks';

/** Presents an outgoing webhook without its secret and its sealed fields. */
function presentWebhook(row: WebhookRow): WebhookView {
  return {
    id: row.id,
    url: row.url,
    format: row.format,
    events: row.events,
    createdAt: row.created_at.toISOString(),
    lastDeliveryAt: row.delivered_at?.toISOString() ?? null,
    lastOutcome: row.outcome,
  };
}

/** Outgoing webhooks: URLs to which `workers/webhooks` sends a workspace's events. */
export const webhookRoutes = [
  defineRoute({
    method: 'GET',
    path: COLLECTION,
    operation: 'webhook.list',
    summary: 'List webhooks',
    description:
      "The workspace's outgoing webhooks, newest first. The query of a URL is shown as ***; for a chat its path too.",
    query: PageQuery,
    response: WebhookListResponse,
    handler: async (request) => {
      const page = await listWebhooks(request.db, request.workspace.row.id, pageRequest(request));
      return { webhooks: page.items.map(presentWebhook), page: presentPage(request, page) };
    },
  }),
  defineRoute({
    method: 'POST',
    path: COLLECTION,
    operation: 'webhook.create',
    summary: 'Create a webhook',
    description: 'Creates an outgoing webhook. No other answer contains the secret that signs its deliveries.',
    errors: ['capacity_exceeded'],
    body: CreateWebhookBody,
    status: 201,
    response: CreatedWebhookResponse,
    // Idempotency-Key is ignored, because the stored response would contain the secret.
    keyed: false,
    handler: async ({ deps, trx, body, workspace }) => {
      const { url, events, format = 'json' } = body;
      const input = { workspaceId: workspace.row.id, url, format, events };
      const { webhook, secret } = await createWebhook(trx, deps, input);
      return { webhook: { ...presentWebhook(webhook), secret } };
    },
  }),
  defineRoute({
    method: 'DELETE',
    path: `${COLLECTION}/:webhookId`,
    operation: 'webhook.delete',
    summary: 'Delete a webhook',
    description: 'Deletes the webhook. Deliveries that wait are not sent.',
    response: DeletedResponse,
    handler: async ({ trx, params, workspace }) => {
      if (!(await deleteWebhook(trx, workspace.row.id, params.webhookId))) throw new AppError('not_found');
      return { deleted: true } as const;
    },
  }),
];
