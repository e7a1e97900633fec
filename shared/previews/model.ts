import type { ServiceConfiguration } from '../services/configuration.js';
import type { LifecycleStatus, ServiceKind } from '../services/model.js';
import { isImageSource } from '../services/service-source.js';

/**
 * Returns true for kinds that users open in a browser. A preview of a worker or cron service would repeat the work of
 * its base service, and a preview of a private service would have no visitors.
 */
function hasPreviews(kind: ServiceKind): boolean {
  return kind === 'web' || kind === 'static';
}

export interface BaseFacts {
  kind: ServiceKind;
  configuration: ServiceConfiguration;
  /** True if the service is itself a preview. */
  isPreview: boolean;
}

/** Returns why a service cannot have a preview of this branch, and what to do; null if it can. */
export function previewRefusal({ kind, configuration, isPreview }: BaseFacts, branch: string): string | null {
  if (isPreview) return 'The service is a preview itself; make the preview at the service whose branch it shows';
  if (!hasPreviews(kind)) return `A service of kind ${kind} has no previews; services of kind web and static have them`;
  if (isImageSource(configuration)) {
    return 'The service runs an image, which has no branches; previews need a repository (sourceType "repository")';
  }
  if (configuration.previewMode === 'off') {
    return 'Previews of the service are switched off; set previewMode to "manual" or "automatic" first';
  }
  if (branch.startsWith('refs/')) return `${branch} is no branch; name the branch without refs/heads/`;
  if (branch === configuration.branch) {
    return `${branch} is the branch that the service itself deploys; deploy the service instead`;
  }
  return null;
}

/**
 * Returns a preview's configuration: its base service's, with another branch and one replica. A preview has a platform
 * domain, follows its branch, has no previews, and remains reachable while the base service is in maintenance. A fork's
 * preview cannot connect to other services, and deploys only commits that a member approves.
 */
export function previewConfiguration(
  base: ServiceConfiguration,
  { branch, fork }: PreviewSource,
): ServiceConfiguration {
  return {
    ...base,
    branch,
    autoDeploy: fork ? 'off' : 'commit',
    ...(fork ? { privateNetworking: false } : {}),
    maintenance: false,
    platformDomainEnabled: true,
    previewMode: 'off',
    replicas: 1,
    scaling: 'manual',
  };
}

/** The branch or pull request that a preview shows. */
export interface PreviewSource {
  /**
   * A branch of the service's repository; for a pull request from a fork, a ref of that repository such as
   * `refs/pull/7/head`.
   */
  branch: string;
  /** True if the pull request comes from a fork, whose author is not trusted. */
  fork: boolean;
}

/** Maximum number of characters of a service's name. */
const MAX_NAME_LENGTH = 100;

/** Returns the name of a preview. Its slug is derived from the name. */
export function previewName(base: string, branch: string): string {
  return `${base} ${branch}`.slice(0, MAX_NAME_LENGTH).trim();
}

const HOUR_MS = 3_600_000;

/**
 * Returns when a preview expires unless it is deployed again. `previewExpiryHours` is the base service's current
 * setting.
 */
export function expiryOf(changedAt: Date, { previewExpiryHours }: Pick<ServiceConfiguration, 'previewExpiryHours'>) {
  return new Date(changedAt.getTime() + previewExpiryHours * HOUR_MS);
}

/** Facts that decide whether a preview is kept. */
export interface PreviewFacts {
  changedAt: Date;
  lifecycleStatus: LifecycleStatus;
  /** When the last operation to delete the preview finished; null if there was none. */
  deletionEndedAt: Date | null;
  /** True if an operation to delete the preview is queued or running. */
  deletionOpen: boolean;
  /** Why the preview must be deleted: its branch was deleted or its pull request closed; null if neither. */
  closed: string | null;
  base: {
    gone: boolean;
    configuration: Pick<ServiceConfiguration, 'previewMode' | 'previewExpiryHours'>;
  };
}

export type PreviewDecision =
  | { type: 'keep' }
  /** `reason` is written to the platform's log. */
  | { type: 'delete'; reason: string }
  /** An earlier deletion failed and must be repeated. */
  | { type: 'deleteAgain' };

/** Delay before a failed deletion is repeated, in milliseconds. */
const AGAIN_MS = 60_000;

/** Decides whether a preview is kept or deleted. */
export function decidePreview(facts: PreviewFacts, now: Date): PreviewDecision {
  const { changedAt, lifecycleStatus, deletionEndedAt, deletionOpen, closed, base } = facts;
  if (lifecycleStatus === 'deleted') return { type: 'keep' };
  if (lifecycleStatus === 'deleting') {
    const rested = deletionEndedAt === null || now.getTime() - deletionEndedAt.getTime() >= AGAIN_MS;
    return !deletionOpen && rested ? { type: 'deleteAgain' } : { type: 'keep' };
  }
  if (base.gone) return { type: 'delete', reason: 'its service was deleted' };
  if (base.configuration.previewMode === 'off') return { type: 'delete', reason: 'previews were switched off' };
  if (closed !== null) return { type: 'delete', reason: closed };
  const expired = expiryOf(changedAt, base.configuration) <= now;
  return expired
    ? { type: 'delete', reason: 'previewExpiryHours have passed since its last change' }
    : { type: 'keep' };
}
