import { useSyncExternalStore } from 'react';

/** Milliseconds since 1970. `silentSince` is null if the API answers; `waitUntil` comes from Retry-After. */
let silentSince: number | null = null;
let waitUntil = 0;
let lastAnswer = Date.now();
const listeners = new Set<() => void>();

function tell(): void {
  for (const listener of listeners) listener();
}

export function noteAnswer(): void {
  lastAnswer = Date.now();
  if (silentSince === null) return;
  silentSince = null;
  tell();
}

export function noteSilence(): void {
  if (silentSince !== null) return;
  silentSince = lastAnswer;
  tell();
}

export function noteWait(milliseconds: number): void {
  waitUntil = Math.max(waitUntil, Date.now() + milliseconds);
}

/** Returns the milliseconds until the next poll: `pace`, or a longer pause that the API asked for. */
export function pollDelay(pace: number): number {
  return Math.max(pace, waitUntil - Date.now());
}

window.addEventListener('offline', noteSilence);

/** Returns when the API answered last, in milliseconds since 1970; null if it answers now. */
export function useSilence(): number | null {
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => silentSince,
  );
}
