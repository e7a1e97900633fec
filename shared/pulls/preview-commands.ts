import { v7 as uuidv7 } from 'uuid';
import { noveltyOf } from '../commits/model.js';
import { knownCommits } from '../commits/store.js';
import type { Transaction } from '../core/database/database-client.js';
import { AppError, conflict } from '../core/error-registry.js';
import { queueDeployment } from '../deployments/commands.js';
import type { DeploymentTrigger } from '../deployments/model.js';
import type { DeploymentRow } from '../deployments/rows.js';
import type { DeploymentKey } from '../deployments/store.js';
import { previewConfiguration, previewName, previewRefusal } from '../previews/model.js';
import { openPullsOfBranch } from '../previews/pull-store.js';
import { insertPreview, linkPull, previewOfBranch } from '../previews/store.js';
import type { CommandDeps } from '../secrets/command-deps.js';
import { SEALED } from '../secrets/sealed-columns.js';
import { insertService } from '../services/insert-service.js';
import { resealAddress } from '../services/repository-address.js';
import { reservedSlugs } from '../services/reserved-slugs.js';
import { lockService, lockServiceView, type ServiceView } from '../services/store.js';
import type { ResolveInput } from '../variables/resolve-variables.js';
import { workspaceOf } from '../workspaces/store.js';
import { assertRoomFor, assertRoomForService } from '../workspaces/workspace-limits.js';

export interface CreatePreviewInput {
  /** The preview's base service, which the caller must have locked. */
  base: ServiceView;
  branch: string;
  /** A fork's commit is deployed without variables, and only after a member has approved the commit. */
  pull?: { number: number; fork: boolean };
  commitSha?: string;
  /** The id of the first deployment; a new one is generated if absent. */
  deploymentId?: string;
  actor: string;
  trigger: DeploymentTrigger;
  idempotency?: DeploymentKey | null;
  authorize: ResolveInput['authorize'];
}

/**
 * Creates a preview of a branch, and queues and returns its first deployment. Throws conflict if the base service
 * cannot have the preview or already has it, service_archived, capacity_exceeded, and errors of `queueDeployment`.
 */
export async function createPreview(
  trx: Transaction,
  deps: CommandDeps,
  input: CreatePreviewInput,
): Promise<DeploymentRow> {
  const { base, branch, pull, commitSha, deploymentId, actor, trigger, idempotency, authorize } = input;
  const fork = pull?.fork ?? false;
  if (base.lifecycle_status === 'deleting') throw conflict('The service is being deleted');
  if (base.archived) throw new AppError('service_archived');
  const refusal = previewRefusal({ ...base, isPreview: base.preview_of !== null }, fork ? 'a fork' : branch);
  if (refusal !== null) throw conflict(refusal);
  const existing = await previewOfBranch(trx, base.id, branch);
  if (existing) {
    throw conflict(
      `The branch ${branch} has a preview already, ${existing.service_id}; deploy that one, or delete it and wait until it is gone`,
    );
  }
  const workspace = await workspaceOf(trx, base.workspace_id);
  await assertRoomFor(trx, 'previews', base.id);
  await assertRoomFor(trx, 'workspacePreviews', workspace.id);
  await assertRoomForService(trx, workspace);

  const id = uuidv7();
  const { workspace_id, project_id, environment_id, kind } = base;
  const preview = {
    id,
    workspace_id,
    project_id,
    environment_id,
    kind,
    name: previewName(base.name, fork ? `pull ${pull?.number}` : branch),
    configuration: previewConfiguration(base.configuration, { branch, fork }),
    sealed_repository: resealAddress(deps.keyring, { from: SEALED.repository, row: base, to: SEALED.repository, id }),
  };
  const service = await insertService(trx, preview, reservedSlugs(deps.config.reservedSlugs));
  await insertPreview(trx, { service_id: id, base_id: base.id, branch, pull_number: pull?.number ?? null, fork });
  const deployment = { id: deploymentId, commitSha, actor, trigger, idempotency, authorize };
  return queueDeployment(trx, deps, { service, ...deployment });
}

export interface BranchInput extends Pick<CreatePreviewInput, 'actor' | 'authorize' | 'deploymentId'> {
  workspaceId: string;
  baseId: string;
  branch: string;
  commitSha: string;
  pullNumber?: number;
  again?: boolean;
}

/**
 * Deploys a new commit to its branch's preview, which it creates if previews are automatic. Returns null if there is no
 * preview, or if the commit is already deployed. Must not be called for a fork's commit: its author is not trusted, and
 * the preview would get secrets. Throws errors of `createPreview`.
 */
export async function previewForBranch(
  trx: Transaction,
  deps: CommandDeps,
  { workspaceId, baseId, pullNumber, again = false, ...rest }: BranchInput,
): Promise<DeploymentRow | null> {
  const { branch, commitSha, deploymentId, actor, authorize } = rest;
  const base = await lockServiceView(trx, workspaceId, baseId);
  if (!base) return null;
  const existing = await previewOfBranch(trx, base.id, branch);
  if (existing) {
    if (pullNumber !== undefined) await linkPull(trx, existing.service_id, pullNumber);
    const service = await lockService(trx, existing.service_id);
    if (!service || service.lifecycle_status === 'deleting') {
      throw conflict(`an earlier preview of ${branch} is being deleted`);
    }
    const known = await knownCommits(trx, existing.service_id, branch);
    if (!again && noveltyOf(commitSha, known) === 'known') return null;
    const deployment = { id: deploymentId, branch, commitSha, actor, trigger: 'commit' as const, authorize };
    return queueDeployment(trx, deps, { service: { id: existing.service_id }, ...deployment });
  }
  if (base.configuration.previewMode !== 'automatic') return null;
  if (previewRefusal({ ...base, isPreview: base.preview_of !== null }, branch) !== null) return null;
  const open = await openPullsOfBranch(trx, base.id, branch);
  const number = pullNumber ?? open?.at(-1);
  if (open !== null && number === undefined) return null;
  const pull = number === undefined ? {} : { pull: { number, fork: false } };
  return createPreview(trx, deps, { base, trigger: 'commit', ...rest, ...pull });
}

/** Throws conflict if the service is a preview. `what` completes the message, which names the base service. */
export function assertNoPreview({ preview_of }: Pick<ServiceView, 'preview_of'>, what: string): void {
  if (preview_of === null) return;
  throw conflict(
    `The service is a preview and has ${what} of its service; change the service ${preview_of} and deploy the preview again`,
  );
}
