import { SealError } from '../../shared/secrets/keyring.js';
import { credentialsOf } from '../../shared/services/source.js';
import { ReleaseError } from '../failures/explained.js';
import { Masker } from '../masking/mask.js';
import type { ReleaseSpec } from './runtime-driver.js';

/** True for an error of the release itself, which a retry does not fix. Any other error is a fault of the platform and may pass. */
export function isExplained(error: unknown): error is ReleaseError | SealError {
  return error instanceof ReleaseError || error instanceof SealError;
}

/** The release of one replica, loaded once for each attempt to run it. */
export class RetainedRelease {
  readonly #load: (deploymentId: string) => Promise<ReleaseSpec>;
  #spec: ReleaseSpec | null = null;

  constructor(load: (deploymentId: string) => Promise<ReleaseSpec>) {
    this.#load = load;
  }

  /** Returns the release, loaded once. Throws `ReleaseError` or `SealError` if it cannot be read. */
  async read(deploymentId: string): Promise<ReleaseSpec> {
    this.#spec ??= await this.#load(deploymentId);
    return this.#spec;
  }

  /** Loads the release as it is now, for a new attempt to run it. Throws as `read` does. */
  async readAnew(deploymentId: string): Promise<ReleaseSpec> {
    this.#spec = await this.#load(deploymentId);
    return this.#spec;
  }

  /** Returns null if the release cannot be read, for instance because its key is lost. Its replicas can still be stopped. */
  async readable(deploymentId: string): Promise<ReleaseSpec | null> {
    try {
      return await this.read(deploymentId);
    } catch (error) {
      if (isExplained(error)) return null;
      throw error;
    }
  }
}

/** Returns a masker of the service's own variables and its repository's password. The image's environment is not secret. */
export function maskerOf(spec: ReleaseSpec): Masker {
  const own = Object.entries(spec.environment).filter(
    ([name, value]) => spec.image.manifest.environment[name] !== value,
  );
  return new Masker([...own.map(([, value]) => value), ...credentialsOf(spec.configuration.repository)]);
}
