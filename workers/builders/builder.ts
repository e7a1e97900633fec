import type { BuiltImage } from '../../shared/images/model.js';
import type { ServiceConfiguration } from '../../shared/services/configuration.js';
import type { ServiceKind } from '../../shared/services/model.js';
import type { Masker } from '../masking/mask.js';

export interface BuildRequest {
  /** Names the processes and folders of this attempt: `<deploymentId>-<fence>`. */
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
  /** The service's variables in clear text: builds see them. */
  environment: Record<string, string>;
}

export interface BuildContext {
  signal: AbortSignal;
  /** Writes a line to the build log. The build's output waits for the promise. */
  log: (message: string, level?: 'info' | 'warn' | 'error') => Promise<void>;
  /** Knows the secrets, so that no long line is cut within one. `log` masks its lines itself. */
  masker?: Masker;
  /** Set by the checkout: true if the repository has submodules, which are no part of it. */
  hasSubmodules?: boolean;
}

/** Makes an immutable image from a commit. Throws `BuildError`; an abort rejects with the signal's reason. */
export interface Builder {
  build(request: BuildRequest, context: BuildContext): Promise<BuiltImage>;
  /** Called when a build is going to follow soon, so that what it needs can start meanwhile. */
  expectBuild?(): void;
  /** Removes what builds of dead workers left, and caches that were not used for 30 days; returns how many caches. */
  sweep(): Promise<number>;
}

/** An image in a store. The manifest says of which kind it is. */
export type StoredImage = Pick<BuiltImage, 'digest' | 'manifest'>;

/** The store of images: folders of this host, or a container engine. */
export interface ImageStore {
  /** True if this host can run or serve the image. */
  has(image: StoredImage): Promise<boolean>;
  /**
   * Removes images that no record needs and that are not young (`isYoungImage`), and what a crash left unfinished. Returns how
   * many images it removed.
   */
  sweep(isWanted: (digest: string) => boolean): Promise<number>;
}

const YOUNG_MS = 60 * 60_000;

/**
 * True if an image was stored less than an hour ago. It may seem unwanted only because its deployment is not recorded yet.
 * Times are in milliseconds since the epoch.
 */
export function isYoungImage(storedAt: number, now: number): boolean {
  return now - storedAt < YOUNG_MS;
}
