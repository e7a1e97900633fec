import { useSyncExternalStore } from 'react';

/** Whether the API answers, since when it does not, and until when it asked us to wait. */
let silentSince: number | null = null;
let waitUntil = 0;
let lastAnswer = Date.now();
const listeners = new Set<() => void>();

function tell(): void {
  for (const listener of listeners) listener();
}

/** The API answered, whatever it said. */
export function noteAnswer(): void {
  lastAnswer = Date.now();
  if (silentSince === null) return;
  silentSince = null;
  tell();
}

/** A request got no answer. */
export function noteSilence(): void {
  if (silentSince !== null) return;
  silentSince = lastAnswer;
  tell();
}

/** The API asked for a pause (Retry-After), in milliseconds. */
export function noteWait(milliseconds: number): void {
  waitUntil = Math.max(waitUntil, Date.now() + milliseconds);
}

/** Milliseconds until the next request of a poll: its pace, or the rest of the pause that the API asked for. */
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
