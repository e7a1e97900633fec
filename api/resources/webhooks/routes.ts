import { Type } from 'typebox';
import { plainLine } from '../../../shared/core/plain-text.js';
import { MAX_URL_LENGTH, WEBHOOK_EVENTS, WEBHOOK_FORMATS } from '../../../shared/webhooks/model.js';
import { createWebhook, deleteWebhook, listWebhooks, type WebhookRow } from '../../../shared/webhooks/store.js';
import { deleted } from '../../http/assertions.js';
import { pageRequest, presentPage } from '../../http/pagination.js';
import { present } from '../../http/present.js';
import { defineRoute } from '../../http/route.js';
import {
  DeletedResponse,
  described,
  Nullable,
  oneOf,
  PageQuery,
  PageSchema,
  Strict,
  Timestamp,
  Uuid,
} from '../../http/schema.js';

const Events = Type.Array(oneOf('WebhookEvent', WEBHOOK_EVENTS), { minItems: 1, maxItems: WEBHOOK_EVENTS.length });
const Format = oneOf('WebhookFormat', WEBHOOK_FORMATS);
const FIELDS = {
  id: Uuid,
  url: Type.String({ description: 'The query is shown as ***; for a chat the path too, because it is a secret' }),
  format: Format,
  events: Events,
  createdAt: Timestamp,
  lastDeliveryAt: Nullable(Timestamp),
  lastOutcome: Type.String(),
};

const WebhookSchema = Strict(FIELDS, 'Webhook');

const WebhookListResponse = Strict({ webhooks: Type.Array(WebhookSchema), page: PageSchema });
const CreateWebhookBody = Strict({
  url: plainLine(MAX_URL_LENGTH, {
    minLength: 1,
    description:
      'one line without control characters. An address that begins with http:// or https://, in ASCII, without user and password; not a ' +
      'private one, unless the installation allows it',
  }),
  format: Type.Optional(
    described(
      Format,
      'json (the default) sends the described body, signed. The others send a message for that chat: an incoming webhook of ' +
        'slack or discord, a workflow of teams',
    ),
  ),
  events: Events,
});
/** No other response contains the secret. */
const CreatedWebhookResponse = Strict({ webhook: Strict({ ...FIELDS, secret: Type.String() }) });

const COLLECTION = '/workspaces/:workspaceId/webhooks';

function presentWebhook(row: WebhookRow) {
  const lastDeliveryAt = row.delivered_at?.toISOString() ?? null;
  return present(WebhookSchema, row, { lastDeliveryAt, lastOutcome: row.outcome });
}

/** Outgoing webhooks: URLs to which `workers/webhooks` sends a workspace's events. */
export const webhookRoutes = [
  defineRoute('GET', COLLECTION, 'webhook.list', {
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
  defineRoute('POST', COLLECTION, 'webhook.create', {
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
  defineRoute('DELETE', `${COLLECTION}/:webhookId`, 'webhook.delete', {
    summary: 'Delete a webhook',
    description: 'Deletes the webhook. Deliveries that wait are not sent.',
    response: DeletedResponse,
    handler: async ({ trx, params, workspace }) =>
      deleted(await deleteWebhook(trx, workspace.row.id, params.webhookId)),
  }),
];
