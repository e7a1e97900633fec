import { type Static, Type } from 'typebox';
import { plainText } from '../../../shared/core/plain-text.js';
import type { RunRow } from '../../../shared/runs/model.js';
import { MAX_COMMAND_LENGTH, RUN_STATUSES, RUN_TRIGGERS } from '../../../shared/runs/model.js';
import { PLAN_IDS } from '../../../shared/services/plan-catalog.js';
import { present } from '../../http/present.js';
import { described, Nullable, oneOf, PageSchema, Strict, Timestamp, Uuid } from '../../http/schema.js';

const RunSchema = Strict(
  {
    id: Uuid,
    status: oneOf('RunStatus', RUN_STATUSES),
    trigger: oneOf('RunTrigger', RUN_TRIGGERS),
    command: Nullable(
      Type.String({ description: "The given command or the pre-deploy command; null for the service's own command" }),
    ),
    deploymentId: described(Uuid, 'The deployment whose image and variables the run uses'),
    plan: Nullable(oneOf('PlanId', PLAN_IDS)),
    timeoutSeconds: Type.Integer({ minimum: 1 }),
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
export const presentRun = (row: RunRow) => present(RunSchema, row);

const given = (minLength: number) => plainText(MAX_COMMAND_LENGTH, { minLength });

export const CommandText = Type.Union([given(1), Type.Array(given(0), { minItems: 1, maxItems: 200 })]);

export const RunBody = Strict({
  command: Type.Optional(described(CommandText, 'A command line for `sh -c`, or a program with its arguments')),
  timeoutSeconds: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: 86_400,
      description: 'By default timeoutSeconds of a cron service, otherwise 3600',
    }),
  ),
  plan: Type.Optional(described(oneOf('PlanId', PLAN_IDS), 'By default the plan of the release')),
});
export type RunInput = Static<typeof RunBody>;

export const RunResponse = Strict({ run: RunSchema });
export const RunListResponse = Strict({ runs: Type.Array(RunSchema), page: PageSchema });
