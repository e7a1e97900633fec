import type { Config } from '../../shared/core/config.js';
import type { Db } from '../../shared/core/database/database-client.js';
import { portOf } from '../../shared/data/model.js';
import { type DataServerRow, dataServersOfHost, recordReach } from '../../shared/data/store.js';
import { freePort } from '../core/free-port.js';
import { ReleaseError } from '../failures/explained-errors.js';

export interface TakenPorts {
  inUse: readonly number[];
  /** Ports of replicas that have just stopped. The edge may still send requests to them. */
  resting: readonly number[];
}

const PORT_TRIES = 20;

/** The ports at which applications reach this host's database servers. */
export class ServerPorts {
  readonly #deps: { db: Db; config: Pick<Config, 'runtimePorts'>; hostId: string; ownNetworks: boolean };

  /** With `ownNetworks` each server has its own network namespace and listens on the default port. */
  constructor(deps: { db: Db; config: Pick<Config, 'runtimePorts'>; hostId: string; ownNetworks: boolean }) {
    this.#deps = deps;
  }

  /**
   * Chooses and records a server's port. On the host's loopback, a server keeps its previous port if the port is free.
   * Throws `ReleaseError`.
   */
  async claim(row: DataServerRow, slug: string, { inUse, resting }: TakenPorts): Promise<number> {
    const { db, config, ownNetworks } = this.#deps;
    const usual = portOf(row.kind);
    if (ownNetworks) {
      await recordReach(db, row.id, { host: slug, port: usual, hostPort: null });
      return usual;
    }
    for (let tries = 0; tries < PORT_TRIES; tries++) {
      const kept = row.host_port;
      const reserved = await this.reserved(row.id);
      const others = new Set([...inUse, ...resting, ...reserved]);
      // The edge sends no requests to databases, so a server may get its own port back at once.
      const isFree = kept !== null && !inUse.includes(kept) && !reserved.includes(kept);
      const port =
        tries === 0 && isFree
          ? await freePort({ first: kept, last: kept }, new Set()).catch(() => freePort(config.runtimePorts, others))
          : await freePort(config.runtimePorts, others);
      if (await recordReach(db, row.id, { host: '127.0.0.1', port, hostPort: port })) return port;
    }
    throw new ReleaseError('every port that was tried went to another database');
  }

  /** Returns the ports that this host's servers keep even while they are stopped. Leaves out the server `except`. */
  async reserved(except = ''): Promise<number[]> {
    const rows = await dataServersOfHost(this.#deps.db, this.#deps.hostId);
    return rows.flatMap(({ id, host_port }) => (id === except || host_port === null ? [] : [host_port]));
  }
}
