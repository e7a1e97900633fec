interface Run<T> {
  result: Promise<T>;
  controller: AbortController;
  callers: number;
}

/**
 * Runs work once for all callers that request it at the same time. A caller can join a run only until the run starts to
 * read its source, so the result is never older than the request.
 */
export class JoinedRuns<T> {
  readonly #waiting = new Map<string, Run<T>>();

  /**
   * `work` must call `begins` before it reads its source. The run is aborted once the signals of all callers are
   * aborted.
   */
  join(key: string, signal: AbortSignal, work: (signal: AbortSignal, begins: () => void) => Promise<T>): Promise<T> {
    const run = this.#waiting.get(key) ?? this.#start(key, work);
    run.callers += 1;
    return new Promise((resolve, reject) => {
      const leave = () => {
        run.callers -= 1;
        if (run.callers === 0) {
          this.#close(key, run);
          run.controller.abort(signal.reason);
        }
        reject(signal.reason);
      };
      if (signal.aborted) return leave();
      signal.addEventListener('abort', leave, { once: true });
      run.result.then(resolve, reject).finally(() => signal.removeEventListener('abort', leave));
    });
  }

  #start(key: string, work: (signal: AbortSignal, begins: () => void) => Promise<T>): Run<T> {
    const controller = new AbortController();
    const run: Run<T> = { controller, callers: 0, result: Promise.resolve(undefined as T) };
    this.#waiting.set(key, run);
    run.result = Promise.resolve()
      .then(() => work(controller.signal, () => this.#close(key, run)))
      .finally(() => this.#close(key, run));
    // Avoids an unhandled rejection if there is no caller left.
    run.result.catch(() => undefined);
    return run;
  }

  #close(key: string, run: Run<T>): void {
    if (this.#waiting.get(key) === run) this.#waiting.delete(key);
  }
}
