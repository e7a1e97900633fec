import { readdir } from 'node:fs/promises';
import { freemem } from 'node:os';
import { join } from 'node:path';
import { errorMessage } from '../../../shared/core/errors.js';
import { planOf } from '../../../shared/services/catalog.js';
import type { ReplicaRow } from '../../replicas/rows.js';
import { releaseReplica } from '../../replicas/start-store.js';
import { recordExit } from '../../replicas/store.js';
import { HostAllowance } from '../log-allowance.js';
import type { ReplicaHost } from '../supervisor.js';
import type { Firewall } from './firewall.js';
import { ProcessController } from './process-controller.js';
import { ReplicaFiles } from './replica-files.js';
import { graceMsOf, type ProcessRuntimeDeps, processOf, REPLICA_SANDBOX, sandboxIdOf } from './replica-sandbox.js';

const MEGABYTE = 1024 * 1024;

/** Runs replicas as sandboxed processes of this host. Their folders are below DATA_DIR. */
export class ProcessHost implements ReplicaHost {
  readonly pollMs = 500;
  readonly #deps: ProcessRuntimeDeps & { firewall: Firewall };
  readonly #logShare = new HostAllowance();
  /** The addresses of ready replicas whose names were written last. */
  #ready: string | null = null;

  constructor(deps: ProcessRuntimeDeps & { firewall: Firewall }) {
    this.#deps = deps;
  }

  controller(id: string, wake: () => void): ProcessController {
    return new ProcessController(this.#deps, id, wake, this.#logShare);
  }

  /** A second replica fits if as much memory as its plan allows is free. */
  async hasRoom(row: ReplicaRow): Promise<boolean> {
    const { configuration } = await this.#deps.loadRelease(row.deployment_id, row.run_id);
    return planOf(configuration.plan).memoryMb * MEGABYTE <= freemem();
  }

  /** Writes the names of neighbours again if a replica became ready or ceased to be. */
  async observe(rows: readonly ReplicaRow[]): Promise<void> {
    const network = this.#deps.sandbox.allNetworks;
    if (!network) return;
    const ready = rows.filter(({ state, desired }) => state === 'ready' && desired === 'running');
    const addresses = ready.map(({ address }) => address).sort();
    if (addresses.join() === this.#ready) return;
    try {
      await network.publish(addresses);
      this.#ready = addresses.join();
    } catch (error) {
      // The replicas are reconciled all the same, and the names are written with the next pass.
      this.#deps.log.warn({ err: error }, `the names of neighbours were not written: ${errorMessage(error)}`);
    }
  }

  /** Ends the processes and removes the folders of replicas that have no row, and sets the firewall rules again. */
  async sweep(rows: () => Promise<readonly ReplicaRow[]>): Promise<void> {
    await this.#deps.firewall.apply(true);
    const ended = await this.#deps.sandbox.sweep(async () => {
      const wanted = new Set((await rows()).map(sandboxIdOf));
      return (id) => !id.startsWith(REPLICA_SANDBOX) || wanted.has(id);
    });
    if (ended > 0) this.#deps.log.warn({ processes: ended }, 'ended processes that belong to no replica');
    await this.#deps.sandbox.allNetworks?.sweep();
    const { config, log } = this.#deps;
    const folders = await readdir(join(config.dataDir, 'replicas')).catch(() => []);
    const present = new Set((await rows()).map((row) => row.id));
    for (const name of folders) {
      if (!present.has(name)) await new ReplicaFiles({ dataDir: config.dataDir, log }, name).remove();
    }
  }

  /** Stops the processes. The rows stay wanted, so the next supervisor starts them again. */
  async end(rows: readonly ReplicaRow[]): Promise<void> {
    const { db, sandbox, config } = this.#deps;
    await Promise.all(
      rows
        .filter((row) => row.pid !== null)
        .map(async (row) => {
          await sandbox.stop(sandboxIdOf(row), processOf(row), graceMsOf(row, config.stopGraceSeconds));
          // A replica that was never ready would otherwise count as failed.
          if (row.ready_at === null) await releaseReplica(db, row);
          else await recordExit(db, row, 'ended with the platform', new Date());
        }),
    );
  }
}
