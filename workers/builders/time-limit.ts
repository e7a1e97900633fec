import { type BuildContext, BuildError, type BuildRequest } from './builder.js';
import { didNotFinish } from './commands.js';

/** The time that a build has (`timeoutSeconds`), beside its own signal. */
export class TimeLimit {
  /** When the whole build must be over. */
  readonly deadline: number;
  /** Fires at the deadline, or when the build is given up. */
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

  /** Says what was not finished where the time ends it. Rejects with the signal's reason where the build is given up. */
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
