import { Type } from 'typebox';
import { MAX_HOURS, SERIES_NAMES } from '../../../shared/metrics/model.js';
import { oneOf, Strict, Timestamp } from '../../http/schema.js';

export const MetricsQuery = Strict({
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
