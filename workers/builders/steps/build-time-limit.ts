import { BuildError } from '../../failures/explained-errors.js';
import type { BuildContext, BuildRequest } from '../builder.js';
import { didNotFinish } from './build-commands.js';

/** The time limit of a build (`timeoutSeconds`), combined with the signal that interrupts the build. */
export class TimeLimit {
  /** When the time limit expires, in milliseconds since the epoch. */
  readonly deadline: number;
  /** Aborts at the deadline, or when the build is interrupted. */
  readonly signal: AbortSignal;
  readonly #request: BuildRequest;
  readonly #context: BuildContext;
  readonly #timeout: AbortSignal;

  constructor(request: BuildRequest, context: BuildContext) {
    const timeoutMs = request.configuration.timeoutSeconds * 1000;
    this.#request = request;
    this.#context = context;
    this.deadline = Date.now() + timeoutMs;
    this.#timeout = AbortSignal.timeout(timeoutMs);
    this.signal = AbortSignal.any([context.signal, this.#timeout]);
  }

  /** Runs a part of the build. Throws a `BuildError` that names the part if the time limit expires. */
  async within<T>(what: string, work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      this.#context.signal.throwIfAborted();
      if (this.#timeout.aborted) throw new BuildError(`${what} ${didNotFinish(this.#request)}`);
      throw error;
    }
  }
}
