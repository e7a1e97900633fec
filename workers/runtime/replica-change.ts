import { setTimeout as sleep } from 'node:timers/promises';
import { CHANNELS, type Listener } from '../../shared/core/database/listener.js';

/** Resolves when any replica has changed, or after `ms`. Rejects with the signal's reason. */
export async function replicaChange(listener: Listener, ms: number, signal?: AbortSignal): Promise<void> {
  signal?.throwIfAborted();
  const news = new AbortController();
  const unlisten = listener.on(CHANNELS.replica, () => news.abort());
  try {
    await sleep(Math.max(1, ms), undefined, { signal: AbortSignal.any([news.signal, ...(signal ? [signal] : [])]) });
  } catch (error) {
    signal?.throwIfAborted();
    if (!news.signal.aborted) throw error;
  } finally {
    unlisten();
  }
}
