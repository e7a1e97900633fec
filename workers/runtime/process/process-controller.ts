import { setTimeout as sleep } from 'node:timers/promises';
import { errorMessage } from '../../../shared/core/error-registry.js';
import { exists } from '../../../shared/core/exists.js';
import { isDataKind } from '../../../shared/services/model.js';
import { limitsOf } from '../../../shared/services/plan-catalog.js';
import { ReleaseError } from '../../failures/explained-errors.js';
import { replicaDrained } from '../../releases/edges-applied.js';
import { recordFrozen, recordThawed } from '../../replicas/freeze-store.js';
import type { ReplicaRow } from '../../replicas/rows.js';
import { abandonStart, isAbandoned, recordProcess, releaseReplica } from '../../replicas/start-store.js';
import { recordExit, recordStopped } from '../../replicas/store.js';
import type { PausedSandbox, StartedProcess } from '../../sandbox/sandbox.js';
import type { ServiceVolumes } from '../../volumes/service-volumes.js';
import type { HostAllowance } from '../log-allowance.js';
import type { ReplicaController } from '../replica-host.js';
import { isExplained, RetainedRelease } from '../retained-release.js';
import type { ReleaseSpec } from '../runtime-driver.js';
import { claimWithPort, dataServicesOf, type PortDeps } from './claim-port.js';
import { decidePortLoss, decideProcessReplica, isCpuLimited, type ProcessAction } from './decide-process-replica.js';
import { ReplicaFiles } from './replica-files.js';
import { ReplicaHealth } from './replica-health.js';
import { ReplicaOutput } from './replica-output.js';
import {
  graceMsOf,
  imageFolder,
  type ProcessRuntimeDeps,
  processOf,
  processOfImage,
  replicaSandbox,
  sandboxIdOf,
  toolsOf,
  UNRECORDED,
} from './replica-sandbox.js';

const FOLLOW_MS = 250;
/** Polling interval for a watched replica, in case a notification was missed. */
const WATCHED_MS = 5_000;
/** Polling interval for a replica that this worker did not start or cannot watch. */
const UNWATCHED_MS = 400;

type Deps = ProcessRuntimeDeps & PortDeps & { volumes: ServiceVolumes };

/** Reconciles one replica that runs as a process. */
export class ProcessController implements ReplicaController {
  readonly #deps: Deps;
  readonly #id: string;
  readonly #files: ReplicaFiles;
  readonly #wake: () => void;
  readonly #release: RetainedRelease;
  #health: ReplicaHealth;
  readonly #output: ReplicaOutput;
  #attempt = -1;
  #portLosses = 0;
  /** The attempt whose CPU has been limited to the plan; -1 for none. */
  #limitedAttempt = -1;
  /** The attempt whose process is a child of this worker; -1 for none. */
  #ownAttempt = -1;
  /** The row of the last reconciliation. `#reconciledAt` is null during a reconciliation, and after one that failed. */
  #row: ReplicaRow | null = null;
  #reconciledAt: number | null = null;
  /** If this worker dies, the processes run until another worker freezes them again. */
  #frozen: PausedSandbox | null = null;
  /** True if something has changed since the last reconciliation started. */
  #woken = true;

  constructor(deps: Deps, id: string, wake: () => void, logShare: HostAllowance) {
    this.#deps = deps;
    this.#id = id;
    this.#files = new ReplicaFiles({ dataDir: deps.config.dataDir, log: deps.log }, id);
    this.#wake = () => {
      this.#woken = true;
      wake();
    };
    const release = new RetainedRelease(deps.loadRelease);
    this.#release = release;
    this.#health = new ReplicaHealth(deps);
    this.#output = new ReplicaOutput(deps, this.#files.output, { release, share: logShare, current: () => this.#row });
  }

  get nextCheckAt(): number {
    // Attempts of runs and frozen replicas have no health checks.
    const { run_id = null, state } = this.#row ?? {};
    return run_id !== null || state === 'frozen' ? Number.POSITIVE_INFINITY : this.#health.nextCheckAt;
  }

  isIdle(row: ReplicaRow): boolean {
    const [seen, at] = [this.#row, this.#reconciledAt];
    if (this.#woken || seen === null || at === null || row.desired === 'stopped') return false;
    const now = Date.now();
    if (seen.updated_at.getTime() !== row.updated_at.getTime() || now >= this.nextCheckAt) return false;
    if (row.next_start_at !== null && row.next_start_at.getTime() <= now) return false;
    // No notification reports when a backup's pause ends, after which the replica must be thawed.
    if (row.state === 'frozen' && !row.to_freeze) return false;
    return now - at < (this.isWatched(row) ? WATCHED_MS : UNWATCHED_MS);
  }

  isWatched(row: ReplicaRow): boolean {
    return this.#ownAttempt === row.restarts && this.#output.isWatched;
  }

  async reconcile(row: ReplicaRow): Promise<void> {
    this.#woken = false;
    this.#reconciledAt = null;
    this.#row = row;
    const alive = row.pid !== null && (await this.#deps.sandbox.isAlive(processOf(row)));
    for (const action of decideProcessReplica({ row, alive, frozen: this.#frozen !== null }, Date.now())) {
      await this.#apply(row, action);
    }
    this.#reconciledAt = Date.now();
  }

  close(): void {
    this.#output.close();
    this.#deps.data?.health.forget(this.#id);
    this.#resume().catch(() => undefined);
  }

  #apply(row: ReplicaRow, action: ProcessAction): Promise<void> {
    const actions: Record<ProcessAction, () => Promise<void>> = {
      start: () => this.#start(row),
      abandonAttempt: () => this.#abandonAttempt(row),
      recordEnd: () => this.#recordEnd(row),
      followOutput: () => this.#followOutput(row),
      checkHealth: () => this.#checkHealth(row),
      freeze: () => this.#freeze(row),
      thaw: () => this.#thaw(row),
      drain: () => replicaDrained(this.#deps.db, row),
      stop: () => this.#stop(row),
    };
    return actions[action]();
  }

  async #followOutput(row: ReplicaRow): Promise<void> {
    if (this.#attempt !== row.restarts) this.#beginAttempt(row);
    await this.#limitCpu(row);
    this.#output.watch();
    await this.#output.follow(row, false);
  }

  /** Rejects on a fault of the platform, such as an unreachable database, and is then retried. */
  async #start(row: ReplicaRow): Promise<void> {
    try {
      const spec = await this.#release.readAnew(row);
      const port = await claimWithPort(this.#deps, row, spec);
      if (port === 'lost') return;
      this.#beginAttempt(row);
      const process = await this.#run(row, spec, port);
      this.#ownAttempt = row.restarts;
      const { address } = process;
      const place = address === undefined ? undefined : { address, port: process.port ?? port, given_port: port };
      if (!(await recordProcess(this.#deps.db, row, process.pid, process.startedAt, place))) {
        await this.#deps.sandbox.stop(sandboxIdOf(row), process, 0);
      }
      this.#wake();
    } catch (error) {
      if (!isExplained(error)) throw error;
      // This worker is no longer the leader. The new leader kills the attempt's processes.
      if (await isAbandoned(this.#deps.db, row)) return;
      this.#deps.log.error({ replica: this.#id, err: error }, 'a replica could not be started');
      await recordExit(this.#deps.db, row, `could not be started: ${errorMessage(error)}`);
    }
  }

  async #run(row: ReplicaRow, spec: ReleaseSpec, port: number | null): Promise<StartedProcess> {
    const { config, sandbox, toolchains } = this.#deps;
    const { work } = this.#files;
    const isData = isDataKind(spec.kind);
    const image = imageFolder(config.dataDir, spec);
    if (!isData && !(await exists(image))) throw new ReleaseError('its image is not on this host');
    try {
      const tools = isData ? [] : await toolsOf(spec, toolchains);
      const volumes = isData ? [] : await this.#deps.volumes.prepare(row, sandbox);
      await this.#files.prepare();
      const described = isData
        ? { ...(await dataServicesOf(this.#deps).prepare(spec, port ?? 0, work)), id: sandboxIdOf(row) }
        : replicaSandbox(row, spec, { port, image, directory: work, tools, volumes, ...processOfImage(spec, sandbox) });
      return await sandbox.start(described, {
        logFile: this.#files.output,
        exitFile: this.#files.exit,
        onExit: this.#wake,
      });
    } catch (error) {
      throw new ReleaseError(errorMessage(error));
    }
  }

  /** A new replica may exceed its plan's CPU limit for some time. */
  async #limitCpu(row: ReplicaRow): Promise<void> {
    if (this.#limitedAttempt === row.restarts || !isCpuLimited(row, Date.now())) return;
    const spec = await this.#release.readable(row);
    if (spec) {
      await this.#deps.sandbox.limitCpu(sandboxIdOf(row), limitsOf(spec.kind, spec.configuration.plan).cpu);
    }
    this.#limitedAttempt = row.restarts;
  }

  /**
   * The worker that claimed the attempt has died or lost leadership. If it has recorded a process meanwhile, the next
   * reconciliation adopts that process.
   */
  async #abandonAttempt(row: ReplicaRow): Promise<void> {
    const { db, sandbox } = this.#deps;
    if (await abandonStart(db, row)) {
      await sandbox.stop(sandboxIdOf(row), UNRECORDED, 0);
      await releaseReplica(db, row);
    }
    this.#wake();
  }

  async #checkHealth(row: ReplicaRow): Promise<void> {
    const spec = await this.#release.read(row);
    const finding = await this.#health.check(row, spec);
    if (finding === 'portLost') await this.#losePort(row);
    else if (finding === 'silent') await this.#endSilent(row);
  }

  async #freeze(row: ReplicaRow): Promise<void> {
    this.#frozen = await this.#deps.sandbox.pause(sandboxIdOf(row));
    let recorded = false;
    try {
      recorded = await recordFrozen(this.#deps.db, row);
    } finally {
      // A request may have woken the service meanwhile.
      if (!recorded) await this.#resume();
    }
  }

  async #thaw(row: ReplicaRow): Promise<void> {
    // A worker that hangs may still keep the processes frozen. They are frozen here too, because only then can this
    // worker resume them.
    this.#frozen ??= await this.#deps.sandbox.pause(sandboxIdOf(row));
    await this.#resume();
    this.#health = new ReplicaHealth(this.#deps);
    if (await this.#deps.sandbox.isAlive(processOf(row))) await recordThawed(this.#deps.db, row);
  }

  async #resume(): Promise<void> {
    const frozen = this.#frozen;
    this.#frozen = null;
    await frozen?.resume();
  }

  /** Ends a database server that does not respond. The next reconciliation starts it again. */
  async #endSilent(row: ReplicaRow): Promise<void> {
    const { db, sandbox, config, data } = this.#deps;
    // Database servers recover from their own journals if they are killed.
    await sandbox.stop(sandboxIdOf(row), processOf(row), config.stopGraceSeconds * 1000);
    data?.health.forget(row.id);
    await this.#output.follow(row, true);
    await recordExit(db, row, `gave no answer for ${config.healthReplaceSeconds} s and was ended`);
    this.#wake();
  }

  async #losePort(row: ReplicaRow): Promise<void> {
    const { db, log, sandbox } = this.#deps;
    const detail = `lost its port ${row.port} to another process of this host`;
    this.#portLosses += 1;
    log.error({ replica: this.#id, port: row.port, times: this.#portLosses }, `a replica ${detail}`);
    for (const action of decidePortLoss(row.ready_at !== null, this.#portLosses)) {
      if (action === 'kill') await sandbox.stop(sandboxIdOf(row), processOf(row), 0);
      else if (action === 'finishOutput') await this.#output.follow(row, true);
      else if (action === 'startAgain') await releaseReplica(db, row);
      else await recordExit(db, row, detail, action === 'recordExitAtOnce' ? { delayMs: 0 } : {});
    }
    this.#wake();
  }

  async #recordEnd(row: ReplicaRow): Promise<void> {
    await this.#deps.sandbox.stop(sandboxIdOf(row), processOf(row), 0);
    if (!(await this.#output.follow(row, true))) return;
    const spec = await this.#release.readable(row);
    const memoryMb = spec === null ? 0 : limitsOf(spec.kind, spec.configuration.plan).memoryMb;
    const { detail, exitCode } = await this.#files.howItEnded(memoryMb);
    await recordExit(this.#deps.db, row, spec === null ? 'ended' : detail, { exitCode });
  }

  async #stop(row: ReplicaRow): Promise<void> {
    const { db, sandbox, config } = this.#deps;
    const process = row.pid === null ? UNRECORDED : processOf(row);
    let running = true;
    const graceMs = graceMsOf(row, config.stopGraceSeconds);
    const stopped = sandbox.stop(sandboxIdOf(row), process, graceMs).finally(() => {
      running = false;
    });
    // If copying the output fails, nothing awaits this promise, and its rejection must not crash the worker.
    stopped.catch(() => undefined);
    while (running) {
      await Promise.race([stopped, sleep(FOLLOW_MS)]);
      if (running) await this.#output.follow(row, false);
    }
    await stopped;
    if (!(await this.#output.follow(row, true))) return;
    this.#output.close();
    await this.#files.remove();
    await recordStopped(db, row);
  }

  #beginAttempt(row: ReplicaRow): void {
    this.#attempt = row.restarts;
    this.#health = new ReplicaHealth(this.#deps);
  }
}
