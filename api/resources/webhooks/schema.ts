import { type Static, Type } from 'typebox';
import { plainLine } from '../../../shared/core/plain-text.js';
import { MAX_URL_LENGTH, WEBHOOK_EVENTS, WEBHOOK_FORMATS } from '../../../shared/webhooks/model.js';
import { described, Nullable, oneOf, PageSchema, Strict, Timestamp, Uuid } from '../../http/schema.js';

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
export type WebhookView = Static<typeof WebhookSchema>;

export const WebhookListResponse = Strict({ webhooks: Type.Array(WebhookSchema), page: PageSchema });
export const CreateWebhookBody = Strict({
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
export const CreatedWebhookResponse = Strict({ webhook: Strict({ ...FIELDS, secret: Type.String() }) });
