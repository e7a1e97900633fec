import type { BuiltImage } from '../../shared/images/model.js';
import type { ServiceConfiguration } from '../../shared/services/configuration.js';
import type { ServiceKind } from '../../shared/services/model.js';
import type { Masker } from '../masking/masker.js';

export interface BuildRequest {
  /**
   * Identifies one attempt of a build, and names its processes and folders: `<deploymentId>-<fence>`. `fence` counts
   * the attempts.
   */
  id: string;
  workspaceId: string;
  serviceId: string;
  userNumber: number;
  /** The environment whose services the build can reach; null if the service is in none. */
  environmentId: string | null;
  kind: ServiceKind;
  configuration: ServiceConfiguration;
  repository: string;
  commitSha: string;
  clearCache: boolean;
  /** The service's variables in clear text, which builds get. */
  environment: Record<string, string>;
}

export interface BuildContext {
  signal: AbortSignal;
  /** Writes a line to the build log. No more of the build's output is read until the promise settles. */
  log: (message: string, level?: 'info' | 'warn' | 'error') => Promise<void>;
  /** Finds secrets, so that a long line is not split inside one. `log` itself masks lines. */
  masker?: Masker;
  /** Set by the checkout: true if the repository has submodules, which are not checked out. */
  hasSubmodules?: boolean;
}

/** Builds an immutable image from a commit. Throws `BuildError`; an abort rejects with the signal's reason. */
export interface Builder {
  build(request: BuildRequest, context: BuildContext): Promise<BuiltImage>;
  /** Announces that a build follows soon, so that the builder can prepare for it. */
  expectBuild?(): void;
  /**
   * Removes files that builds of dead workers left behind, and caches that were unused for 30 days. Returns the number
   * of removed caches.
   */
  sweep(): Promise<number>;
}

/** An image in a store. Its manifest tells whether it is a folder or an image in a container engine. */
export type StoredImage = Pick<BuiltImage, 'digest' | 'manifest'>;

/** The store of images: folders of this host, or a container engine. */
export interface ImageStore {
  /** Returns true if this host can run or serve the image. */
  has(image: StoredImage): Promise<boolean>;
  /**
   * Removes the images that `isWanted` rejects, except young ones (`isYoungImage`), and unfinished images of dead
   * workers. Returns the number of removed images.
   */
  sweep(isWanted: (digest: string) => boolean): Promise<number>;
}

const YOUNG_MS = 60 * 60_000;

/**
 * Returns true if an image was stored less than an hour ago. Sweeps keep such an image, because its deployment may not
 * be recorded yet. Times are in milliseconds since the epoch.
 */
export function isYoungImage(storedAt: number, now: number): boolean {
  return now - storedAt < YOUNG_MS;
}
