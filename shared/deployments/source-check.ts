import { anyRow, type Transaction } from '../core/database/database-client.js';
import { AppError } from '../core/error-registry.js';
import { assertDataService } from '../data/commands.js';
import { imageProblem, parseImage } from '../images/image-reference.js';
import { findRegistry } from '../images/registries.js';
import type { CommandDeps } from '../secrets/command-deps.js';
import type { ServiceConfiguration } from '../services/configuration.js';
import { isDataKind } from '../services/model.js';
import type { ServiceRow } from '../services/rows.js';
import { isImageSource, isPushSource, repositoryProblem } from '../services/service-source.js';

/**
 * Throws source_invalid if the service cannot be deployed from the source in this configuration. For a database, throws
 * conflict if the configuration does not fit the data.
 */
export async function assertSource(
  trx: Transaction,
  deps: CommandDeps,
  service: ServiceRow,
  configuration: ServiceConfiguration,
  commitSha?: string,
): Promise<void> {
  if (isDataKind(service.kind)) return assertDataService(trx, deps, service, configuration);
  const isImage = isImageSource(configuration);
  const registry = await registryOf(trx, service, configuration);
  if (isImage) return assertImage(deps, configuration, registry);
  if (isPushSource(configuration)) {
    if (commitSha !== undefined || (await wasPushed(trx, service.id))) return;
    throw invalidSource(
      'sourceType',
      `nothing was pushed yet; push a commit to the branch ${configuration.branch} first`,
    );
  }
  const problem = repositoryProblem(configuration.repository, deps.config.allowLocalRepositories);
  if (problem) throw invalidSource('repository', problem);
}

async function registryOf(
  trx: Transaction,
  service: ServiceRow,
  { registryId }: ServiceConfiguration,
): Promise<string | null> {
  if (registryId === '') return null;
  const registry = await findRegistry(trx, service.workspace_id, registryId);
  if (!registry) throw invalidSource('registryId', 'does not name a registry of this workspace');
  return registry.server;
}

function assertImage({ config }: CommandDeps, { image }: ServiceConfiguration, registry: string | null): void {
  const reference = parseImage(image);
  const policy = { allowLocal: config.allowLocalRepositories, ownPrefix: null };
  const problem = imageProblem(image, policy, registry !== null && registry === reference?.registry);
  if (problem) throw invalidSource('image', problem);
  if (registry !== null && registry !== reference?.registry) {
    throw invalidSource('registryId', `is for ${registry}, but the image is at ${reference?.registry}`);
  }
}

function invalidSource(field: keyof ServiceConfiguration, message: string): AppError {
  return new AppError('source_invalid', undefined, [{ path: `configuration.${field}`, message }]);
}

/** A preview is built from the repository of its base service. */
function wasPushed(trx: Transaction, serviceId: string): Promise<boolean> {
  return anyRow(
    trx,
    `select from pushed_repositories where pushed_at is not null
        and service_id = coalesce((select base_id from previews where service_id = :serviceId), :serviceId)`,
    { serviceId },
  );
}
