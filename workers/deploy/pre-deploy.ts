import { setTimeout as delay } from 'node:timers/promises';
import { v7 as uuidv7 } from 'uuid';
import { type Db, oneRow } from '../../shared/core/database/database-client.js';
import type { DeploymentRow } from '../../shared/deployments/rows.js';
import type { Lease } from '../../shared/engine/leases.js';
import { cancelOpenRuns, findRun } from '../../shared/runs/store.js';
import type { JobHelpers } from '../engine/job-helpers.js';
import { perform } from '../engine/perform-record.js';
import { ReleaseError } from '../failures/explained-errors.js';
import { Interrupted } from '../failures/interruption-errors.js';
import { runHandler } from '../runs/perform-run.js';
import type { JobDeps } from '../worker-deps.js';
import type { DeploymentRun } from './deployment-run.js';

const TIMEOUT_SECONDS = 30 * 60;
const TAKE_BACK_MS = 250;

/** Runs a deployment's pre-deploy command, or continues its run. Throws `ReleaseError` if the run fails. */
export async function runPreDeploy({ deps, deployment, signal, channel, helpers }: DeploymentRun, command: string) {
  await channel.flush();
  const id = await ensureRun(deps.db, deployment, command);
  for (;;) {
    await perform(deps, runHandler(deps), id, helpers);
    signal.throwIfAborted();
    const run = await findRun(deps.db, deployment.service_id, id);
    if (run?.status === 'succeeded') return;
    if (run?.status === 'cancelled') throw new ReleaseError(`the pre-deploy command was cancelled (run ${id})`);
    if (run?.finished_at !== null)
      throw new ReleaseError(run?.error ?? `the run ${id} of the pre-deploy command is gone`);
    await delay(TAKE_BACK_MS, undefined, { signal }).catch(() => undefined);
    signal.throwIfAborted();
  }
}

/** Cancels the unfinished pre-deploy run of a failed or cancelled deployment, and stops its command. */
export async function endPreDeploy(deps: JobDeps, deployment: DeploymentRow, helpers: JobHelpers): Promise<void> {
  const { id: deploymentId, service_id: serviceId } = deployment;
  const which = { serviceId, deploymentId, trigger: 'deployment' } as const;
  if ((await deps.db.transaction((trx) => cancelOpenRuns(trx, which))) === 0) return;
  const run = await oneRow<{ id: string }>(
    deps.db,
    `select id from runs where deployment_id = :deploymentId and trigger = 'deployment' and finished_at is null`,
    { deploymentId },
  );
  const { signal } = new AbortController();
  if (run !== null) await perform(deps, runHandler(deps), run.id, { ...helpers, signal });
}

/**
 * Returns the id of the deployment's run, which is created if it is missing. Throws `Interrupted` if the deployment has
 * ended or another worker has taken it over.
 */
async function ensureRun(db: Db, { id: deploymentId, fence }: Lease, command: string): Promise<string> {
  const row = await oneRow<{ id: string | null }>(
    db,
    `with known as (
       select coalesce((select id from runs where deployment_id = :deploymentId and trigger = 'deployment'), :newId) as id
     ), held as (
       update deployments d
          set steps = jsonb_set(steps, array[cast(jsonb_array_length(steps) - 1 as text), 'runId'], to_jsonb(known.id))
         from known
        where d.id = :deploymentId and d.fence = :fence and d.finished_at is null
       returning d.*
     ), stored as (
       insert into runs (id, workspace_id, service_id, deployment_id, trigger, actor, command, max_retries, timeout_seconds,
                         scheduled_at, admitted_at)
       select known.id, held.workspace_id, held.service_id, held.id, 'deployment', held.actor, :command, 0, ${TIMEOUT_SECONDS},
              now(), now()
         from held, known
       on conflict do nothing
     )
     select known.id from known, held`,
    { deploymentId, fence, command, newId: uuidv7() },
  );
  if (row?.id == null) throw new Interrupted('superseded');
  return row.id;
}
