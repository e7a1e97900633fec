import type { ServiceConfiguration } from '../services/configuration.js';
import type { LifecycleStatus, ServiceKind } from '../services/model.js';
import { isImageSource } from '../services/service-source.js';

/** A preview of a worker or cron service would repeat the work of its base service. */
function hasPreviews(kind: ServiceKind): boolean {
  return kind === 'web' || kind === 'static';
}

export interface BaseFacts {
  kind: ServiceKind;
  configuration: ServiceConfiguration;
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

/** Returns a preview's configuration. Unlike its base service, a fork's preview cannot connect to other services. */
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

export interface PreviewSource {
  /** For a pull request from a fork, a ref of the service's repository such as `refs/pull/7/head`. */
  branch: string;
  /** True if the pull request comes from a fork, whose author is not trusted. */
  fork: boolean;
}

const MAX_NAME_LENGTH = 100;

/** Returns the name of a preview. Its slug is derived from the name. */
export function previewName(base: string, branch: string): string {
  return `${base} ${branch}`.slice(0, MAX_NAME_LENGTH).trim();
}

const HOUR_MS = 3_600_000;

/** Returns when a preview expires unless it is deployed again. The base service's current setting applies. */
export function expiryOf(changedAt: Date, { previewExpiryHours }: Pick<ServiceConfiguration, 'previewExpiryHours'>) {
  return new Date(changedAt.getTime() + previewExpiryHours * HOUR_MS);
}

export interface PreviewFacts {
  changedAt: Date;
  lifecycleStatus: LifecycleStatus;
  /** When the last operation to delete the preview finished; null if there was none. */
  deletionEndedAt: Date | null;
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
