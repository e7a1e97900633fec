import { useSyncExternalStore } from 'react';

/** Since when the API has not answered, if so, and until when it asked us to wait. */
let silentSince: number | null = null;
let waitUntil = 0;
let lastAnswer = Date.now();
const listeners = new Set<() => void>();

function tell(): void {
  for (const listener of listeners) listener();
}

/** Notes any answer of the API. */
export function noteAnswer(): void {
  lastAnswer = Date.now();
  if (silentSince === null) return;
  silentSince = null;
  tell();
}

/** Notes that a request got no answer. */
export function noteSilence(): void {
  if (silentSince !== null) return;
  silentSince = lastAnswer;
  tell();
}

/** Notes the pause that the API asked for (Retry-After), in milliseconds. */
export function noteWait(milliseconds: number): void {
  waitUntil = Math.max(waitUntil, Date.now() + milliseconds);
}

/**
 * Returns the milliseconds until the next poll.
 * This is its usual interval, or the rest of the pause that the API asked for.
 */
export function pollDelay(pace: number): number {
  return Math.max(pace, waitUntil - Date.now());
}

window.addEventListener('offline', noteSilence);

/** Returns the time of the last answer before the silence, in milliseconds; null while the API answers. */
export function useSilence(): number | null {
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => silentSince,
  );
}
