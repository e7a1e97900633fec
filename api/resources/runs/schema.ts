import { type Static, Type } from 'typebox';
import { plainText } from '../../../shared/core/plain-text.js';
import { MAX_COMMAND_LENGTH, RUN_STATUSES, RUN_TRIGGERS } from '../../../shared/runs/model.js';
import { PLAN_IDS } from '../../../shared/services/catalog.js';
import { Nullable, oneOf, PageSchema, Strict, Timestamp, Uuid } from '../../http/schema.js';

const RunSchema = Strict(
  {
    id: Uuid,
    status: oneOf(RUN_STATUSES),
    trigger: oneOf(RUN_TRIGGERS),
    /** What somebody gave, or the pre-deploy command; null if it is the service's own. */
    command: Nullable(Type.String()),
    /** The release whose image and variables it has. */
    deploymentId: Uuid,
    /** Null if it is that of the release. */
    plan: Nullable(Type.String()),
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

const given = (minLength: number) => plainText(MAX_COMMAND_LENGTH, { minLength });

export const RunBody = Strict({
  /** A command line for `sh -c`, or a program with its arguments. Only a service of kind `cron` has a command of its own to run. */
  command: Type.Optional(Type.Union([given(1), Type.Array(given(0), { minItems: 1, maxItems: 200 })])),
  /** By default that of a cron service's configuration, else an hour. */
  timeoutSeconds: Type.Optional(Type.Integer({ minimum: 1, maximum: 86_400 })),
  /** By default that of the release. */
  plan: Type.Optional(oneOf(PLAN_IDS)),
});
export type RunInput = Static<typeof RunBody>;

export const RunResponse = Strict({ run: RunSchema });
export const RunListResponse = Strict({ runs: Type.Array(RunSchema), page: PageSchema });
