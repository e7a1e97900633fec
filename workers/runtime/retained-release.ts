import { SealError } from '../../shared/secrets/keyring.js';
import { credentialsOf } from '../../shared/services/service-source.js';
import { ReleaseError } from '../failures/explained-errors.js';
import { Masker } from '../masking/masker.js';
import type { ReplicaRow } from '../replicas/rows.js';
import type { ReplicaRuntimeDeps } from './replica-runtime-deps.js';
import type { ReleaseSpec } from './runtime-driver.js';

/**
 * Returns true for an error of the release itself, which a retry does not fix. Other errors are faults of the platform
 * and may pass.
 */
export function isExplained(error: unknown): error is ReleaseError | SealError {
  return error instanceof ReleaseError || error instanceof SealError;
}

type ReleaseOf = Pick<ReplicaRow, 'deployment_id' | 'run_id'>;

/** The release of one replica, loaded once for each attempt to run it. */
export class RetainedRelease {
  readonly #load: ReplicaRuntimeDeps['loadRelease'];
  #spec: ReleaseSpec | null = null;

  constructor(load: ReplicaRuntimeDeps['loadRelease']) {
    this.#load = load;
  }

  /** Returns the release, loaded once. Throws `ReleaseError` or `SealError` if it cannot be read. */
  async read({ deployment_id, run_id }: ReleaseOf): Promise<ReleaseSpec> {
    this.#spec ??= await this.#load(deployment_id, run_id);
    return this.#spec;
  }

  /** Loads the present release for a new attempt to run it. Throws as `read` does. */
  async readAnew({ deployment_id, run_id }: ReleaseOf): Promise<ReleaseSpec> {
    this.#spec = await this.#load(deployment_id, run_id);
    return this.#spec;
  }

  /**
   * Returns null if the release cannot be read, for example because its key is lost. Its replicas can still be stopped.
   */
  async readable(row: ReleaseOf): Promise<ReleaseSpec | null> {
    try {
      return await this.read(row);
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
