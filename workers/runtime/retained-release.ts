import { SealError } from '../../shared/secrets/keyring.js';
import { credentialsOf } from '../../shared/services/source.js';
import { ReleaseError } from '../failures/explained.js';
import { Masker } from '../masking/mask.js';
import type { ReplicaRow } from '../replicas/rows.js';
import type { ReplicaRuntimeDeps } from './replica-runtime-deps.js';
import type { ReleaseSpec } from './runtime-driver.js';

/** True for an error of the release itself, which no retry mends. Any other error is a fault of the platform and may pass. */
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

  /** Loads the release unless it is loaded. Throws `ReleaseError` or `SealError` if it cannot be read. */
  async read(row: ReleaseOf): Promise<ReleaseSpec> {
    this.#spec ??= await this.#load(row.deployment_id, row.run_id);
    return this.#spec;
  }

  /** Loads the release as it is now, for a new attempt to run it. Throws as `read` does. */
  async readAnew(row: ReleaseOf): Promise<ReleaseSpec> {
    this.#spec = await this.#load(row.deployment_id, row.run_id);
    return this.#spec;
  }

  /** Null if the release cannot be read, for instance because its key is lost. Its replicas can still be stopped. */
  async readable(row: ReleaseOf): Promise<ReleaseSpec | null> {
    try {
      return await this.read(row);
    } catch (error) {
      if (isExplained(error)) return null;
      throw error;
    }
  }
}

/** Masks the values of a service's own variables and its repository's password. The image's own environment is no secret. */
export function maskerOf(spec: ReleaseSpec): Masker {
  const own = Object.entries(spec.environment).filter(
    ([name, value]) => spec.image.manifest.environment[name] !== value,
  );
  return new Masker([...own.map(([, value]) => value), ...credentialsOf(spec.configuration.repository)]);
}
