import { access } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { waitingEdges } from '../../../shared/db/edge.js';
import {
  claimReplica,
  recordChecked,
  recordExit,
  recordProcess,
  recordReady,
  recordStopped,
  recordUnhealthy,
  releaseReplica,
  replicasOfHost,
  routeVersionOf,
} from '../../../shared/db/replicas.js';
import type { ReplicaRow } from '../../../shared/db/rows.js';
import { planOf } from '../../../shared/domain/catalog.js';
import { listensOnPort } from '../../../shared/domain/service.js';
import { errorMessage } from '../../../shared/errors.js';
import { SealError } from '../../../shared/secrets/keyring.js';
import type { DetachedProcess, SandboxSpec } from '../../sandbox/sandbox.js';
import { ReleaseError, type ReleaseSpec } from '../driver.js';
import { maskerOf, NOBODY, type ProcessRuntimeDeps, processOf, sandboxIdOf } from './deps.js';
import { ReplicaFiles } from './files.js';
import { checkHealth } from './health.js';
import { LogTail } from './log-tail.js';
import { freePort } from './ports.js';

/** Between the checks of a replica that comes up, of one that answered once, of one that fails, and of one that is well. */
const CHECK_MS = { starting: 100, proving: 200, failing: 1_000, ready: 5_000 };
/** A replica that listens nowhere is ready when it has stayed alive this long. */
const SETTLED_MS = 1_000;
const GOOD_CHECKS = 2;
const BAD_CHECKS = 2;
const PORT_TRIES = 20;
const EDGE_WAIT_MS = 30_000;
const LOOK_MS = 50;
const FOLLOW_MS = 250;

/** Looks after one replica of this host: each call of `step` does what its row asks for now. */
export class ReplicaKeeper {
  readonly #deps: ProcessRuntimeDeps;
  readonly #id: string;
  readonly #files: ReplicaFiles;
  readonly #wake: () => void;
  #spec: ReleaseSpec | null = null;
  #tail: LogTail | null = null;
  #attempt = -1;
  #good = 0;
  #bad = 0;
  #startedAt = 0;
  #nextCheckAt = 0;

  constructor(deps: ProcessRuntimeDeps, id: string, wake: () => void) {
    this.#deps = deps;
    this.#id = id;
    this.#files = new ReplicaFiles(deps.config.dataDir, id);
    this.#wake = wake;
  }

  /** When this replica wants to be looked at again, in milliseconds since the epoch. */
  get nextCheckAt(): number {
    return this.#nextCheckAt;
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
      this.#spec = await this.#deps.loadRelease(row.deployment_id);
      const port = await this.#claim(row, this.#spec);
      if (port === 'lost') return;
      this.#beginAttempt(row);
      const process = await this.#run(row, this.#spec, port);
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
    if (Date.now() >= this.#nextCheckAt) await this.#check(row);
  }

  async #ended(row: ReplicaRow): Promise<void> {
    await this.#deps.sandbox.stop(sandboxIdOf(row), processOf(row), 0);
    if (!(await this.#follow(row, true))) return;
    const spec = await this.#readable(row);
    const detail = spec ? await this.#files.exitDetail(planOf(spec.configuration.plan).memoryMb) : 'ended';
    await recordExit(this.#deps.db, row, detail, new Date());
  }

  async #check(row: ReplicaRow): Promise<void> {
    const { db } = this.#deps;
    const spec = await this.#release(row);
    const healthy = await this.#isHealthy(row, spec);
    this.#good = healthy ? this.#good + 1 : 0;
    this.#bad = healthy ? 0 : this.#bad + 1;
    const good = this.#good >= (row.state === 'starting' && row.port !== null ? GOOD_CHECKS : 1);
    if (row.state !== 'ready') {
      if (good) await recordReady(db, row);
    } else if (this.#bad >= BAD_CHECKS) await recordUnhealthy(db, row);
    else await recordChecked(db, row);
    this.#nextCheckAt = Date.now() + CHECK_MS[this.#pace(row, healthy, good)];
  }

  #pace(row: ReplicaRow, healthy: boolean, good: boolean): keyof typeof CHECK_MS {
    if (row.state === 'starting' && !good) return healthy ? 'proving' : 'starting';
    return healthy ? 'ready' : 'failing';
  }

  async #isHealthy(row: ReplicaRow, spec: ReleaseSpec): Promise<boolean> {
    if (row.port === null) return Date.now() - this.#startedAt >= SETTLED_MS;
    const host = `${spec.slug}.${this.#deps.config.edgeDomain}`;
    const path = spec.configuration.healthCheckPath;
    const { healthy } = await checkHealth({ address: row.address, port: row.port, path, host });
    return healthy && (row.state !== 'starting' || (await this.#listens(row, row.port)));
  }

  /** Another program of this host may have taken the port meanwhile, and answers there: ours has to be the one. */
  async #listens(row: ReplicaRow, port: number): Promise<boolean> {
    const ports = await this.#deps.sandbox.listeningPorts(sandboxIdOf(row), processOf(row));
    return ports?.includes(port) ?? true;
  }

  async #stop(row: ReplicaRow): Promise<void> {
    const { db, sandbox, config } = this.#deps;
    if (row.state === 'ready') await this.#edgesLetGo(row);
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

  /** Waits, within a bound, until no edge sends requests here and those under way have ended. */
  async #edgesLetGo(row: ReplicaRow): Promise<void> {
    const version = await routeVersionOf(this.#deps.db, row);
    if (version === undefined) return;
    const deadline = Date.now() + EDGE_WAIT_MS;
    while (Date.now() < deadline && (await waitingEdges(this.#deps.db, row.service_id, version)) > 0) {
      await sleep(LOOK_MS);
    }
  }

  #beginAttempt(row: ReplicaRow): void {
    this.#attempt = row.restarts;
    this.#good = 0;
    this.#bad = 0;
    this.#startedAt = Date.now();
    this.#nextCheckAt = 0;
  }

  /** False where another supervisor has followed meanwhile: its mark is in the next row we read. */
  async #follow(row: ReplicaRow, final: boolean): Promise<boolean> {
    const { db, logs } = this.#deps;
    const spec = await this.#readable(row);
    // Without its secrets they could not be masked, so its output is not shown.
    if (!spec) return true;
    this.#tail ??= new LogTail(db, logs, this.#files.output, maskerOf(spec), row.log_offset);
    const ours = await this.#tail.follow(row, final);
    if (!ours) this.#tail = null;
    return ours;
  }

  async #release(row: ReplicaRow): Promise<ReleaseSpec> {
    this.#spec ??= await this.#deps.loadRelease(row.deployment_id);
    return this.#spec;
  }

  /** Null where the release cannot be read any more, its key lost: it can still be stopped. */
  async #readable(row: ReplicaRow): Promise<ReleaseSpec | null> {
    try {
      return await this.#release(row);
    } catch (error) {
      if (isExplained(error)) return null;
      throw error;
    }
  }
}

function isExplained(error: unknown): boolean {
  return error instanceof ReleaseError || error instanceof SealError;
}

async function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}
