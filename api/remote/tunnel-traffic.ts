import type { Db } from '../../shared/core/database/database-client.js';
import { addBytesOut } from '../../shared/metrics/history-store.js';

/** Counts the bytes that tunnels send to clients, by service, for the service's usage. */
export class TunnelTraffic {
  readonly #db: Db;
  #bytes = new Map<string, number>();

  constructor(db: Db) {
    this.#db = db;
  }

  count(serviceId: string, bytes: number): void {
    this.#bytes.set(serviceId, (this.#bytes.get(serviceId) ?? 0) + bytes);
  }

  /** Stores what was counted since the last report. If that fails, the next report includes it. */
  async report(): Promise<void> {
    const counted = this.#bytes;
    if (counted.size === 0) return;
    this.#bytes = new Map();
    try {
      await addBytesOut(this.#db, counted);
    } catch (error) {
      for (const [serviceId, bytes] of counted) this.count(serviceId, bytes);
      throw error;
    }
  }
}
