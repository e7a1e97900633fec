import type { Db } from '../../shared/core/database/database-client.js';
import { hostFor, isHostOnline, settleHost } from '../../shared/data/store.js';
import type { AttemptOutcome } from '../../shared/runs/model.js';
import { isDataKind } from '../../shared/services/model.js';
import { ReleaseError } from '../failures/explained-errors.js';
import { isCurrentRelease, isReleasing, runningReleases } from '../releases/release-store.js';
import { wantReplicas, wantStopped } from '../replicas/desire-store.js';
import type { ReplicaRow } from '../replicas/rows.js';
import { replicasOf } from '../replicas/store.js';
import { isHeld } from '../volumes/holds.js';
import { settleVolumes } from '../volumes/volume-store.js';
import { explainExit, explainSilence } from './explain-release.js';
import { replicaChange } from './replica-change.js';
import type { ReplicaHost } from './replica-host.js';
import { POLL_MS, type ReplicaRuntimeDeps, stopDeadline } from './replica-runtime-deps.js';
import { generationToReplace, rolloutOutcome } from './rollout.js';
import { runAttempt, stopRun } from './run-attempts.js';
import type { ReleaseSpec, RunAttempt, RuntimeDriver } from './runtime-driver.js';
import { Supervisor } from './supervisor.js';
import { UsageSampler } from './usage-sampler.js';

/** How long a replica's start waits while a backup, a restore or another deployment uses its volume. */
const VOLUME_WAIT_MS = 120_000;

/** Writes the desired state to the table `replicas`, and waits until the observed state matches. */
export class ReplicaRuntime implements RuntimeDriver {
  readonly #deps: ReplicaRuntimeDeps;
  readonly #host: ReplicaHost;
  readonly #supervisor: Supervisor;
  readonly #sampler: UsageSampler;

  constructor(deps: ReplicaRuntimeDeps, host: ReplicaHost) {
    this.#deps = deps;
    this.#host = host;
    this.#supervisor = new Supervisor(deps, host);
    this.#sampler = new UsageSampler(deps, host, () => host.isMeasuredByAll || this.#supervisor.leading);
  }

  async start(): Promise<void> {
    await this.#supervisor.start();
    this.#sampler.start();
  }

  async close(platformEnds = false): Promise<void> {
    await this.#sampler.close();
    await this.#supervisor.close(platformEnds);
    await this.#host.close?.();
  }

  async release(spec: ReleaseSpec, signal: AbortSignal): Promise<void> {
    if (!isResident(spec)) return;
    if (isAlone(spec)) return this.#bringUpAlone(spec, false, signal);
    await this.#bringUp(spec, spec.configuration.replicas, false, signal);
  }

  async stop(deploymentId: string): Promise<void> {
    await this.#bringDown(deploymentId);
  }

  async scale(spec: ReleaseSpec, replicas: number, signal: AbortSignal): Promise<void> {
    if (!isResident(spec)) return;
    if (replicas === 0) return this.#bringDown(spec.deploymentId);
    if (isAlone(spec)) return this.#bringUpAlone(spec, false, signal);
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
    if (isAlone(spec)) return this.#bringUpAlone(spec, true, signal);
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

  async inspect(deploymentId: string): Promise<ReplicaRow[]> {
    const rows = await replicasOf(this.#deps.db, deploymentId);
    return Promise.all(rows.map(async (row) => ({ ...row, port: (await this.#host.ownPort?.(row)) ?? row.port })));
  }

  runAttempt(spec: ReleaseSpec, attempt: RunAttempt, signal: AbortSignal): Promise<AttemptOutcome> {
    return runAttempt(this.#deps, spec, attempt, signal);
  }

  stopRun(runId: string): Promise<void> {
    return stopRun(this.#deps, runId);
  }

  /**
   * Starts the only replica of a service with a volume. Before that, waits until no operation or deployment uses the
   * volume, and stops the replicas of all other releases. If `fresh` is true, also stops the replica of this release.
   */
  async #bringUpAlone(spec: ReleaseSpec, fresh: boolean, signal: AbortSignal): Promise<void> {
    const { db } = this.#deps;
    const deadline = Date.now() + VOLUME_WAIT_MS;
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

  /**
   * Returns the host on which to run a release: the host of its data, or this host if it has no data. Throws
   * `ReleaseError` if the host of the data is offline, or if no host can run the database.
   */
  async #hostOf(spec: ReleaseSpec): Promise<string> {
    const { kind, serviceId } = spec;
    const { db, hostId } = this.#deps;
    if (spec.hasVolumes) {
      const settled = (await settleVolumes(db, serviceId, hostId)) ?? hostId;
      return settled === hostId ? hostId : onlineHost(db, settled);
    }
    if (!isDataKind(kind)) return hostId;
    if (this.#host.hostOfData) return this.#host.hostOfData(spec);
    const able = await hostFor(db, kind, hostId);
    if (able === null) throw new ReleaseError(`no host that is online can run ${kind}`);
    return onlineHost(db, await settleHost(db, serviceId, able));
  }

  /**
   * Requests replicas, waits until all are ready, and returns their generation. Throws `ReleaseError` if a replica
   * fails.
   */
  async #bringUp(spec: ReleaseSpec, count: number, fresh: boolean, signal: AbortSignal): Promise<number> {
    signal.throwIfAborted();
    const { db, config } = this.#deps;
    const release = {
      serviceId: spec.serviceId,
      deploymentId: spec.deploymentId,
      hostId: await this.#hostOf(spec),
      volumeId: isAlone(spec) ? spec.serviceId : null,
    };
    const generation = await wantReplicas(db, release, count, fresh);
    const deadline = Date.now() + config.releaseTimeoutSeconds * 1000;
    for (;;) {
      const rows = (await this.#running(spec.deploymentId)).filter((row) => row.generation === generation);
      const outcome = rolloutOutcome(rows, count, Date.now() >= deadline);
      if (outcome.type === 'ready') return generation;
      if (outcome.type === 'stopped') throw new ReleaseError('the release was stopped while it was starting');
      if (outcome.type === 'failed') throw new ReleaseError(await explainExit(this.#host, spec, outcome.row));
      if (outcome.type === 'late') throw new ReleaseError(await explainSilence(this.#host, config, spec, rows));
      if (outcome.type === 'incomplete') await wantReplicas(db, release, count, false);
      await replicaChange(this.#deps.listener, Math.min(POLL_MS, deadline - Date.now()), signal);
    }
  }

  /** Stops the given replicas, or all replicas of the deployment. */
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
      await replicaChange(this.#deps.listener, POLL_MS);
    }
  }

  /** Leaves out replacements: `replaces` is null once a replacement has taken the place of the failing replica. */
  async #running(deploymentId: string): Promise<ReplicaRow[]> {
    const rows = await replicasOf(this.#deps.db, deploymentId);
    return rows.filter((row) => row.desired === 'running' && row.replaces === null);
  }
}

/** Returns true if two replicas must not run at once, because they would use the same volume. */
function isAlone({ kind, hasVolumes = false }: ReleaseSpec): boolean {
  return isDataKind(kind) || hasVolumes;
}

async function onlineHost(db: Db, hostId: string): Promise<string> {
  if (await isHostOnline(db, hostId)) return hostId;
  throw new ReleaseError(`the host ${hostId}, which has its volume, is away; no other host can have its data`);
}

/** A static site never has processes, and a cron service has them only during a run. */
function isResident({ kind, image }: ReleaseSpec): boolean {
  return image.manifest.type !== 'static' && kind !== 'cron';
}
