import { type ImagePolicy, imageProblem, parseImage } from '../../shared/images/image-reference.js';
import type { ServiceConfiguration } from '../../shared/services/configuration.js';
import { isImageSource, isPushSource, repositoryProblem } from '../../shared/services/service-source.js';
import { givenAddress } from '../../shared/ssh/model.js';
import type { RegistryAccount } from '../docker/registry-accounts.js';
import { IMAGES_MISSING, SourceError } from '../failures/explained-errors.js';
import { PullError } from '../failures/pull-error.js';
import { type AddressPolicy, hostPolicy, refusePrivateHost } from './checked-remote.js';
import type { RepositorySource } from './repository-source.js';

export interface Origin {
  /** The commit, or the digest of an image: 64 hex digits. */
  sha: string;
  message: string;
  description: string;
}

interface OriginRequest {
  workspaceId: string;
  configuration: ServiceConfiguration;
  /** The requested commit or digest; '' for the newest commit of the branch or the newest digest of the image's tag. */
  sha: string;
  signal: AbortSignal;
}

/** Finds the commit or image that a configuration deploys. Throws `SourceError`. */
export interface OriginResolver {
  resolve(request: OriginRequest): Promise<Origin>;
}

/** Returns the digest (64 hex digits) that the registry has for an image name. Throws `PullError`. */
export type DigestResolver = (
  name: string,
  account: RegistryAccount | undefined,
  signal: AbortSignal,
) => Promise<string>;

export interface OriginOptions {
  source: RepositorySource;
  policy: ImagePolicy;
  /** Null if this host cannot run images. */
  images: {
    resolveDigest: DigestResolver;
    findAccount: (workspaceId: string, registryId: string) => Promise<RegistryAccount | null>;
  } | null;
  addresses?: AddressPolicy;
}

/** Creates the resolver for commits and, if `images` is given, for registry images. */
export function createOriginResolver(options: OriginOptions): OriginResolver {
  return {
    resolve: (request) =>
      isImageSource(request.configuration) ? resolveImage(options, request) : resolveCommit(options, request),
  };
}

async function resolveCommit({ source, policy }: OriginOptions, request: OriginRequest): Promise<Origin> {
  const { repository, branch } = request.configuration;
  const problem = isPushSource(request.configuration)
    ? null
    : repositoryProblem(givenAddress(repository), policy.allowLocal);
  if (problem) throw new SourceError(problem);
  const ref = request.sha || branch;
  const { sha, message, defaultBranch } = await source.resolve({
    url: repository,
    ref,
    signal: request.signal,
    ...pullRefOf(branch),
  });
  const what = ref === sha ? 'commit' : `branch ${defaultBranch ?? branch} at`;
  const why =
    defaultBranch === undefined
      ? ''
      : ` (the repository has no branch ${branch}, and this is its default branch; set branch to ${defaultBranch}, so that its new commits can deploy themselves)`;
  return { sha, message, description: `Deploys ${what} ${sha.slice(0, 12)}: ${message}${why}` };
}

/** Returns `branch` as `pullRef` if it is the ref of a pull request, as in a preview of a fork. */
export function pullRefOf(branch: string): { pullRef?: string } {
  return /^refs\/(pull|merge-requests)\/[1-9][0-9]{0,9}\/head$/.test(branch) ? { pullRef: branch } : {};
}

async function resolveImage({ images, policy, addresses }: OriginOptions, request: OriginRequest): Promise<Origin> {
  if (images === null) throw new SourceError(IMAGES_MISSING);
  const { image, registryId } = request.configuration;
  const account = registryId === '' ? null : await images.findAccount(request.workspaceId, registryId);
  if (registryId !== '' && account === null) throw new SourceError('registryId names no registry of the workspace');
  const reference = parseImage(image);
  const problem = imageProblem(image, policy, account?.serveraddress === reference?.registry);
  if (problem !== null || reference === null) throw new SourceError(problem ?? 'configuration.image is no image');
  if (account !== null && account.serveraddress !== reference.registry) {
    throw new SourceError(`the image is at ${reference.registry}, but registryId names ${account.serveraddress}`);
  }
  // A registry for which the workspace has credentials is trusted, so it may be at a private address.
  if (account === null) await refusePrivateHost(reference.registry, addresses ?? hostPolicy(policy.allowLocal));
  if (request.sha !== '' && !/^[0-9a-f]{64}$/.test(request.sha)) {
    throw new SourceError(`"${request.sha}" is no digest of an image, which has 64 digits`);
  }
  const { name, tag, digest } = reference;
  const named = digest?.slice('sha256:'.length);
  const resolve = () =>
    images.resolveDigest(`${name}:${tag}`, account ?? undefined, request.signal).catch((error: unknown) => {
      throw error instanceof PullError ? new SourceError(error.message) : error;
    });
  const sha = request.sha || named || (await resolve());
  request.signal.throwIfAborted();
  return { sha, message: image, description: `Deploys image ${name}@sha256:${sha}` };
}
