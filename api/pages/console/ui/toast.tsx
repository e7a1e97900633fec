import { useSyncExternalStore } from 'react';
import o from './overlay.module.css';

interface Toast {
  id: number;
  text: string;
}

const SHOWN_MS = 5000;
let toasts: readonly Toast[] = [];
let last = 0;
const listeners = new Set<() => void>();

export function toast(text: string): void {
  const id = ++last;
  change([...toasts.slice(-2), { id, text }]);
  setTimeout(() => change(toasts.filter((one) => one.id !== id)), SHOWN_MS);
}

function change(next: readonly Toast[]): void {
  toasts = next;
  for (const listener of listeners) listener();
}

export function Toasts() {
  const shown = useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => toasts,
  );
  return (
    <div className={o.toasts} role="status" aria-live="polite">
      {shown.map(({ id, text }) => (
        <div key={id} className={o.toast}>
          {text}
        </div>
      ))}
    </div>
  );
}
