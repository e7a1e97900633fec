import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  claimReplica,
  recordExit,
  recordProcess,
  recordStopped,
  releaseReplica,
  replicasOfHost,
} from '../../../shared/db/replicas.js';
import type { ReplicaRow } from '../../../shared/db/rows.js';
import { planOf } from '../../../shared/domain/catalog.js';
import { listensOnPort } from '../../../shared/domain/service.js';
import { errorMessage } from '../../../shared/errors.js';
import { exists } from '../../folders.js';
import type { DetachedProcess, SandboxSpec } from '../../sandbox/sandbox.js';
import { ReleaseError, type ReleaseSpec } from '../driver.js';
import { HealthWatch } from '../health-watch.js';
import { isExplained, KeptRelease } from '../kept-release.js';
import { edgesLetGo } from '../let-go.js';
import { maskerOf } from '../masker.js';
import type { Keeper } from '../supervisor.js';
import { NOBODY, type ProcessRuntimeDeps, processOf, sandboxIdOf } from './deps.js';
import { ReplicaFiles } from './files.js';
import { LogTail } from './log-tail.js';
import { freePort } from './ports.js';

const PORT_TRIES = 20;
const FOLLOW_MS = 250;

/** Looks after one replica of this host: each call of `step` does what its row asks for now. */
export class ReplicaKeeper implements Keeper {
  readonly #deps: ProcessRuntimeDeps;
  readonly #id: string;
  readonly #files: ReplicaFiles;
  readonly #wake: () => void;
  readonly #release: KeptRelease;
  #tail: LogTail | null = null;
  #attempt = -1;
  readonly #health: HealthWatch;

  constructor(deps: ProcessRuntimeDeps, id: string, wake: () => void) {
    this.#deps = deps;
    this.#id = id;
    this.#files = new ReplicaFiles(deps.config.dataDir, id);
    this.#wake = wake;
    this.#release = new KeptRelease(deps.loadRelease);
    this.#health = new HealthWatch(deps.db, deps.config.edgeDomain);
  }

  /** When this replica wants to be looked at again, in milliseconds since the epoch. */
  get nextCheckAt(): number {
    return this.#health.nextCheckAt;
  }

  async step(row: ReplicaRow): Promise<void> {
    if (row.desired === 'stopped') return this.#stop(row);
    switch (row.state) {
      case 'pending':
        return this.#start(row);
      case 'exited':
        if (row.next_start_at !== null && row.next_start_at.getTime() <= Date.now()) return this.#start(row);
        return;
      case 'starting':
      case 'ready':
      case 'unhealthy':
        return this.#watch(row);
      case 'stopped':
        return;
    }
  }

  /** A fault of the platform's own, such as a database that is away, leaves the replica to be looked at again. */
  async #start(row: ReplicaRow): Promise<void> {
    try {
      const spec = await this.#release.readAnew(row.deployment_id);
      const port = await this.#claim(row, spec);
      if (port === 'lost') return;
      this.#beginAttempt(row);
      const process = await this.#run(row, spec, port);
      if (!(await recordProcess(this.#deps.db, row, process.pid, process.startedAt))) {
        await this.#deps.sandbox.stop(sandboxIdOf(row), process, 0);
      }
      this.#wake();
    } catch (error) {
      if (!isExplained(error)) throw error;
      this.#deps.log.error({ replica: this.#id, err: error }, 'a replica could not be started');
      await recordExit(this.#deps.db, row, `could not be started: ${errorMessage(error)}`, new Date());
    }
  }

  async #run(row: ReplicaRow, spec: ReleaseSpec, port: number | null): Promise<DetachedProcess> {
    if (!(await exists(this.#imageOf(spec)))) throw new ReleaseError('its image is not on this host');
    try {
      await this.#files.prepare();
      return await this.#deps.sandbox.start(this.#sandboxSpec(row, spec, port), {
        logFile: this.#files.output,
        exitFile: this.#files.exit,
        onExit: this.#wake,
      });
    } catch (error) {
      throw new ReleaseError(errorMessage(error));
    }
  }

  async #claim(row: ReplicaRow, spec: ReleaseSpec): Promise<number | null | 'lost'> {
    const { db, hostId, config } = this.#deps;
    for (let tries = 0; tries < PORT_TRIES; tries++) {
      const taken = new Set((await replicasOfHost(db, hostId)).map((other) => other.port ?? 0));
      const port = listensOnPort(spec.kind) ? await freePort(config.runtimePorts, taken) : null;
      const claim = await claimReplica(db, row, port);
      if (claim === 'claimed') return port;
      if (claim === 'lost') return 'lost';
    }
    throw new ReleaseError('every port that was tried went to another replica');
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
      },
      userNumber: spec.userNumber,
      limits: { memoryMb: plan.memoryMb, cpu: plan.cpu, pids: plan.pids },
    };
  }

  #imageOf(spec: ReleaseSpec): string {
    return join(this.#deps.config.dataDir, 'images', spec.image.digest);
  }

  async #watch(row: ReplicaRow): Promise<void> {
    const { sandbox, db } = this.#deps;
    if (row.pid === null) {
      // A worker died between claim and start; whatever it started bears the mark of that attempt.
      await sandbox.stop(sandboxIdOf(row), NOBODY, 0);
      await releaseReplica(db, row);
      this.#wake();
      return;
    }
    if (this.#attempt !== row.restarts) this.#beginAttempt(row);
    const alive = await sandbox.isAlive(processOf(row));
    if (!alive) return this.#ended(row);
    await this.#follow(row, false);
    await this.#health.look(row, await this.#release.read(row.deployment_id), (port) => this.#listens(row, port));
  }

  async #ended(row: ReplicaRow): Promise<void> {
    await this.#deps.sandbox.stop(sandboxIdOf(row), processOf(row), 0);
    if (!(await this.#follow(row, true))) return;
    const spec = await this.#release.readable(row.deployment_id);
    const detail = spec ? await this.#files.exitDetail(planOf(spec.configuration.plan).memoryMb) : 'ended';
    await recordExit(this.#deps.db, row, detail, new Date());
  }

  /** Another program of this host may have taken the port meanwhile, and answers there: ours has to be the one. */
  async #listens(row: ReplicaRow, port: number): Promise<boolean> {
    const ports = await this.#deps.sandbox.listeningPorts(sandboxIdOf(row), processOf(row));
    return ports?.includes(port) ?? true;
  }

  async #stop(row: ReplicaRow): Promise<void> {
    const { db, sandbox, config } = this.#deps;
    if (row.state === 'ready') await edgesLetGo(db, row);
    const process = row.pid === null ? NOBODY : processOf(row);
    let running = true;
    const stopped = sandbox.stop(sandboxIdOf(row), process, config.stopGraceSeconds * 1000).finally(() => {
      running = false;
    });
    while (running) {
      await Promise.race([stopped, sleep(FOLLOW_MS)]);
      if (running) await this.#follow(row, false);
    }
    await stopped;
    if (!(await this.#follow(row, true))) return;
    await this.#files.remove();
    await recordStopped(db, row);
  }

  #beginAttempt(row: ReplicaRow): void {
    this.#attempt = row.restarts;
    this.#health.begin();
  }

  /** False where another supervisor has followed meanwhile: its mark is in the next row we read. */
  async #follow(row: ReplicaRow, final: boolean): Promise<boolean> {
    const { db, logs } = this.#deps;
    const spec = await this.#release.readable(row.deployment_id);
    // Without its secrets they could not be masked, so its output is not shown.
    if (!spec) return true;
    this.#tail ??= new LogTail(db, logs, this.#files.output, maskerOf(spec), row.log_offset);
    const ours = await this.#tail.follow(row, final);
    if (!ours) this.#tail = null;
    return ours;
  }
}
