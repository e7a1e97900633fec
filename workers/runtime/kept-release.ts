import { SealError } from '../../shared/secrets/keyring.js';
import { ReleaseError, type ReleaseSpec } from './driver.js';

/** What is wrong with the release itself; anything else is a fault of the platform's own, and may pass. */
export function isExplained(error: unknown): error is ReleaseError | SealError {
  return error instanceof ReleaseError || error instanceof SealError;
}

/** The release of one replica, read once. */
export class KeptRelease {
  readonly #load: (deploymentId: string) => Promise<ReleaseSpec>;
  #spec: ReleaseSpec | null = null;

  constructor(load: (deploymentId: string) => Promise<ReleaseSpec>) {
    this.#load = load;
  }

  async read(deploymentId: string): Promise<ReleaseSpec> {
    this.#spec ??= await this.#load(deploymentId);
    return this.#spec;
  }

  /** As it is now: for a new attempt to run it. */
  async readAnew(deploymentId: string): Promise<ReleaseSpec> {
    this.#spec = await this.#load(deploymentId);
    return this.#spec;
  }

  /** Null where the release cannot be read any more, its key lost: it can still be stopped. */
  async readable(deploymentId: string): Promise<ReleaseSpec | null> {
    try {
      return await this.read(deploymentId);
    } catch (error) {
      if (isExplained(error)) return null;
      throw error;
    }
  }
}
