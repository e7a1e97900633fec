import { v7 as uuidv7 } from 'uuid';
import type { Transaction } from '../../../shared/core/database/database-client.js';
import { AppError } from '../../../shared/core/error-registry.js';
import { queueDeployment } from '../../../shared/deployments/commands.js';
import type { DeploymentKey } from '../../../shared/deployments/store.js';
import type { CommandDeps } from '../../../shared/secrets/command-deps.js';
import {
  configurationProblems,
  DEFAULT_CONFIGURATION,
  type PartialServiceConfiguration,
} from '../../../shared/services/configuration.js';
import { insertService } from '../../../shared/services/insert-service.js';
import type { ServiceKind } from '../../../shared/services/model.js';
import { sealAddress } from '../../../shared/services/repository-address.js';
import { reservedSlugs } from '../../../shared/services/reserved-slugs.js';
import type { ServiceRow } from '../../../shared/services/rows.js';
import { workspaceConfiguration } from '../../../shared/workspaces/model.js';
import { findWorkspace } from '../../../shared/workspaces/store.js';
import { assertRoomForService } from '../../../shared/workspaces/workspace-limits.js';
import { createVariable } from '../variables/commands.js';
import { assertPlacement, type Placement } from './placement.js';

export interface CreateServiceInput {
  workspaceId: string;
  actor: string;
  name: string;
  kind: ServiceKind;
  configuration: PartialServiceConfiguration;
  placement: Placement;
  variables: readonly { key: string; value: string }[];
  /** True to queue a deployment too. Otherwise only the configuration is stored. */
  deploy: boolean;
  idempotency: DeploymentKey | null;
  authorize: (facts: { protectedEnvironment: boolean }) => void;
}

/**
 * Stores a service with its variables and, with `deploy`, its first deployment, in one transaction (specification,
 * Create rules).
 * The region defaults to the workspace's `defaultRegion`. Throws invalid_request, forbidden, capacity_exceeded, and
 * what `queueDeployment` throws.
 */
export async function createService(
  trx: Transaction,
  deps: CommandDeps,
  input: CreateServiceInput,
): Promise<ServiceRow> {
  const { workspaceId, name, kind, placement, authorize } = input;
  const workspace = await findWorkspace(trx, workspaceId);
  if (!workspace) throw new AppError('not_found');
  const { defaultRegion } = workspaceConfiguration(workspace.configuration);
  const configuration = { ...DEFAULT_CONFIGURATION, region: defaultRegion, ...input.configuration };
  const problems = [...configurationProblems(kind, configuration), ...duplicateKeys(input.variables)];
  if (problems.length > 0) throw new AppError('invalid_request', undefined, problems);
  await assertPlacement(trx, workspaceId, placement, authorize);
  await assertRoomForService(trx, workspace);

  const id = uuidv7();
  const address = sealAddress(deps.keyring, configuration.repository, id);
  const row = {
    id,
    workspace_id: workspaceId,
    project_id: placement.projectId,
    environment_id: placement.environmentId,
    name: name.trim(),
    kind,
    configuration: { ...configuration, repository: address.repository },
    sealed_repository: address.sealed,
  };
  const service = await insertService(trx, row, reservedSlugs(deps.config.reservedSlugs));
  const owner = { serviceId: service.id };
  for (const [index, { key, value }] of input.variables.entries()) {
    const at = `/variables/${index}`;
    await createVariable(trx, deps, { workspaceId, owner, key, content: { value }, at, authorize });
  }
  if (input.deploy) {
    const { actor, idempotency } = input;
    await queueDeployment(trx, deps, { service, actor, trigger: 'create', idempotency, authorize });
  }
  return service;
}

function duplicateKeys(variables: CreateServiceInput['variables']) {
  return variables.flatMap(({ key }, index) =>
    variables.findIndex((other) => other.key === key) === index
      ? []
      : [{ path: `/variables/${index}/key`, message: `${key} is given twice` }],
  );
}
