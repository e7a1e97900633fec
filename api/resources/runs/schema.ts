import { type Static, Type } from 'typebox';
import { RUN_STATUSES, RUN_TRIGGERS } from '../../../shared/runs/model.js';
import { Nullable, oneOf, PageSchema, Strict, Timestamp, Uuid } from '../../http/schema.js';

const RunSchema = Strict(
  {
    id: Uuid,
    status: oneOf('RunStatus', RUN_STATUSES),
    trigger: oneOf('RunTrigger', RUN_TRIGGERS),
    attempt: Type.Integer({ minimum: 1 }),
    scheduledAt: Timestamp,
    startedAt: Nullable(Timestamp),
    finishedAt: Nullable(Timestamp),
    exitCode: Nullable(Type.Integer()),
    error: Type.String(),
  },
  'Run',
);
export type RunView = Static<typeof RunSchema>;

export const RunResponse = Strict({ run: RunSchema });
export const RunListResponse = Strict({ runs: Type.Array(RunSchema), page: PageSchema });
