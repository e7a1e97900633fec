/**
 * Runs work that has to end within a time, in milliseconds, or with `signal`. Its own signal aborts at either. Rejects with
 * `tooLate` after the time, with the reason of `signal` after its abort, and otherwise as the work does.
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
