import { readMetrics } from '../../../shared/metrics/history-store.js';
import { seriesOf } from '../../../shared/metrics/model.js';
import { defineRoute } from '../../http/route.js';
import { readService } from '../services/find-service.js';
import { MetricsQuery, MetricsResponse } from './schema.js';

const USUAL_HOURS = 1;

export const metricRoutes = [
  defineRoute({
    method: 'GET',
    path: '/workspaces/:workspaceId/services/:serviceId/metrics',
    operation: 'metrics.read',
    summary: 'Read metrics',
    description: 'Processor, memory, replicas, requests, latency and bytes of a service, and what its volumes hold.',
    query: MetricsQuery,
    response: MetricsResponse,
    handler: async (request) => {
      const { id } = await readService(request);
      const { step, rows } = await readMetrics(request.db, id, request.query.hours ?? USUAL_HOURS);
      return { metrics: { stepSeconds: step, series: seriesOf(rows) } };
    },
  }),
];
