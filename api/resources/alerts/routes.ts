import { type Static, Type } from 'typebox';
import { ALERT_METRICS, ALERT_STATUSES, MAX_FOR_MINUTES } from '../../../shared/alerts/model.js';
import {
  type AlertView,
  createAlert,
  deleteAlert,
  findAlert,
  listAlerts,
  MAX_SHOWN_STATES,
  updateAlert,
} from '../../../shared/alerts/store.js';
import { deleted, found } from '../../http/assertions.js';
import { pageRequest, presentPage } from '../../http/pagination.js';
import { present } from '../../http/present.js';
import { defineRoute } from '../../http/route.js';
import { DeletedResponse, Nullable, oneOf, PageQuery, PageSchema, Strict, Timestamp, Uuid } from '../../http/schema.js';

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

const CreateAlertBody = Strict({
  metric: Metric,
  ...FIELDS,
  serviceId: Type.Optional(Type.String({ ...Uuid, description: 'Absent for every service of the workspace' })),
});
const UpdateAlertBody = Strict({
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
const AlertResponse = Strict({ alert: AlertSchema });
const AlertListResponse = Strict({ alerts: Type.Array(AlertSchema), page: PageSchema });

const COLLECTION = '/workspaces/:workspaceId/alerts';
const ONE = '/workspaces/:workspaceId/alerts/:alertId';

function presentAlert(row: AlertView) {
  const states = row.states.map(({ since, value, ...state }) =>
    present(StateSchema, state, {
      value: value === null ? null : Math.round(value * 100) / 100,
      since: since === null ? null : new Date(since).toISOString(),
    }),
  );
  return present(AlertSchema, row, { states });
}

/** Alert rules, which notify when a metric passes a threshold. `workers/alerts` evaluates them every minute. */
export const alertRoutes = [
  defineRoute('GET', COLLECTION, 'alert.list', {
    summary: 'List alert rules',
    description: "The workspace's alert rules, newest first, with their state for each service.",
    query: PageQuery,
    response: AlertListResponse,
    handler: async (request) => {
      const page = await listAlerts(request.db, request.workspace.row.id, pageRequest(request));
      return { alerts: page.items.map(presentAlert), page: presentPage(request, page) };
    },
  }),
  defineRoute('POST', COLLECTION, 'alert.create', {
    summary: 'Create an alert rule',
    description:
      'Webhooks with the events alert.firing and alert.resolved get a message when the value was above for forMinutes, and when it is back to normal; the notificationEmail of the workspace gets a mail.',
    errors: ['capacity_exceeded'],
    body: CreateAlertBody,
    example: { metric: 'errors', above: 5, forMinutes: 5 },
    status: 201,
    response: AlertResponse,
    handler: async ({ trx, params: { workspaceId }, body }) => {
      const { serviceId = null, ...rule } = body;
      return { alert: presentAlert(await createAlert(trx, { workspaceId, serviceId, ...rule })) };
    },
  }),
  defineRoute('GET', ONE, 'alert.read', {
    summary: 'Read an alert rule',
    description: 'The rule, with its state for each service.',
    response: AlertResponse,
    handler: async ({ db, params }) => ({
      alert: presentAlert(found(await findAlert(db, params.workspaceId, params.alertId))),
    }),
  }),
  defineRoute('PATCH', ONE, 'alert.update', {
    summary: 'Change an alert rule',
    description:
      'Changes above and forMinutes. What fires goes on firing until the value is not above the new threshold.',
    body: UpdateAlertBody,
    example: { above: 10 },
    response: AlertResponse,
    handler: async ({ trx, params, body }) => ({
      alert: presentAlert(found(await updateAlert(trx, params.workspaceId, params.alertId, body))),
    }),
  }),
  defineRoute('DELETE', ONE, 'alert.delete', {
    summary: 'Delete an alert rule',
    description: 'Deletes the rule. Nothing is sent, even if it fires.',
    response: DeletedResponse,
    handler: async ({ trx, params }) => deleted(await deleteAlert(trx, params.workspaceId, params.alertId)),
  }),
];
