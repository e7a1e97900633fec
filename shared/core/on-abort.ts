/**
 * Calls `listener` once, when the signal is aborted: at once if it is aborted already, which no event tells any more. Returns a
 * function that takes the listener away.
 */
export function onAbort(signal: AbortSignal, listener: () => void): () => void {
  if (signal.aborted) {
    listener();
    return () => undefined;
  }
  signal.addEventListener('abort', listener, { once: true });
  return () => signal.removeEventListener('abort', listener);
}
