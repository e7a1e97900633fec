import {
  type AlertView,
  createAlert,
  deleteAlert,
  findAlert,
  listAlerts,
  updateAlert,
} from '../../../shared/alerts/store.js';
import { AppError } from '../../../shared/core/error-registry.js';
import { found } from '../../http/assertions.js';
import { pageRequest, presentPage } from '../../http/pagination.js';
import { defineRoute } from '../../http/route.js';
import { DeletedResponse, PageQuery } from '../../http/schema.js';
import {
  AlertListResponse,
  type AlertPresentation,
  AlertResponse,
  CreateAlertBody,
  UpdateAlertBody,
} from './schema.js';

const COLLECTION = '/workspaces/:workspaceId/alerts';
const ONE = '/workspaces/:workspaceId/alerts/:alertId';

function presentAlert(row: AlertView): AlertPresentation {
  return {
    id: row.id,
    metric: row.metric,
    above: row.above,
    forMinutes: row.for_minutes,
    serviceId: row.service_id,
    createdAt: row.created_at.toISOString(),
    states: row.states.map(({ service_id: serviceId, service_name: serviceName, status, value, since }) => ({
      serviceId,
      serviceName,
      status,
      value: value === null ? null : Math.round(value * 100) / 100,
      since: since === null ? null : new Date(since).toISOString(),
    })),
  };
}

/**
 * Alert rules, which notify a workspace when metrics of its services exceed thresholds. `workers/alerts` evaluates them
 * every minute.
 */
export const alertRoutes = [
  defineRoute({
    method: 'GET',
    path: COLLECTION,
    operation: 'alert.list',
    summary: 'List alert rules',
    description: "The workspace's alert rules, newest first, with their state for each service.",
    query: PageQuery,
    response: AlertListResponse,
    handler: async (request) => {
      const page = await listAlerts(request.db, request.workspace.row.id, pageRequest(request));
      return { alerts: page.items.map(presentAlert), page: presentPage(request, page) };
    },
  }),
  defineRoute({
    method: 'POST',
    path: COLLECTION,
    operation: 'alert.create',
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
  defineRoute({
    method: 'GET',
    path: ONE,
    operation: 'alert.read',
    summary: 'Read an alert rule',
    description: 'The rule, with its state for each service.',
    response: AlertResponse,
    handler: async ({ db, params }) => ({
      alert: presentAlert(found(await findAlert(db, params.workspaceId, params.alertId))),
    }),
  }),
  defineRoute({
    method: 'PATCH',
    path: ONE,
    operation: 'alert.update',
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
  defineRoute({
    method: 'DELETE',
    path: ONE,
    operation: 'alert.delete',
    summary: 'Delete an alert rule',
    description: 'Deletes the rule. Nothing is sent, even if it fires.',
    response: DeletedResponse,
    handler: async ({ trx, params }) => {
      if (!(await deleteAlert(trx, params.workspaceId, params.alertId))) throw new AppError('not_found');
      return { deleted: true } as const;
    },
  }),
];
