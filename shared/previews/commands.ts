import { v7 as uuidv7 } from 'uuid';
import type { Transaction } from '../core/database/client.js';
import { AppError } from '../core/errors.js';
import { type DeploymentKey, queueDeployment } from '../deployments/commands.js';
import type { DeploymentTrigger } from '../deployments/model.js';
import type { DeploymentRow } from '../deployments/rows.js';
import type { CommandDeps } from '../secrets/command-deps.js';
import { insertService } from '../services/insert-service.js';
import { copyAddress } from '../services/repository-address.js';
import { reservedSlugs } from '../services/reserved-slugs.js';
import { lockServiceView, type ServiceView } from '../services/store.js';
import type { ResolveInput } from '../variables/resolve.js';
import { assertRoomFor, assertRoomForService } from '../workspaces/limits.js';
import { findWorkspace } from '../workspaces/store.js';
import { previewConfiguration, previewName, previewRefusal } from './model.js';
import { insertPreview, previewOfBranch } from './store.js';

export interface CreatePreviewInput {
  /** The service whose branch is shown. It is locked. */
  base: ServiceView;
  branch: string;
  commitSha?: string;
  actor: string;
  trigger: DeploymentTrigger;
  idempotency?: DeploymentKey | null;
  authorize: ResolveInput['authorize'];
}

/**
 * Makes a preview of a branch, a service of its own beside its base, and queues its first deployment. Returns the
 * deployment, which names the service. Throws conflict if the service has no such preview or has it already, service_archived,
 * capacity_exceeded, and what `queueDeployment` throws.
 */
export async function createPreview(
  trx: Transaction,
  deps: CommandDeps,
  input: CreatePreviewInput,
): Promise<DeploymentRow> {
  const { base, branch, commitSha, actor, trigger, idempotency, authorize } = input;
  if (base.lifecycle_status === 'deleting') throw new AppError('conflict', 'The service is being deleted');
  if (base.archived) throw new AppError('service_archived');
  const refusal = previewRefusal({ ...base, isPreview: base.preview_of !== null }, branch);
  if (refusal !== null) throw new AppError('conflict', refusal);
  const existing = await previewOfBranch(trx, base.id, branch);
  if (existing) {
    throw new AppError(
      'conflict',
      `The branch ${branch} has a preview already, ${existing.service_id}; deploy that one, or delete it and wait until it is gone`,
    );
  }
  const workspace = await findWorkspace(trx, base.workspace_id);
  if (!workspace) throw new AppError('not_found');
  await assertRoomFor(trx, 'previews', base.id);
  await assertRoomForService(trx, workspace);

  const id = uuidv7();
  const service = await insertService(trx, {
    id,
    workspaceId: base.workspace_id,
    projectId: base.project_id,
    environmentId: base.environment_id,
    name: previewName(base.name, branch),
    kind: base.kind,
    configuration: previewConfiguration(base.configuration, branch),
    sealedRepository: copyAddress(deps.keyring, base, id),
    reservedSlugs: reservedSlugs(deps.config.reservedSlugs),
  });
  await insertPreview(trx, { serviceId: id, baseId: base.id, branch });
  const deployment = { service, actor, trigger, authorize, idempotency: idempotency ?? null };
  return queueDeployment(trx, deps, commitSha === undefined ? deployment : { ...deployment, commitSha });
}

export interface BranchInput extends Pick<CreatePreviewInput, 'actor' | 'authorize'> {
  workspaceId: string;
  baseId: string;
  branch: string;
  commitSha: string;
}

/**
 * Deploys a new commit of a branch to its preview, and makes the preview under `previewMode: automatic`. Returns null if the
 * branch has none and gets none. For what learns of commits: hooks and polling. It must not be called for commits of
 * a fork, because its author is not trusted: a preview has the secrets of its scope. Throws what `createPreview` throws.
 */
export async function previewForBranch(
  trx: Transaction,
  deps: CommandDeps,
  { workspaceId, baseId, branch, ...rest }: BranchInput,
): Promise<DeploymentRow | null> {
  const base = await lockServiceView(trx, workspaceId, baseId);
  if (!base) return null;
  const existing = await previewOfBranch(trx, base.id, branch);
  if (existing) return queueDeployment(trx, deps, { service: { id: existing.service_id }, trigger: 'commit', ...rest });
  if (base.configuration.previewMode !== 'automatic') return null;
  const refused = previewRefusal({ ...base, isPreview: base.preview_of !== null }, branch) !== null;
  return refused ? null : createPreview(trx, deps, { base, branch, trigger: 'commit', ...rest });
}

/** Throws conflict for a preview: what is asked for belongs to its service. `what` completes the message. */
export function assertNoPreview({ preview_of }: Pick<ServiceView, 'preview_of'>, what: string): void {
  if (preview_of === null) return;
  throw new AppError(
    'conflict',
    `The service is a preview and has ${what} of its service; change the service ${preview_of} and deploy the preview again`,
  );
}
