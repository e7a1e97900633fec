import { type Static, Type } from 'typebox';
import { plainLine } from '../../../shared/core/plain-text.js';
import { DRAIN_SIGNALS, MAX_HEADERS } from '../../../shared/drains/model.js';
import { MAX_URL_LENGTH } from '../../../shared/webhooks/model.js';
import { described, Name, Nullable, oneOf, PageSchema, Strict, Timestamp, Uuid } from '../../http/schema.js';

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

export const DrainResponse = Strict({ drain: DrainSchema });
export const DrainListResponse = Strict({ drains: Type.Array(DrainSchema), page: PageSchema });

const Headers = Type.Record(
  Type.String({ pattern: '^[A-Za-z0-9_-]{1,64}$' }),
  Type.String({ maxLength: 2048, pattern: '^[!-~]([ -~]*[!-~])?$' }),
  {
    additionalProperties: false,
    maxProperties: MAX_HEADERS,
    description: 'Sent with each request, for example Authorization. Visible ASCII characters',
  },
);

export const CreateDrainBody = Strict({
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
