import { EventEmitter } from 'node:events';
import type { PostgresConnection } from 'bullmq';

/** The channel on which BullMQ announces new jobs. The payload is the name of the queue. */
export const JOBS_CHANNEL = 'bullmq_jobs';

export type ListenClient = Awaited<ReturnType<PostgresConnection['getListenClient']>>;

interface Message {
  channel: string;
  payload?: string;
}

type Listener = (message: Message) => void;

/** If more workers than this are online, they take turns to ask for a job. */
const AT_ONCE = 4;
/** The average time between two requests of workers that take turns. */
const APART_MS = 20;

/** SQL: whether a queue has a job that a worker could take now. */
const HAS_JOB = `select exists (select from job where queue = $1 and state = 'waiting')
     or exists (select from job where queue = $1 and state = 'delayed' and process_at_ms <= $2) as present`;

/**
 * Returns true if the queue has a job. Asks on the listening connection, because the pool has closed its idle
 * connections, and opening one costs more than the query.
 */
async function hasJob(client: ListenClient, queue: string): Promise<boolean> {
  const { rows } = await client.query<{ present: boolean }>(HAS_JOB, [queue, Date.now()]);
  return rows[0]?.present === true;
}

/**
 * Returns how long a worker waits before it asks for a job that it was notified of, in milliseconds. `chance` is a
 * random number from 0 to 1.
 */
export function turnMs(workers: number, chance: number): number {
  return workers <= AT_ONCE ? 0 : chance * workers * APART_MS;
}

/**
 * Makes workers take turns to ask for jobs. PostgreSQL notifies all workers of a job, and only one gets it: with a
 * thousand workers, a job would cost four thousand statements. With turns, all workers together ask about fifty times a
 * second for the jobs of a queue.
 */
export class JobTurns {
  readonly #clients = new WeakMap<ListenClient, ListenClient>();
  readonly #timers = new Map<string, NodeJS.Timeout>();
  #workers = 1;

  shareWith(workers: number): void {
    this.#workers = workers;
  }

  /** Returns a client that delivers the notifications of new jobs only at this worker's turn. */
  of(client: ListenClient): ListenClient {
    const known = this.#clients.get(client);
    if (known !== undefined) return known;
    const passed = new EventEmitter().setMaxListeners(0);
    client.on('notification', (message) => this.#announce(client, message, passed));
    // `release` does nothing, because other workers use the same connection.
    const own = {
      query: <R>(text: string, params?: readonly unknown[]) => client.query<R>(text, params),
      on(_event: string, listener: Listener | ((error: Error) => void)) {
        passed.on('notification', listener);
        return own;
      },
      removeListener(_event: string, listener: Listener) {
        passed.off('notification', listener);
        return own;
      },
      removeAllListeners() {
        passed.removeAllListeners();
        return own;
      },
      release: () => undefined,
    };
    this.#clients.set(client, own);
    return own;
  }

  close(): void {
    for (const timer of this.#timers.values()) clearTimeout(timer);
    this.#timers.clear();
  }

  #announce(client: ListenClient, message: Message, passed: EventEmitter): void {
    const queue = message.payload ?? '';
    const waitMs = message.channel === JOBS_CHANNEL ? turnMs(this.#workers, Math.random()) : 0;
    if (waitMs === 0) {
      passed.emit('notification', message);
      return;
    }
    // A turn is already scheduled, and the worker then asks for all jobs of the queue.
    if (this.#timers.has(queue)) return;
    const timer = setTimeout(() => {
      this.#timers.delete(queue);
      hasJob(client, queue)
        // If the check fails, the worker is notified anyway, and handles the error if its own request fails too.
        .catch(() => true)
        .then((present) => present && passed.emit('notification', message));
    }, waitMs);
    this.#timers.set(queue, timer);
  }
}
