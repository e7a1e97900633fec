/** Milliseconds until a process that was started has opened its connections and looked at everything once. */
const STARTED_MS = 5_000;

/**
 * Collects once what only the start of the process has used, if Node runs with --expose-gc as in the Procfile. V8 itself
 * does so when the heap has grown to a multiple, which that of a process at rest never does. It takes about 50 ms.
 */
export function collectStartGarbage(): void {
  setTimeout(() => globalThis.gc?.(), STARTED_MS).unref();
}
