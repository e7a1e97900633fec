import { Type } from 'typebox';
import { readMetrics } from '../../../shared/metrics/history-store.js';
import { MAX_HOURS, SERIES_NAMES, seriesOf } from '../../../shared/metrics/model.js';
import { defineRoute } from '../../http/route.js';
import { oneOf, Strict, Timestamp } from '../../http/schema.js';
import { readService } from '../services/find-service.js';

const MetricsQuery = Strict({
  hours: Type.Optional(Type.Integer({ minimum: 1, maximum: MAX_HOURS, description: 'How far back the series reach' })),
});

/** A timestamp and a value. Not Type.Tuple, which uses an older version of JSON Schema than OpenAPI 3.1. */
const Point = Type.Unsafe<[string, number]>({
  type: 'array',
  prefixItems: [Timestamp, Type.Number()],
  // Some OpenAPI linters require `items`. maxItems prevents further items.
  items: {},
  minItems: 2,
  maxItems: 2,
});

const SeriesSchema = Strict(
  {
    name: oneOf('MetricName', SERIES_NAMES),
    unit: Type.String(),
    points: Type.Array(Point),
  },
  'MetricSeries',
);

export const MetricsResponse = Strict({
  metrics: Strict({ stepSeconds: Type.Integer({ minimum: 1 }), series: Type.Array(SeriesSchema) }),
});

const USUAL_HOURS = 1;

export const metricRoutes = [
  defineRoute('GET', '/workspaces/:workspaceId/services/:serviceId/metrics', 'metrics.read', {
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
