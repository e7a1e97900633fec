import type { BuiltImage } from '../../shared/images/model.js';
import type { ServiceConfiguration } from '../../shared/services/configuration.js';
import type { ServiceKind } from '../../shared/services/model.js';
import type { Masker } from '../masking/masker.js';

export interface BuildRequest {
  /** Identifies one attempt of a build, and names its processes and folders: `<deploymentId>-<fence>`. */
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
  /** The service's variables in clear text. */
  environment: Record<string, string>;
}

export interface BuildContext {
  signal: AbortSignal;
  /** Writes a line to the build log. No more of the build's output is read until the promise settles. */
  log: (message: string, level?: 'info' | 'warn' | 'error') => Promise<void>;
  /** Finds secrets, so that no secret is split where a long line is cut. `log` itself masks lines. */
  masker?: Masker;
  /** Set by the checkout: true if the repository has submodules, which are not checked out. */
  hasSubmodules?: boolean;
}

/** Builds an immutable image from a commit. Throws `BuildError`; an abort rejects with the signal's reason. */
export interface Builder {
  build(request: BuildRequest, context: BuildContext): Promise<BuiltImage>;
  /** Announces that a build follows soon, so that the builder can prepare for it. */
  expectBuild?(): void;
  /** Removes what builds of dead workers left behind, and caches unused for 30 days. Returns the number of caches. */
  sweep(): Promise<number>;
}

/** An image in a store. Its manifest tells whether it is a folder or an image in a container engine. */
export type StoredImage = Pick<BuiltImage, 'digest' | 'manifest'>;

export interface ImageStore {
  /** Returns true if this host can run or serve the image. */
  has(image: StoredImage): Promise<boolean>;
  /**
   * Removes unwanted images that are not young, and unfinished images of dead workers. Returns the number of images.
   */
  sweep(isWanted: (digest: string) => boolean): Promise<number>;
}

const YOUNG_MS = 60 * 60_000;

/** Returns true if an image is less than an hour old: its deployment may not be recorded yet. Times are in ms. */
export function isYoungImage(storedAt: number, now: number): boolean {
  return now - storedAt < YOUNG_MS;
}
