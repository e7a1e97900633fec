import { type Static, Type } from 'typebox';
import { LOG_LEVELS, LOG_SOURCES } from '../../../shared/logs/model.js';
import { described, oneOf, Strict, Timestamp, Uuid } from '../../http/schema.js';

const lineId = (description: string) => Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER, description });

export const LogQuery = Strict({
  after: Type.Optional(lineId('Lines with a larger id, oldest first')),
  before: Type.Optional(lineId('The newest lines with a smaller id; not together with after')),
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 500, description: 'Lines in the answer' })),
  deploymentId: Type.Optional(described(Uuid, 'Lines of this deployment only')),
  runId: Type.Optional(described(Uuid, 'Lines of this run only')),
  source: Type.Optional(described(oneOf('LogSource', LOG_SOURCES), 'Lines of this source only')),
  search: Type.Optional(Type.String({ maxLength: 200, description: 'Lines that contain this text, in any case' })),
  hours: Type.Optional(
    Type.Integer({ description: 'How far back; clamped to at least one and at most the hours that the plan retains' }),
  ),
});

const LogLineSchema = Strict(
  {
    id: Type.Integer(),
    level: oneOf('LogLevel', LOG_LEVELS),
    message: Type.String(),
    runId: Type.Optional(described(Uuid, 'The run that has printed the line; absent from other lines')),
    source: oneOf('LogSource', LOG_SOURCES),
    timestamp: Timestamp,
  },
  'LogLine',
);

export type LogLineView = Static<typeof LogLineSchema>;

export const LogResponse = Strict({
  available: Type.Boolean(),
  cursor: Type.Integer({ minimum: 0 }),
  hasMore: Type.Boolean(),
  items: Type.Array(LogLineSchema),
  limit: Type.Integer({ minimum: 1, maximum: 500 }),
  /** Set if a search ran out of time before it had examined all older lines. The next request passes it as `before`. */
  unsearchedBefore: Type.Optional(Type.Integer({ minimum: 1 })),
});
export type LogBatchView = Static<typeof LogResponse>;
