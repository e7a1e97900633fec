import { type ImageReference, parseImage } from '../../../shared/images/image-reference.js';
import type { Accounts, RegistryAccount } from '../../docker/registry-accounts.js';
import { BuildError } from '../../failures/explained-errors.js';
import type { BuildRequest } from '../builder.js';

/** Finds the credentials of a workspace's registry; null if there is no such registry. */
export type FindAccount = (workspaceId: string, registryId: string) => Promise<RegistryAccount | null>;

/**
 * Returns the credentials of the configured registry, keyed by its host; empty if none is configured. Throws
 * `BuildError` if the workspace has no such registry.
 */
export async function accountsOf(
  { workspaceId, configuration }: BuildRequest,
  findAccount: FindAccount,
): Promise<Accounts> {
  if (configuration.registryId === '') return new Map();
  const account = await findAccount(workspaceId, configuration.registryId);
  if (account === null)
    throw new BuildError('registryId names no registry of the workspace; name an existing one, or none');
  return new Map([[account.serveraddress, account]]);
}

/** Returns the configured image, and `pinned`, its name with the deployment's digest. Throws `BuildError`. */
export function requestedImage({ configuration, commitSha }: Pick<BuildRequest, 'configuration' | 'commitSha'>): {
  image: ImageReference;
  pinned: string;
} {
  const image = parseImage(configuration.image);
  if (image === null || !/^[0-9a-f]{64}$/.test(commitSha))
    throw new BuildError(`"${configuration.image}" is not the name of an image; correct configuration.image`);
  return { image, pinned: `${image.name}@sha256:${commitSha}` };
}
