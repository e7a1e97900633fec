import { setTimeout as sleep } from 'node:timers/promises';
import type { Config } from '../../shared/core/config.js';
import type { Db, Transaction } from '../../shared/core/database/client.js';
import { CHANNELS, type Listener } from '../../shared/core/database/listener.js';
import type { Logger } from '../../shared/core/log.js';
import { hostFor, isHeld, isHostOnline, settleHost } from '../../shared/data/store.js';
import { isCurrentRelease, isReleasing, runningReleases } from '../../shared/deployments/release-store.js';
import type { LogLine } from '../../shared/logs/model.js';
import { countAttempts, findAttempt, stopAttempts, wantAttempt } from '../../shared/replicas/attempt-store.js';
import { wantReplicas, wantStopped } from '../../shared/replicas/desire-store.js';
import type { ReplicaRow } from '../../shared/replicas/rows.js';
import { replicasOf } from '../../shared/replicas/store.js';
import type { AttemptOutcome } from '../../shared/runs/model.js';
import { isDataKind } from '../../shared/services/model.js';
import { attemptProgress } from './attempt-progress.js';
import { generationToReplace, rolloutOutcome } from './rollout.js';
import {
  type CommandOptions,
  ReleaseError,
  type ReleaseSpec,
  type ReplicaView,
  type RunAttempt,
  type RuntimeDriver,
} from './runtime-driver.js';

/** Polling interval when no notification arrives, in milliseconds. */
const POLL_MS = 250;
/** Added to the grace period of the processes: edges have to drain, and another worker may have to take over the host. */
const STOP_SLACK_MS = 60_000;

/** The longest wait until work on a volume ends, in milliseconds. */
const HELD_MS = 120_000;

/** The same for a run, which may last for hours. */
const RUN_POLL_MS = 2_000;

/** What a runtime works with that keeps the wanted and the observed state of its replicas in the `replicas` table. */
export interface ReplicaRuntimeDeps {
  db: Db;
  listener: Listener;
  config: Config;
  log: Logger;
  /** Names the host in the `replicas` table, and the lock of its supervisor. */
  hostId: string;
  /** Loads a release as its deployment's snapshot describes it. Controllers call it when a replica starts. */
  loadRelease: (deploymentId: string) => Promise<ReleaseSpec>;
  logs: RuntimeLogs;
}

/** Stores lines of applications. The same transaction moves the mark in the output, so each line is stored exactly once. */
export interface RuntimeLogs {
  append(
    batch: { serviceId: string; deploymentId: string; source: 'runtime' | 'system'; lines: LogLine[] },
    trx: Transaction,
  ): Promise<void>;
}

/** The part of a runtime that differs between processes and Swarm. */
export interface RuntimeBackend {
  readonly name: string;
  /** Starts to compete for the lead of this host; the leader reconciles its replicas. */
  start(): Promise<void>;
  close(platformEnds: boolean): Promise<void>;
  /** Why a replica ended before it was ever ready. */
  explainExit(spec: ReleaseSpec, row: ReplicaRow): Promise<string>;
  /** Why a release is not ready in time although no replica has failed. */
  explainSilence(spec: ReleaseSpec, rows: readonly ReplicaRow[]): Promise<string>;
  runCommand(spec: ReleaseSpec, command: string, options: CommandOptions): Promise<void>;
  /** The host that runs a data service, if that does not follow from where the workers are. Throws `ReleaseError` if there is none. */
  hostOfData?(spec: ReleaseSpec): Promise<string>;
}

type Deps = Pick<ReplicaRuntimeDeps, 'db' | 'listener' | 'config' | 'hostId'>;

/**
 * Writes the wanted state into the `replicas` table and waits until the observed state matches. The supervisor of the host,
 * which may run in another worker, reconciles the two.
 */
export class ReplicaRuntime implements RuntimeDriver {
  readonly name: string;
  readonly #deps: Deps;
  readonly #backend: RuntimeBackend;

  constructor(deps: Deps, backend: RuntimeBackend) {
    this.name = backend.name;
    this.#deps = deps;
    this.#backend = backend;
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
    return rows.map(({ id, state, address, port, given_port, restarts, exit_detail }) => {
      return { id, state, address, port, givenPort: given_port, restarts, exitDetail: exit_detail };
    });
  }

  runCommand(spec: ReleaseSpec, command: string, options: CommandOptions): Promise<void> {
    return this.#backend.runCommand(spec, command, options);
  }

  async runAttempt(spec: ReleaseSpec, attempt: RunAttempt, signal: AbortSignal): Promise<AttemptOutcome> {
    signal.throwIfAborted();
    const { db, hostId, config } = this.#deps;
    const { runId, attempt: number, timeoutMs } = attempt;
    const { serviceId, deploymentId } = spec;
    await wantAttempt(db, { runId, runNumber: attempt.runNumber, attempt: number, serviceId, deploymentId, hostId });
    for (;;) {
      const row = await findAttempt(db, runId, number);
      const now = Date.now();
      const progress = attemptProgress(row, { now, timeoutMs, startMs: config.releaseTimeoutSeconds * 1000 });
      if (progress.type !== 'pending') {
        if (progress.type === 'timeout' || progress.type === 'notStarted') await this.stopRun(runId);
        return progress;
      }
      await this.#notified(Math.min(RUN_POLL_MS, progress.nextMs), signal);
    }
  }

  async stopRun(runId: string): Promise<void> {
    const { db, config } = this.#deps;
    await db.transaction((trx) => stopAttempts(trx, runId));
    const deadline = Date.now() + config.stopGraceSeconds * 1000 + STOP_SLACK_MS;
    while ((await countAttempts(db, runId)) > 0) {
      if (Date.now() >= deadline) {
        throw new ReleaseError(
          `run ${runId} was not stopped in time; a worker must run on the host that carries it out`,
        );
      }
      await this.#notified(POLL_MS, new AbortController().signal);
    }
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
      await this.#notified(POLL_MS, signal);
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
      await this.#notified(Math.min(POLL_MS, deadline - Date.now()), signal);
    }
  }

  /** Stops these replicas, or all, and resolves when none of them is left. Throws `ReleaseError` if one is left too long. */
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
      await this.#notified(POLL_MS, new AbortController().signal);
    }
  }

  /** The replicas that are wanted. One that starts to take a failing one's place is not among them before it has the place. */
  async #running(deploymentId: string): Promise<ReplicaRow[]> {
    const rows = await replicasOf(this.#deps.db, deploymentId);
    return rows.filter((row) => row.desired === 'running' && row.replaces === null);
  }

  /** Resolves when a replica has changed, or after `ms`. Rejects with the signal's reason. */
  async #notified(ms: number, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    const news = new AbortController();
    const unlisten = this.#deps.listener.on(CHANNELS.replica, () => news.abort());
    try {
      await sleep(Math.max(1, ms), undefined, { signal: AbortSignal.any([signal, news.signal]) });
    } catch (error) {
      if (!news.signal.aborted || signal.aborted) {
        signal.throwIfAborted();
        throw error;
      }
    } finally {
      unlisten();
    }
  }
}

/** True for a release that runs all the time: a site has no process, and a cron service has one only while a run lasts. */
function isResident({ kind, image }: ReleaseSpec): boolean {
  return image.manifest.type !== 'static' && kind !== 'cron';
}
