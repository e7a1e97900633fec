import { readdir } from 'node:fs/promises';
import { freemem } from 'node:os';
import { join } from 'node:path';
import { errorMessage } from '../../../shared/core/error-registry.js';
import { planOf } from '../../../shared/services/plan-catalog.js';
import type { ReplicaRow } from '../../replicas/rows.js';
import { releaseReplica } from '../../replicas/start-store.js';
import { recordExit } from '../../replicas/store.js';
import { socketsOfNamespace } from '../../sandbox/listening-sockets.js';
import type { ResourceUsage } from '../../sandbox/sandbox.js';
import { ServiceVolumes } from '../../volumes/service-volumes.js';
import { HostAllowance } from '../log-allowance.js';
import type { ReplicaHost } from '../replica-host.js';
import { ReplicaRuntime } from '../replica-runtime.js';
import { maskerOf } from '../retained-release.js';
import type { ReleaseSpec, RuntimeDriver } from '../runtime-driver.js';
import type { MeasurableReplica } from '../usage-store.js';
import { portsOf } from './choose-port.js';
import { Firewall } from './firewall.js';
import { checkImage } from './image-check.js';
import { ProcessController } from './process-controller.js';
import { ReplicaFiles } from './replica-files.js';
import { graceMsOf, type ProcessRuntimeDeps, processOf, REPLICA_SANDBOX, sandboxIdOf } from './replica-sandbox.js';

const MEGABYTE = 1024 * 1024;

/** Runs releases as supervised processes on this host. */
export function createProcessRuntime(deps: ProcessRuntimeDeps): RuntimeDriver {
  return new ReplicaRuntime(deps, new ProcessHost(deps));
}

class ProcessHost implements ReplicaHost {
  readonly pollMs = 500;
  readonly isMeasuredByAll = false;
  readonly #deps: ProcessRuntimeDeps & { firewall: Firewall; volumes: ServiceVolumes };
  readonly #logShare = new HostAllowance();
  /**
   * The addresses of the ready replicas when this worker last wrote the host names; null if another worker may have
   * written the names since then.
   */
  #ready: string | null = null;

  constructor(deps: ProcessRuntimeDeps) {
    this.#deps = { ...deps, firewall: new Firewall(deps), volumes: new ServiceVolumes(deps) };
  }

  controller(id: string, wake: () => void): ProcessController {
    return new ProcessController(this.#deps, id, wake, this.#logShare);
  }

  async hasRoom(row: ReplicaRow): Promise<boolean> {
    const { configuration } = await this.#deps.loadRelease(row.deployment_id, row.run_id);
    return planOf(configuration.plan).memoryMb * MEGABYTE <= freemem();
  }

  forget(): void {
    this.#ready = null;
  }

  /** Rewrites the host names in private networks if the set of ready replicas has changed. */
  async observe(rows: readonly ReplicaRow[]): Promise<void> {
    const network = this.#deps.sandbox.allNetworks;
    if (!network) return;
    const ready = rows.filter(({ state, desired }) => state === 'ready' && desired === 'running');
    const addresses = ready.map(({ address }) => address).sort();
    if (addresses.join() === this.#ready) return;
    try {
      await network.publish(addresses, this.#ready === null);
      this.#ready = addresses.join();
    } catch (error) {
      // This error must not prevent the reconciliation of the replicas. The next pass writes the names.
      this.#deps.log.warn({ err: error }, `the names of neighbours were not written: ${errorMessage(error)}`);
    }
  }

  async sweep(rows: () => Promise<readonly ReplicaRow[]>): Promise<void> {
    await this.#deps.firewall.apply(true);
    const ended = await this.#deps.sandbox.sweep(async () => {
      const wanted = new Set((await rows()).map(sandboxIdOf));
      return (id) => !id.startsWith(REPLICA_SANDBOX) || wanted.has(id);
    });
    if (ended > 0) this.#deps.log.warn({ processes: ended }, 'ended processes that belong to no replica');
    await this.#deps.sandbox.allNetworks?.sweep();
    const folders = await readdir(join(this.#deps.config.dataDir, 'replicas')).catch(() => []);
    const present = new Set((await rows()).map((row) => row.id));
    for (const name of folders) {
      if (!present.has(name)) await this.#filesOf(name).remove();
    }
  }

  usage(replica: MeasurableReplica): Promise<ResourceUsage | null> {
    return this.#deps.sandbox.usage(sandboxIdOf(replica));
  }

  async ownPort({ address, port }: ReplicaRow): Promise<number | null> {
    return (await this.#deps.sandbox.allNetworks?.portBehind(address, port)) ?? port;
  }

  async listeningPorts(row: ReplicaRow): Promise<number[]> {
    const { sandbox } = this.#deps;
    const process = processOf(row);
    return sandbox.allNetworks?.owns(row.address)
      ? portsOf((await socketsOfNamespace(process.pid)) ?? [])
      : ((await sandbox.listeningPorts(sandboxIdOf(row), process)) ?? []);
  }

  imageTrouble(row: ReplicaRow, spec: ReleaseSpec): Promise<string> {
    return checkImage(this.#deps.sandbox, row, spec);
  }

  async lastOutput({ id }: ReplicaRow, spec: ReleaseSpec): Promise<string[]> {
    const masker = maskerOf(spec);
    return (await this.#filesOf(id).lastOutput(masker)).map((line) => masker.mask(line));
  }

  async close(): Promise<void> {
    await this.#deps.firewall.close();
    await this.#deps.sandbox.allNetworks?.close();
  }

  #filesOf(id: string): ReplicaFiles {
    return new ReplicaFiles({ dataDir: this.#deps.config.dataDir, log: this.#deps.log }, id);
  }

  /** The desired state stays `running`, so the next supervisor starts the replicas again. */
  async end(rows: readonly ReplicaRow[]): Promise<void> {
    const { db, sandbox, config } = this.#deps;
    await Promise.all(
      rows
        .filter((row) => row.pid !== null)
        .map(async (row) => {
          await sandbox.stop(sandboxIdOf(row), processOf(row), graceMsOf(row, config.stopGraceSeconds));
          // A replica that exits before it was ever ready would count as failed.
          if (row.ready_at === null) await releaseReplica(db, row);
          else await recordExit(db, row, 'ended with the platform');
        }),
    );
  }
}
