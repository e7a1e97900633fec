import { setTimeout as sleep } from 'node:timers/promises';
import { CHANNELS } from '../../shared/db/listener.js';
import { replicasOf, wantReplicas, wantStopped } from '../../shared/db/replicas.js';
import type { ReplicaRow } from '../../shared/db/rows.js';
import type { ReplicaRuntimeDeps } from './deps.js';
import { type CommandOptions, ReleaseError, type ReleaseSpec, type ReplicaView, type RuntimeDriver } from './driver.js';

const LOOK_MS = 250;
/** Beyond the grace of the processes: for the edges to let go, and for another worker to take this host over. */
const STOP_SLACK_MS = 60_000;

/** What one kind of runtime does in its own way. */
export interface ReplicaHost {
  readonly name: string;
  /** Begins to look after the replicas, where it leads. */
  start(): Promise<void>;
  close(platformEnds: boolean): Promise<void>;
  /** Why a replica that never was healthy has ended. */
  explainExit(spec: ReleaseSpec, row: ReplicaRow): Promise<string>;
  /** Why a release is not healthy although it has not failed. */
  explainSilence(spec: ReleaseSpec, rows: readonly ReplicaRow[]): Promise<string>;
  runCommand(spec: ReleaseSpec, command: string, options: CommandOptions): Promise<void>;
}

type Deps = Pick<ReplicaRuntimeDeps, 'db' | 'listener' | 'config' | 'hostId'>;

/**
 * Says in the `replicas` table what is wanted and waits until it is so; the host's supervisor, which may live in another
 * worker, does it.
 */
export class ReplicaRuntime implements RuntimeDriver {
  readonly name: string;
  readonly #deps: Deps;
  readonly #host: ReplicaHost;

  constructor(deps: Deps, host: ReplicaHost) {
    this.name = host.name;
    this.#deps = deps;
    this.#host = host;
  }

  start(): Promise<void> {
    return this.#host.start();
  }

  close(platformEnds = false): Promise<void> {
    return this.#host.close(platformEnds);
  }

  async release(spec: ReleaseSpec, signal: AbortSignal): Promise<void> {
    if (spec.image.manifest.type === 'static') return;
    await this.#bringUp(spec, spec.configuration.replicas, false, signal);
  }

  async stop(deploymentId: string): Promise<void> {
    await this.#bringDown(deploymentId);
  }

  async scale(spec: ReleaseSpec, replicas: number, signal: AbortSignal): Promise<void> {
    if (spec.image.manifest.type === 'static') return;
    const before = await this.#running(spec.deploymentId);
    try {
      await this.#bringUp(spec, replicas, false, signal);
    } catch (error) {
      const kept = new Set(before.map((row) => row.id));
      const added = (await this.#running(spec.deploymentId)).filter((row) => !kept.has(row.id));
      await this.#bringDown(spec.deploymentId, added);
      throw error;
    }
    await this.#bringDown(
      spec.deploymentId,
      before.filter((row) => row.position > replicas),
    );
  }

  async restart(spec: ReleaseSpec, signal: AbortSignal): Promise<void> {
    if (spec.image.manifest.type === 'static') return;
    const before = await this.#running(spec.deploymentId);
    const oldest = before.length === 0 ? 0 : Math.min(...before.map((row) => row.generation));
    const count = before.filter((row) => row.generation === oldest).length || spec.configuration.replicas;
    let generation = 0;
    try {
      generation = await this.#bringUp(spec, count, true, signal);
    } catch (error) {
      const rows = await this.#running(spec.deploymentId);
      await this.#bringDown(
        spec.deploymentId,
        rows.filter((row) => row.generation > oldest),
      );
      throw error;
    }
    const rows = await this.#running(spec.deploymentId);
    await this.#bringDown(
      spec.deploymentId,
      rows.filter((row) => row.generation < generation),
    );
  }

  async inspect(deploymentId: string): Promise<ReplicaView[]> {
    const rows = await replicasOf(this.#deps.db, deploymentId);
    return rows.map(({ id, state, address, port, restarts, exit_detail }) => {
      return { id, state, address, port, restarts, exitDetail: exit_detail };
    });
  }

  runCommand(spec: ReleaseSpec, command: string, options: CommandOptions): Promise<void> {
    return this.#host.runCommand(spec, command, options);
  }

  /** Wants the replicas and waits until all of their generation are ready. Returns the generation. */
  async #bringUp(spec: ReleaseSpec, count: number, fresh: boolean, signal: AbortSignal): Promise<number> {
    signal.throwIfAborted();
    const { db, hostId, config } = this.#deps;
    const release = { serviceId: spec.serviceId, deploymentId: spec.deploymentId, hostId };
    const generation = await wantReplicas(db, release, count, fresh);
    const deadline = Date.now() + config.releaseTimeoutSeconds * 1000;
    for (;;) {
      const rows = (await this.#running(spec.deploymentId)).filter((row) => row.generation === generation);
      if (rows.length === 0) throw new ReleaseError('the release was stopped while it was starting');
      // A replica that was still stopping when it was wanted again can be wanted only now.
      if (rows.length < count) await wantReplicas(db, release, count, false);
      else if (rows.every((row) => row.state === 'ready' || row.position > count)) return generation;
      const failed = rows.find((row) => row.state === 'exited' && row.ready_at === null);
      if (failed) throw new ReleaseError(await this.#host.explainExit(spec, failed));
      if (Date.now() >= deadline) throw new ReleaseError(await this.#host.explainSilence(spec, rows));
      await this.#news(Math.min(LOOK_MS, deadline - Date.now()), signal);
    }
  }

  /** Stops these replicas, or all, and returns when none of them is left. */
  async #bringDown(deploymentId: string, rows?: readonly ReplicaRow[]): Promise<void> {
    if (rows?.length === 0) return;
    const { db, config } = this.#deps;
    const ids = rows?.map((row) => row.id);
    const deadline = Date.now() + config.stopGraceSeconds * 1000 + STOP_SLACK_MS;
    await wantStopped(db, deploymentId, ids);
    for (;;) {
      const left = (await replicasOf(db, deploymentId)).filter((row) => ids === undefined || ids.includes(row.id));
      if (left.length === 0) return;
      if (Date.now() >= deadline) {
        const where = left.map((row) => `replica ${row.position} (${row.state}) on host ${row.host_id}`).join(', ');
        throw new ReleaseError(`not stopped in time: ${where}; a worker must run on that host`);
      }
      await this.#news(LOOK_MS, new AbortController().signal);
    }
  }

  async #running(deploymentId: string): Promise<ReplicaRow[]> {
    return (await replicasOf(this.#deps.db, deploymentId)).filter((row) => row.desired === 'running');
  }

  /** Until something has changed on this host, or the time has passed. Rejects with the signal's reason. */
  async #news(ms: number, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    const rung = new AbortController();
    const unlisten = this.#deps.listener.on(CHANNELS.replica, () => rung.abort());
    try {
      await sleep(Math.max(1, ms), undefined, { signal: AbortSignal.any([signal, rung.signal]) });
    } catch (error) {
      if (!rung.signal.aborted || signal.aborted) {
        signal.throwIfAborted();
        throw error;
      }
    } finally {
      unlisten();
    }
  }
}
