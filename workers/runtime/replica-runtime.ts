import { hostFor, isHeld, isHostOnline, settleHost } from '../../shared/data/store.js';
import type { AttemptOutcome } from '../../shared/runs/model.js';
import { isDataKind } from '../../shared/services/model.js';
import { ReleaseError } from '../failures/explained.js';
import { isCurrentRelease, isReleasing, runningReleases } from '../releases/release-store.js';
import { wantReplicas, wantStopped } from '../replicas/desire-store.js';
import type { ReplicaRow } from '../replicas/rows.js';
import { replicasOf } from '../replicas/store.js';
import { replicaChange } from './replica-change.js';
import { POLL_MS, type ReplicaRuntimeDeps, type RuntimeBackend, stopDeadline } from './replica-runtime-deps.js';
import { generationToReplace, rolloutOutcome } from './rollout.js';
import { RunAttempts } from './run-attempts.js';
import type { ReleaseSpec, ReplicaView, RunAttempt, RuntimeDriver } from './runtime-driver.js';

/** The longest wait until work on a volume ends, in milliseconds. */
const HELD_MS = 120_000;

type Deps = Pick<ReplicaRuntimeDeps, 'db' | 'listener' | 'config' | 'hostId'>;

/**
 * Writes the wanted state into the `replicas` table and waits until the observed state matches. The supervisor of the host,
 * which may run in another worker, reconciles the two.
 */
export class ReplicaRuntime implements RuntimeDriver {
  readonly name: string;
  readonly #deps: Deps;
  readonly #backend: RuntimeBackend;
  readonly #attempts: RunAttempts;

  constructor(deps: Deps, backend: RuntimeBackend) {
    this.name = backend.name;
    this.#deps = deps;
    this.#backend = backend;
    this.#attempts = new RunAttempts(deps);
  }

  start(): Promise<void> {
    return this.#backend.start();
  }

  close(platformEnds = false): Promise<void> {
    return this.#backend.close(platformEnds);
  }

  async release(spec: ReleaseSpec, signal: AbortSignal): Promise<void> {
    if (!isResident(spec)) return;
    if (isDataKind(spec.kind)) return this.#bringUpAlone(spec, false, signal);
    await this.#bringUp(spec, spec.configuration.replicas, false, signal);
  }

  async stop(deploymentId: string): Promise<void> {
    await this.#bringDown(deploymentId);
  }

  async scale(spec: ReleaseSpec, replicas: number, signal: AbortSignal): Promise<void> {
    if (!isResident(spec)) return;
    if (isDataKind(spec.kind)) return this.#bringUpAlone(spec, false, signal);
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
    if (!isResident(spec)) return;
    if (isDataKind(spec.kind)) return this.#bringUpAlone(spec, true, signal);
    const before = await this.#running(spec.deploymentId);
    const { generation: oldest, count } = generationToReplace(before, spec.configuration.replicas);
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
    return Promise.all(
      rows.map(async (row) => {
        const { id, state, address, given_port, restarts, exit_detail } = row;
        const port = (await this.#backend.ownPort?.(row)) ?? row.port;
        return { id, state, address, port, givenPort: given_port, restarts, exitDetail: exit_detail };
      }),
    );
  }

  runAttempt(spec: ReleaseSpec, attempt: RunAttempt, signal: AbortSignal): Promise<AttemptOutcome> {
    return this.#attempts.run(spec, attempt, signal);
  }

  stopRun(runId: string): Promise<void> {
    return this.#attempts.stop(runId);
  }

  /**
   * Brings up the one server of a volume, after every other one of the service has ended; with `fresh` after its own as well. Work on
   * the volume and a deployment that is under way are waited for.
   * Throws `ReleaseError`, also if a server cannot be stopped because its host is away.
   */
  async #bringUpAlone(spec: ReleaseSpec, fresh: boolean, signal: AbortSignal): Promise<void> {
    const { db } = this.#deps;
    const deadline = Date.now() + HELD_MS;
    for (;;) {
      const held = await isHeld(db, spec.serviceId);
      if (!held && !(await isReleasing(db, spec.serviceId, spec.deploymentId))) break;
      const why = held ? 'somebody works on its volume' : 'a deployment of it starts its server';
      if (Date.now() >= deadline) throw new ReleaseError(`${why}; try again later`);
      await replicaChange(this.#deps.listener, POLL_MS, signal);
    }
    if (!(await isCurrentRelease(db, spec.deploymentId))) throw new ReleaseError('another release took its place');
    for (const deploymentId of await runningReleases(db, spec.serviceId)) {
      if (fresh || deploymentId !== spec.deploymentId) await this.#bringDown(deploymentId);
    }
    await this.#bringUp(spec, 1, false, signal);
  }

  /** The host that runs a release: this one, or the one that has its volume. Throws `ReleaseError` if there is none. */
  async #hostOf(spec: ReleaseSpec): Promise<string> {
    const { kind, serviceId } = spec;
    const { db, hostId } = this.#deps;
    if (!isDataKind(kind)) return hostId;
    if (this.#backend.hostOfData) return this.#backend.hostOfData(spec);
    const able = await hostFor(db, kind, hostId);
    if (able === null) throw new ReleaseError(`no host that is online can run ${kind}`);
    const settled = await settleHost(db, serviceId, able);
    if (await isHostOnline(db, settled)) return settled;
    throw new ReleaseError(`the host ${settled}, which has its volume, is away; no other host can have its data`);
  }

  /** Writes that the replicas are wanted and waits until all of their generation are ready. Returns the generation. */
  async #bringUp(spec: ReleaseSpec, count: number, fresh: boolean, signal: AbortSignal): Promise<number> {
    signal.throwIfAborted();
    const { db, config } = this.#deps;
    const release = {
      serviceId: spec.serviceId,
      deploymentId: spec.deploymentId,
      hostId: await this.#hostOf(spec),
      volumeId: isDataKind(spec.kind) ? spec.serviceId : null,
    };
    const generation = await wantReplicas(db, release, count, fresh);
    const deadline = Date.now() + config.releaseTimeoutSeconds * 1000;
    for (;;) {
      const rows = (await this.#running(spec.deploymentId)).filter((row) => row.generation === generation);
      const outcome = rolloutOutcome(rows, count, Date.now() >= deadline);
      switch (outcome.type) {
        case 'ready':
          return generation;
        case 'stopped':
          throw new ReleaseError('the release was stopped while it was starting');
        case 'failed':
          throw new ReleaseError(await this.#backend.explainExit(spec, outcome.row));
        case 'late':
          throw new ReleaseError(await this.#backend.explainSilence(spec, rows));
        case 'incomplete':
          await wantReplicas(db, release, count, false);
          break;
        case 'pending':
          break;
      }
      await replicaChange(this.#deps.listener, Math.min(POLL_MS, deadline - Date.now()), signal);
    }
  }

  /** Stops these replicas, or all, and resolves when none of them is left. Throws `ReleaseError` if one is left too long. */
  async #bringDown(deploymentId: string, rows?: readonly ReplicaRow[]): Promise<void> {
    if (rows?.length === 0) return;
    const { db, config } = this.#deps;
    const ids = rows?.map((row) => row.id);
    const deadline = stopDeadline(config);
    await wantStopped(db, deploymentId, ids);
    for (;;) {
      const left = (await replicasOf(db, deploymentId)).filter((row) => ids === undefined || ids.includes(row.id));
      if (left.length === 0) return;
      if (Date.now() >= deadline) {
        const where = left.map((row) => `replica ${row.position} (${row.state}) on host ${row.host_id}`).join(', ');
        throw new ReleaseError(`not stopped in time: ${where}; a worker must run on that host`);
      }
      await replicaChange(this.#deps.listener, POLL_MS, new AbortController().signal);
    }
  }

  /** The replicas that are to run. A replacement counts only after it has taken the place of the failing replica. */
  async #running(deploymentId: string): Promise<ReplicaRow[]> {
    const rows = await replicasOf(this.#deps.db, deploymentId);
    return rows.filter((row) => row.desired === 'running' && row.replaces === null);
  }
}

/** True for a release that runs all the time: a site has no process, and a cron service has one only while a run lasts. */
function isResident({ kind, image }: ReleaseSpec): boolean {
  return image.manifest.type !== 'static' && kind !== 'cron';
}
