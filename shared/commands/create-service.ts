import { v7 as uuidv7 } from 'uuid';
import type { Transaction } from '../db/client.js';
import { findWorkspace } from '../db/identity.js';
import type { ServiceRow } from '../db/rows.js';
import { insertService } from '../db/services.js';
import { DEFAULT_CONFIGURATION, type PartialServiceConfiguration } from '../domain/configuration.js';
import type { ServiceKind } from '../domain/service.js';
import { configurationProblems } from '../domain/service-rules.js';
import { workspaceConfiguration } from '../domain/workspace.js';
import { AppError } from '../errors.js';
import type { CommandDeps } from './deps.js';
import { assertRoomForService } from './limits.js';
import { assertPlacement, type Placement } from './placement.js';
import { type DeploymentKey, queueDeployment } from './queue-deployment.js';
import { sealAddress, serviceAddressContext } from './repository-address.js';
import { createVariable } from './variables.js';

export interface CreateServiceInput {
  workspaceId: string;
  actor: string;
  name: string;
  kind: ServiceKind;
  configuration: PartialServiceConfiguration;
  placement: Placement;
  variables: readonly { key: string; value: string }[];
  /** Queue a deployment too; otherwise only configuration is stored. */
  deploy: boolean;
  idempotency: DeploymentKey | null;
  authorize: (facts: { protectedEnvironment: boolean }) => void;
}

/**
 * Stores a service with its variables, and with `deploy` queues its first deployment, all or nothing (specification,
 * Create rules). Where it names no region it gets the workspace's `defaultRegion`. Throws invalid_request, forbidden,
 * capacity_exceeded, and what `queueDeployment` throws.
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
  const address = sealAddress(deps.keyring, configuration.repository, serviceAddressContext(id));
  const service = await insertService(trx, {
    id,
    workspaceId,
    projectId: placement.projectId,
    environmentId: placement.environmentId,
    name: name.trim(),
    kind,
    configuration: { ...configuration, repository: address.repository },
    sealedRepository: address.sealed,
  });
  const owner = { serviceId: service.id };
  for (const [index, { key, value }] of input.variables.entries()) {
    const at = `/variables/${index}`;
    await createVariable(trx, deps, { workspaceId, owner, key, content: { value }, at, authorize });
  }
  if (input.deploy) {
    const { actor, idempotency } = input;
    await queueDeployment(trx, deps, { service, actor, trigger: 'create', idempotency });
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
