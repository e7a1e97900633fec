/**
 * Calls `listener` once when the signal aborts, or immediately if it has already aborted. Returns a function that
 * removes the listener.
 */
export function onAbort(signal: AbortSignal, listener: () => void): () => void {
  if (signal.aborted) {
    listener();
    return () => undefined;
  }
  signal.addEventListener('abort', listener, { once: true });
  return () => signal.removeEventListener('abort', listener);
}
