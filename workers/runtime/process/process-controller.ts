import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { errorMessage } from '../../../shared/core/errors.js';
import { exists } from '../../../shared/core/exists.js';
import { recordAttemptEnd } from '../../../shared/replicas/attempt-store.js';
import { restingPorts } from '../../../shared/replicas/port-store.js';
import type { ReplicaRow } from '../../../shared/replicas/rows.js';
import {
  claimReplica,
  recordExit,
  recordPort,
  recordProcess,
  recordStopped,
  releaseReplica,
  replicasOfHost,
} from '../../../shared/replicas/store.js';
import { isDataKind, listensOnPort } from '../../../shared/services/model.js';
import { limitsOf, planOf } from '../../../shared/workspaces/catalog.js';
import type { DataServices } from '../../data/data-services.js';
import type { TakenPorts } from '../../data/server-ports.js';
import { replicaDrained } from '../../edges-applied.js';
import { scopeOf } from '../../network/network-model.js';
import type { SandboxSpec, StartedProcess } from '../../sandbox/sandbox.js';
import { HealthWatch } from '../health-watch.js';
import type { HostAllowance } from '../log-allowance.js';
import { isExplained, maskerOf, RetainedRelease } from '../retained-release.js';
import { ReleaseError, type ReleaseSpec } from '../runtime-driver.js';
import type { ReplicaController } from '../supervisor.js';
import {
  decidePortLoss,
  decideProcessReplica,
  isCpuLimited,
  type ProcessAction,
  startingCpu,
} from './decide-process-replica.js';
import type { Firewall } from './firewall.js';
import { freePort } from './free-port.js';
import { LogTail } from './log-tail.js';
import { OutputWatch } from './output-watch.js';
import { PortFinder } from './port-finder.js';
import { ReplicaFiles } from './replica-files.js';
import { NOBODY, type ProcessRuntimeDeps, processOf, sandboxIdOf, toolsOf } from './replica-sandbox.js';

const PORT_TRIES = 20;
/** The least time that the server of a data service has to stop, in milliseconds. */
export const SERVER_GRACE_MS = 30_000;
/** Output is copied this often while a replica stops, in milliseconds. */
const FOLLOW_MS = 250;
/** A replica of which nothing was observed is looked at after this time, in milliseconds: its end or output may have been missed. */
const WATCHED_MS = 5_000;
/** The same if this worker did not start its process, or cannot watch its output. */
const UNWATCHED_MS = 400;

type Deps = ProcessRuntimeDeps & { firewall: Pick<Firewall, 'apply'> };

/** Reconciles one replica that runs as a process: observes it and applies what `decideProcessReplica` decides. */
export class ProcessController implements ReplicaController {
  readonly #deps: Deps;
  readonly #id: string;
  readonly #files: ReplicaFiles;
  readonly #wake: () => void;
  readonly #release: RetainedRelease;
  readonly #logShare: HostAllowance;
  readonly #health: HealthWatch;
  readonly #output: OutputWatch;
  readonly #ports: PortFinder;
  #tail: LogTail | null = null;
  #following: Promise<unknown> = Promise.resolve();
  #attempt = -1;
  #portLosses = 0;
  /** The attempt whose processor use is limited to the plan. */
  #limitedAttempt = -1;
  /** The attempt whose process is a child of this worker, so that its end is noticed at once. */
  #ownAttempt = -1;
  /** The row of the last reconciliation, and when that ended; null while one runs, or after it failed. */
  #row: ReplicaRow | null = null;
  #reconciledAt: number | null = null;
  /** True if something was observed since the last reconciliation began. */
  #woken = true;

  constructor(deps: Deps, id: string, wake: () => void, logShare: HostAllowance) {
    this.#deps = deps;
    this.#id = id;
    this.#files = new ReplicaFiles({ dataDir: deps.config.dataDir, log: deps.log }, id);
    this.#wake = () => {
      this.#woken = true;
      wake();
    };
    this.#logShare = logShare;
    this.#release = new RetainedRelease(deps.loadRelease);
    this.#health = new HealthWatch(deps.db, deps.config, { probe: deps.data ?? undefined });
    this.#output = new OutputWatch(this.#files.output, () => this.#followNews());
    this.#ports = new PortFinder(deps.sandbox);
  }

  get nextCheckAt(): number {
    // The attempt of a run has no health: it is only waited for.
    return this.#row !== null && this.#row.run_id !== null ? Number.POSITIVE_INFINITY : this.#health.nextCheckAt;
  }

  isIdle(row: ReplicaRow): boolean {
    const [seen, at] = [this.#row, this.#reconciledAt];
    if (this.#woken || seen === null || at === null || row.desired === 'stopped') return false;
    const now = Date.now();
    if (seen.updated_at.getTime() !== row.updated_at.getTime() || now >= this.nextCheckAt) return false;
    if (row.next_start_at !== null && row.next_start_at.getTime() <= now) return false;
    const isWatched = this.#ownAttempt === row.restarts && this.#output.active;
    return now - at < (isWatched ? WATCHED_MS : UNWATCHED_MS);
  }

  async reconcile(row: ReplicaRow): Promise<void> {
    this.#woken = false;
    this.#reconciledAt = null;
    this.#row = row;
    const alive = row.pid !== null && (await this.#deps.sandbox.isAlive(processOf(row)));
    for (const action of decideProcessReplica({ row, alive }, Date.now())) await this.#apply(row, action);
    this.#reconciledAt = Date.now();
  }

  close(): void {
    this.#output.close();
    this.#deps.data?.forget(this.#id);
  }

  async #apply(row: ReplicaRow, action: ProcessAction): Promise<void> {
    switch (action) {
      case 'start':
        return this.#start(row);
      case 'abandonAttempt':
        return this.#abandonAttempt(row);
      case 'recordEnd':
        return this.#recordEnd(row);
      case 'followOutput':
        if (this.#attempt !== row.restarts) this.#beginAttempt(row);
        await this.#limitCpu(row);
        this.#output.open();
        await this.#follow(row, false);
        return;
      case 'checkHealth':
        return this.#checkHealth(row);
      case 'drain':
        return replicaDrained(this.#deps.db, row);
      case 'stop':
        return this.#stop(row);
    }
  }

  /** Rejects with a fault of the platform, such as a database that does not answer; the supervisor then tries again. */
  async #start(row: ReplicaRow): Promise<void> {
    try {
      const spec = await this.#release.readAnew(row.deployment_id);
      const port = await this.#claim(row, spec);
      if (port === 'lost') return;
      this.#beginAttempt(row);
      const process = await this.#run(row, spec, port);
      this.#ownAttempt = row.restarts;
      const { address } = process;
      const place = address === undefined ? undefined : { address, port, given_port: port };
      if (!(await recordProcess(this.#deps.db, row, process.pid, process.startedAt, place))) {
        await this.#deps.sandbox.stop(sandboxIdOf(row), process, 0);
      }
      this.#wake();
    } catch (error) {
      if (!isExplained(error)) throw error;
      this.#deps.log.error({ replica: this.#id, err: error }, 'a replica could not be started');
      await recordExit(this.#deps.db, row, `could not be started: ${errorMessage(error)}`, new Date());
    }
  }

  async #run(row: ReplicaRow, spec: ReleaseSpec, port: number | null): Promise<StartedProcess> {
    const isData = isDataKind(spec.kind);
    if (!isData && !(await exists(this.#imageOf(spec)))) throw new ReleaseError('its image is not on this host');
    try {
      const tools = isData ? [] : await toolsOf(spec, this.#deps.toolchains);
      await this.#files.prepare();
      const described = isData
        ? { ...(await this.#data().prepare(spec, port ?? 0, this.#files.work)), id: sandboxIdOf(row) }
        : { ...this.#sandboxSpec(row, spec, port), tools };
      return await this.#deps.sandbox.start(described, {
        logFile: this.#files.output,
        exitFile: this.#files.exit,
        onExit: this.#wake,
      });
    } catch (error) {
      throw new ReleaseError(errorMessage(error));
    }
  }

  async #claim(row: ReplicaRow, spec: ReleaseSpec): Promise<number | null | 'lost'> {
    const { db, config, sandbox } = this.#deps;
    if (isDataKind(spec.kind)) return this.#claimServerPort(row, spec);
    if (sandbox.network) {
      // The port is recorded with the address, which the sandbox gets when it is made.
      if ((await claimReplica(db, row, null)) === 'lost') return 'lost';
      return listensOnPort(spec.kind) ? spec.configuration.port : null;
    }
    for (let tries = 0; tries < PORT_TRIES; tries++) {
      const port = listensOnPort(spec.kind) ? await freePort(config.runtimePorts, await this.#takenPorts()) : null;
      const claim = await claimReplica(db, row, port);
      if (claim === 'claimed') {
        if (port !== null) await this.#deps.firewall.apply();
        return port;
      }
      if (claim === 'lost') return 'lost';
    }
    throw new ReleaseError('every port that was tried went to another replica');
  }

  /** The server of a data service has the port that applications know. */
  async #claimServerPort(row: ReplicaRow, spec: ReleaseSpec): Promise<number | 'lost'> {
    const { db, sandbox } = this.#deps;
    for (let tries = 0; tries < PORT_TRIES; tries++) {
      const port = await this.#data().claimPort(spec, await this.#usedPorts());
      const claim = await claimReplica(db, row, sandbox.network ? null : port);
      if (claim === 'lost') return 'lost';
      if (claim === 'taken') continue;
      if (!sandbox.network) await this.#deps.firewall.apply();
      return port;
    }
    throw new ReleaseError('every port that was tried went to another replica');
  }

  #data(): DataServices {
    const { data } = this.#deps;
    if (!data) throw new ReleaseError('this worker runs no databases');
    return data;
  }

  async #usedPorts(): Promise<TakenPorts> {
    const { db, hostId } = this.#deps;
    const [rows, resting] = await Promise.all([replicasOfHost(db, hostId), restingPorts(db, hostId)]);
    return { inUse: rows.flatMap((other) => other.port ?? []), resting };
  }

  /** Databases keep their ports while they are stopped. */
  async #takenPorts(): Promise<Set<number>> {
    const { inUse, resting } = await this.#usedPorts();
    return new Set([...inUse, ...resting, ...((await this.#deps.data?.reservedPorts()) ?? [])]);
  }

  #sandboxSpec(row: ReplicaRow, spec: ReleaseSpec, port: number | null): SandboxSpec {
    const { manifest } = spec.image;
    const plan = planOf(spec.configuration.plan);
    return {
      id: sandboxIdOf(row),
      command: manifest.startCommand,
      directory: this.#files.work,
      image: this.#imageOf(spec),
      cwd: manifest.workingDirectory,
      env: {
        ...spec.environment,
        RANVIER_SERVICE_ID: spec.serviceId,
        RANVIER_DEPLOYMENT_ID: spec.deploymentId,
        ...(port === null ? {} : { PORT: String(port) }),
        ...(row.run_id === null ? {} : { RANVIER_RUN_ID: row.run_id }),
      },
      userNumber: spec.userNumber,
      limits: { memoryMb: plan.memoryMb, cpu: this.#cpuAtStart(row, plan.cpu), pids: plan.pids },
      ...(port === null ? {} : { port }),
      network: { scope: scopeOf(spec), use: 'application', hostName: spec.slug },
    };
  }

  #imageOf(spec: ReleaseSpec): string {
    return join(this.#deps.config.dataDir, 'images', spec.image.digest);
  }

  /** A replica that was ready before, and ended, starts with its plan's processor: it could end often. */
  #cpuAtStart({ ready_at, run_id }: ReplicaRow, cpu: number): number {
    return ready_at === null && run_id === null ? startingCpu(cpu, availableParallelism()) : cpu;
  }

  /** Ends the time in which a new replica may use more processor than its plan has. */
  async #limitCpu(row: ReplicaRow): Promise<void> {
    if (this.#limitedAttempt === row.restarts || !isCpuLimited(row, Date.now())) return;
    const spec = await this.#release.readable(row.deployment_id);
    if (spec) {
      await this.#deps.sandbox.limitCpu(sandboxIdOf(row), limitsOf(spec.kind, spec.configuration.plan).cpu);
    }
    this.#limitedAttempt = row.restarts;
  }

  /** A worker died between the claim and the record of the process. What it started has the mark of that attempt. */
  async #abandonAttempt(row: ReplicaRow): Promise<void> {
    await this.#deps.sandbox.stop(sandboxIdOf(row), NOBODY, 0);
    await releaseReplica(this.#deps.db, row);
    this.#wake();
  }

  async #checkHealth(row: ReplicaRow): Promise<void> {
    const spec = await this.#release.read(row.deployment_id);
    if (isDataKind(spec.kind)) return this.#checkServer(row, spec);
    if (this.#deps.sandbox.allNetworks?.owns(row.address)) return this.#checkOwnNetwork(row, spec);
    let lost = false;
    let elsewhere: number | null = null;
    await this.#health.check(row, spec, async (port) => {
      const holder = await this.#deps.sandbox.portHolder(sandboxIdOf(row), spec.userNumber, row.address, port);
      lost = holder === 'stranger';
      if (holder === 'nobody' && row.state === 'starting') elsewhere = await this.#ports.findOnHost(row, spec);
      return holder === 'own' || holder === 'unknown';
    });
    if (lost) await this.#losePort(row);
    if (elsewhere !== null && (await recordPort(this.#deps.db, row, elsewhere))) await this.#deps.firewall.apply();
  }

  /** A server that gives no answer at all for too long is ended, and starts again: there is never a second one beside it. */
  async #checkServer(row: ReplicaRow, spec: ReleaseSpec): Promise<void> {
    const { db, sandbox, config, data } = this.#deps;
    await this.#health.check(row, spec, async () => true);
    const limitMs = config.healthReplaceSeconds * 1000;
    if (row.ready_at === null || (data?.silentMs(row.id) ?? 0) < limitMs) return;
    // It hardly hears a request to stop. What it has not written is in its log.
    await sandbox.stop(sandboxIdOf(row), processOf(row), config.stopGraceSeconds * 1000);
    data?.forget(row.id);
    await this.#follow(row, true);
    await recordExit(db, row, `gave no answer for ${config.healthReplaceSeconds} s and was ended`, new Date());
    this.#wake();
  }

  /** In a network of its own nobody else can have the replica's port, but the application may have chosen another one. */
  async #checkOwnNetwork(row: ReplicaRow, spec: ReleaseSpec): Promise<void> {
    if (Date.now() < this.#health.nextCheckAt) return;
    let port = row.port;
    if (row.state === 'starting' && port !== null) {
      port = (await this.#ports.find(row, spec)) ?? port;
      if (port !== row.port && !(await recordPort(this.#deps.db, row, port))) return;
    }
    await this.#health.check({ ...row, port }, spec, async () => true);
  }

  /** Another process of this host listens on the port to which the edge sends this replica's visitors. */
  async #losePort(row: ReplicaRow): Promise<void> {
    const { db, log, sandbox } = this.#deps;
    const detail = `lost its port ${row.port} to another process of this host`;
    this.#portLosses += 1;
    log.error({ replica: this.#id, port: row.port, times: this.#portLosses }, `a replica ${detail}`);
    for (const action of decidePortLoss(row.ready_at !== null, this.#portLosses)) {
      switch (action.type) {
        case 'kill':
          await sandbox.stop(sandboxIdOf(row), processOf(row), 0);
          break;
        case 'finishOutput':
          await this.#follow(row, true);
          break;
        case 'startAgain':
          await releaseReplica(db, row);
          break;
        case 'recordExit':
          await recordExit(db, row, detail, new Date(), action.delayMs);
          break;
      }
    }
    this.#wake();
  }

  async #recordEnd(row: ReplicaRow): Promise<void> {
    await this.#deps.sandbox.stop(sandboxIdOf(row), processOf(row), 0);
    if (!(await this.#follow(row, true))) return;
    const spec = await this.#release.readable(row.deployment_id);
    const memoryMb = spec && limitsOf(spec.kind, spec.configuration.plan).memoryMb;
    const detail = memoryMb === null ? 'ended' : await this.#files.exitDetail(memoryMb);
    if (row.run_id === null) return recordExit(this.#deps.db, row, detail, new Date());
    await recordAttemptEnd(this.#deps.db, row, { detail, exitCode: await this.#files.exitCode() });
  }

  async #stop(row: ReplicaRow): Promise<void> {
    const { db, sandbox, config } = this.#deps;
    const process = row.pid === null ? NOBODY : processOf(row);
    let running = true;
    // A server writes its data when it stops.
    const graceMs = Math.max(config.stopGraceSeconds * 1000, row.volume_id === null ? 0 : SERVER_GRACE_MS);
    const stopped = sandbox.stop(sandboxIdOf(row), process, graceMs).finally(() => {
      running = false;
    });
    // If copying the output fails first, nobody awaits this promise.
    stopped.catch(() => undefined);
    while (running) {
      await Promise.race([stopped, sleep(FOLLOW_MS)]);
      if (running) await this.#follow(row, false);
    }
    await stopped;
    if (!(await this.#follow(row, true))) return;
    this.#output.close();
    await this.#files.remove();
    await recordStopped(db, row);
  }

  #beginAttempt(row: ReplicaRow): void {
    this.#attempt = row.restarts;
    this.#health.begin();
    this.#ports.begin();
  }

  /** Copies output that was just printed. The process may have ended meanwhile; then a reconciliation copies the rest. */
  async #followNews(): Promise<void> {
    const row = this.#row;
    if (row !== null && row.pid !== null && row.desired === 'running') await this.#follow(row, false);
  }

  /** Returns false if another supervisor has moved the mark meanwhile. The next row that is read has the new mark. */
  #follow(row: ReplicaRow, final: boolean): Promise<boolean> {
    // One after the other: a reconciliation and news of the file may come at the same time.
    const mine = this.#following.then(() => this.#copyOutput(row, final));
    this.#following = mine.catch(() => undefined);
    return mine;
  }

  async #copyOutput(row: ReplicaRow, final: boolean): Promise<boolean> {
    const { db, logs } = this.#deps;
    const spec = await this.#release.readable(row.deployment_id);
    // Without the release its secrets are unknown and cannot be masked, so the output stays out of the log.
    if (!spec) return true;
    this.#tail ??= new LogTail(db, logs, this.#files.output, maskerOf(spec), row.log_offset, this.#logShare);
    const ours = await this.#tail.follow(row, final);
    if (!ours) this.#tail = null;
    return ours;
  }
}
