import { SealError } from '../../shared/secrets/keyring.js';
import { credentialsOf } from '../../shared/services/service-source.js';
import { ReleaseError } from '../failures/explained-errors.js';
import { Masker } from '../masking/masker.js';
import type { ReplicaRow } from '../replicas/rows.js';
import type { ReplicaRuntimeDeps } from './replica-runtime-deps.js';
import type { ReleaseSpec } from './runtime-driver.js';

/** Returns true for an error of the release itself, which a retry does not fix. */
export function isExplained(error: unknown): error is ReleaseError | SealError {
  return error instanceof ReleaseError || error instanceof SealError;
}

type ReleaseOf = Pick<ReplicaRow, 'deployment_id' | 'run_id'>;

/** Loads the release of one replica, and keeps it until `readAnew` is called. */
export class RetainedRelease {
  readonly #load: ReplicaRuntimeDeps['loadRelease'];
  #spec: ReleaseSpec | null = null;

  constructor(load: ReplicaRuntimeDeps['loadRelease']) {
    this.#load = load;
  }

  /** Throws `ReleaseError` or `SealError` if the release cannot be read. */
  async read({ deployment_id, run_id }: ReleaseOf): Promise<ReleaseSpec> {
    this.#spec ??= await this.#load(deployment_id, run_id);
    return this.#spec;
  }

  /** Loads the release again, for a new attempt. Throws `ReleaseError` or `SealError` if it cannot be read. */
  async readAnew({ deployment_id, run_id }: ReleaseOf): Promise<ReleaseSpec> {
    this.#spec = await this.#load(deployment_id, run_id);
    return this.#spec;
  }

  /** Returns null if the release cannot be read. Its replicas can still be stopped then. */
  async readable(row: ReleaseOf): Promise<ReleaseSpec | null> {
    try {
      return await this.read(row);
    } catch (error) {
      if (isExplained(error)) return null;
      throw error;
    }
  }
}

/** Returns a masker for a release's secrets. Variables of the image are not secret. */
export function maskerOf(spec: ReleaseSpec): Masker {
  const own = Object.entries(spec.environment).filter(
    ([name, value]) => spec.image.manifest.environment[name] !== value,
  );
  return new Masker([...own.map(([, value]) => value), ...credentialsOf(spec.configuration.repository)]);
}
