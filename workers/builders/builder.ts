import type { ServiceConfiguration } from '../../shared/domain/configuration.js';
import type { ImageManifest } from '../../shared/domain/image.js';
import type { ServiceKind } from '../../shared/domain/service.js';
import type { Masker } from '../../shared/secrets/mask.js';

export interface BuildRequest {
  /** Marks processes and folders of this attempt: `<deploymentId>-<fence>`. */
  id: string;
  workspaceId: string;
  serviceId: string;
  userNumber: number;
  kind: ServiceKind;
  configuration: ServiceConfiguration;
  repository: string;
  commitSha: string;
  clearCache: boolean;
  /** The service's variables in clear: builds see them. */
  environment: Record<string, string>;
}

export interface BuildContext {
  signal: AbortSignal;
  /** A line for the build log; awaiting it holds the build's output back. */
  log: (message: string, level?: 'info' | 'warn' | 'error') => Promise<void>;
  /** Knows the secrets that no cut may tear apart; `log` masks by itself. */
  masker?: Masker;
}

export interface BuiltImage {
  /** sha256 of the content, hex. */
  digest: string;
  sizeBytes: number;
  manifest: ImageManifest;
}

/** Why a build failed: the command and the cause, in words for the person who deployed. */
export class BuildError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'BuildError';
  }
}

/** Makes an immutable image from a commit. Throws `BuildError`; an abort rejects with the signal's reason. */
export interface Builder {
  build(request: BuildRequest, context: BuildContext): Promise<BuiltImage>;
  /** Removes what builds of dead workers left and caches that were not used for 30 days; returns how many caches. */
  sweep(): Promise<number>;
}

/** An image as it is stored: the manifest says of which kind it is. */
export type StoredImage = Pick<BuiltImage, 'digest' | 'manifest'>;

/** Where images live: folders of this host, or a container engine. */
export interface ImageStore {
  /** True where this host can run or serve it. */
  has(image: StoredImage): Promise<boolean>;
  /** Removes images that nobody wants and that are older than an hour, and whatever a crash left half-made. */
  sweep(isWanted: (digest: string) => boolean): Promise<number>;
}
