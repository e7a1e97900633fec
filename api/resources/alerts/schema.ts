import { type Static, Type } from 'typebox';
import { ALERT_METRICS, ALERT_STATUSES, MAX_FOR_MINUTES } from '../../../shared/alerts/model.js';
import { MAX_SHOWN_STATES } from '../../../shared/alerts/store.js';
import { Nullable, oneOf, PageSchema, Strict, Timestamp, Uuid } from '../../http/schema.js';

const Metric = oneOf('AlertMetric', ALERT_METRICS);
const FIELDS = {
  above: Type.Number({
    minimum: 0,
    maximum: 30_000,
    description:
      'The threshold: per cent of the plan for cpu and memory, of the answers for errors, of the volume or plan for disk; milliseconds for ' +
      'latency_p99; a number for restarts; for certificate the days that must be left, and fewer of them are the alert',
  }),
  forMinutes: Type.Integer({
    minimum: 1,
    maximum: MAX_FOR_MINUTES,
    description: 'How many minutes the value must be above; restarts are counted within this time',
  }),
};

export const CreateAlertBody = Strict({
  metric: Metric,
  ...FIELDS,
  serviceId: Type.Optional(Type.String({ ...Uuid, description: 'Absent for every service of the workspace' })),
});
export const UpdateAlertBody = Strict({
  above: Type.Optional(FIELDS.above),
  forMinutes: Type.Optional(FIELDS.forMinutes),
});

const StateSchema = Strict(
  {
    serviceId: Uuid,
    serviceName: Type.String(),
    status: oneOf('AlertStatus', ALERT_STATUSES),
    value: Nullable(Type.Number({ description: 'The last measured value, in the unit of above' })),
    since: Nullable(
      Type.String({
        ...Timestamp,
        description: 'When the status began; if it is firing, when the value began to be above',
      }),
    ),
  },
  'AlertState',
);

const AlertSchema = Strict(
  {
    id: Uuid,
    metric: Metric,
    above: Type.Number(),
    forMinutes: Type.Integer(),
    serviceId: Nullable(Type.String({ ...Uuid, description: 'Null for every service of the workspace' })),
    createdAt: Timestamp,
    states: Type.Array(StateSchema, {
      description: `One for each service, from the minute after the rule was made; the first ${MAX_SHOWN_STATES}, those that fire first`,
    }),
  },
  'Alert',
);
export type AlertPresentation = Static<typeof AlertSchema>;
export const AlertResponse = Strict({ alert: AlertSchema });
export const AlertListResponse = Strict({ alerts: Type.Array(AlertSchema), page: PageSchema });
