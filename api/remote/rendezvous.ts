import { randomUUID } from 'node:crypto';
import type { WebSocket } from 'ws';
import type { Db } from '../../shared/core/database/database-client.js';
import type { RemoteSessionRow } from '../../shared/remote/store.js';
import { summonWorker } from '../../shared/remote/store.js';
import { newToken, sameSecret } from '../../shared/secrets/random-token.js';

/**
 * Milliseconds between notifications of the workers. A worker may miss a notification while it reconnects to the
 * database.
 */
const REPEAT_MS = 1_000;
const TIMEOUT_MS = 10_000;

interface Expected {
  token: string;
  arrive: (worker: WebSocket) => void;
}

/** Connects a client to a worker on a replica's host. */
export class Rendezvous {
  readonly #db: Db;
  readonly #address: string;
  readonly #expected = new Map<string, Expected>();

  /** `address` is the URL at which workers can connect to this process. */
  constructor(db: Db, address: string) {
    this.#db = db;
    this.#address = address;
  }

  /** Asks the workers of the session's host to connect. Returns the first connection; null if no worker connects. */
  async worker(session: RemoteSessionRow, signal: AbortSignal): Promise<WebSocket | null> {
    const connectionId = randomUUID();
    const { token } = newToken();
    const call = () => {
      const { host_id: hostId, id: sessionId } = session;
      summonWorker(this.#db, { hostId, sessionId, connectionId, address: this.#address, token }).catch(() => undefined);
    };
    let settle: (worker: WebSocket | null) => void = () => undefined;
    const arrived = new Promise<WebSocket | null>((resolve) => {
      settle = resolve;
    });
    this.#expected.set(connectionId, { token, arrive: settle });
    const giveUp = () => settle(null);
    const [repeat, timeout] = [setInterval(call, REPEAT_MS), setTimeout(giveUp, TIMEOUT_MS)];
    signal.addEventListener('abort', giveUp, { once: true });
    call();
    try {
      return await arrived;
    } finally {
      this.#expected.delete(connectionId);
      clearInterval(repeat);
      clearTimeout(timeout);
      signal.removeEventListener('abort', giveUp);
    }
  }

  /** Returns the function that accepts a worker's connection; null if the connection's id or token is unknown. */
  admit(connectionId: string, token: string): Expected['arrive'] | null {
    const expected = this.#expected.get(connectionId);
    if (expected === undefined || !sameSecret(token, expected.token)) return null;
    this.#expected.delete(connectionId);
    return expected.arrive;
  }
}
