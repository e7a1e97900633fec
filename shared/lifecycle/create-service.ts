import { v7 as uuidv7 } from 'uuid';
import type { Transaction } from '../core/database/database-client.js';
import { AppError } from '../core/error-registry.js';
import { queueDeployment } from '../deployments/commands.js';
import type { DeploymentKey } from '../deployments/store.js';
import { assertPlacement, type Placement } from '../environments/placement.js';
import type { CommandDeps } from '../secrets/command-deps.js';
import {
  configurationProblems,
  DEFAULT_CONFIGURATION,
  type PartialServiceConfiguration,
} from '../services/configuration.js';
import { insertService } from '../services/insert-service.js';
import type { ServiceKind } from '../services/model.js';
import { sealAddress } from '../services/repository-address.js';
import { reservedSlugs } from '../services/reserved-slugs.js';
import type { ServiceRow } from '../services/rows.js';
import { createVariable } from '../variables/commands.js';
import { workspaceConfiguration } from '../workspaces/model.js';
import { findWorkspace } from '../workspaces/store.js';
import { assertRoomForService } from '../workspaces/workspace-limits.js';

export interface CreateServiceInput {
  workspaceId: string;
  actor: string;
  name: string;
  kind: ServiceKind;
  configuration: PartialServiceConfiguration;
  placement: Placement;
  variables: readonly { key: string; value: string }[];
  deploy: boolean;
  idempotency: DeploymentKey | null;
  authorize: (facts: { protectedEnvironment: boolean }) => void;
}

/**
 * Creates a service with its variables (specification, Create rules). With `deploy`, queues its first deployment.
 * Throws not_found, invalid_request, forbidden, capacity_exceeded, and errors of `queueDeployment`.
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
