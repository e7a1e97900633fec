/**
 * Runs work with a timeout, in milliseconds. The work's signal aborts at the timeout, or together with `signal`.
 * Rejects with `tooLate` at the timeout, with the reason of `signal` if that aborts, and otherwise with the work's own
 * error.
 */
export async function withinTime<T>(
  { ms, tooLate, signal }: { ms: number; tooLate: Error; signal?: AbortSignal },
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const limit = new AbortController();
  const timer = setTimeout(() => limit.abort(tooLate), ms);
  const either = signal === undefined ? limit.signal : AbortSignal.any([signal, limit.signal]);
  try {
    return await work(either);
  } catch (error) {
    either.throwIfAborted();
    throw error;
  } finally {
    clearTimeout(timer);
  }
}
