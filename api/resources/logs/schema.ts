import { type Static, Type } from 'typebox';
import { LOG_LEVELS, LOG_SOURCES } from '../../../shared/logs/model.js';
import { oneOf, Strict, Timestamp, Uuid } from '../../http/schema.js';

export const LogQuery = Strict({
  after: Type.Optional(Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER })),
  /** The newest lines with a smaller id. Not together with `after`. */
  before: Type.Optional(Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER })),
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 500 })),
  deploymentId: Type.Optional(Uuid),
  source: Type.Optional(oneOf(LOG_SOURCES)),
  search: Type.Optional(Type.String({ maxLength: 200 })),
  /** Not refused but clamped, to at least one and at most the hours that the plan retains. */
  hours: Type.Optional(Type.Integer()),
});

const LogLineSchema = Strict(
  {
    id: Type.Integer(),
    level: oneOf(LOG_LEVELS),
    message: Type.String(),
    source: oneOf(LOG_SOURCES),
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
  /** A search of a very large log has not looked at older lines yet: it goes on with this as `before`. */
  unsearchedBefore: Type.Optional(Type.Integer({ minimum: 1 })),
});
export type LogBatchView = Static<typeof LogResponse>;
