import { isDataKind } from '../../../shared/services/model.js';
import { limitsOf } from '../../../shared/services/plan-catalog.js';
import { engineMessage, isRefusal } from '../../docker/docker-engine.js';
import { ReleaseError } from '../../failures/explained-errors.js';
import { replicaDrained } from '../../releases/edges-applied.js';
import type { ReplicaRow } from '../../replicas/rows.js';
import { claimReplica } from '../../replicas/start-store.js';
import { recordExit, recordStopped, recordUnhealthy, replicasOf } from '../../replicas/store.js';
import { recordHindrance, recordTask } from '../../replicas/swarm-task-store.js';
import type { HostAllowance } from '../log-allowance.js';
import { ReadinessProbe } from '../readiness-probe.js';
import type { ReplicaController } from '../replica-host.js';
import { isExplained, maskerOf, RetainedRelease } from '../retained-release.js';
import { decideSwarmReplica, type SwarmAction, type SwarmMemory } from './decide-swarm-replica.js';
import { volumesToMount, withVolumes } from './node-volumes.js';
import { attemptService, RESTART_DELAY_MS, replicaService } from './service-spec.js';
import { createService, freePlacement, removeService, type SwarmRuntimeDeps, scaleToZero } from './swarm-services.js';
import type { SwarmTask, SwarmView } from './swarm-view.js';
import { refusalOf, taskEnd } from './task-end.js';
import { TaskLog } from './task-log.js';
import { startingPlacement } from './task-placement.js';

const CHANGING_MS = 250;
/**
 * A busy swarm reports late that a task has ended. Without this delay, a replica without a port that crashes at once
 * would seem ready.
 */
const SETTLED_MS = 3_000;

/** Reconciles one replica that runs as a Swarm service. */
export class SwarmController implements ReplicaController {
  readonly #deps: SwarmRuntimeDeps;
  readonly #id: string;
  readonly #view: () => SwarmView;
  #health: ReadinessProbe;
  readonly #release: RetainedRelease;
  readonly #logShare: HostAllowance;
  #log: TaskLog | null = null;
  #checkedTask: string | null = null;
  #memory: SwarmMemory = { drained: false, scaledSince: null, overSince: null, portless: null };
  #nextCheckAt = 0;

  constructor(deps: SwarmRuntimeDeps, id: string, view: () => SwarmView, logShare: HostAllowance) {
    this.#deps = deps;
    this.#id = id;
    this.#view = view;
    this.#logShare = logShare;
    this.#release = new RetainedRelease(deps.loadRelease);
    this.#health = this.#newProbe();
  }

  get nextCheckAt(): number {
    return this.#nextCheckAt;
  }

  close(): void {
    void this.#log?.close();
    this.#deps.data.health.forget(this.#id);
  }

  async reconcile(row: ReplicaRow): Promise<void> {
    const now = Date.now();
    this.#nextCheckAt = now + CHANGING_MS;
    if (row.desired === 'running') {
      this.#memory = { ...this.#memory, drained: false, scaledSince: null, overSince: null };
    }
    // `#create` loads the release of a pending replica.
    const spec = row.state === 'pending' ? null : await this.#release.readable(row);
    const observed = { row, view: this.#view(), spec, memory: this.#memory };
    for (const action of decideSwarmReplica(observed, now)) await this.#apply(row, action);
  }

  async #apply(row: ReplicaRow, action: SwarmAction): Promise<void> {
    const { db, log } = this.#deps;
    switch (action.type) {
      case 'claim':
        if ((await claimReplica(db, row, null)) === 'claimed') await this.#create(row);
        return;
      case 'createService':
        return this.#create(row);
      case 'recordTask':
        await recordTask(db, row, action.place);
        return;
      case 'recordHindrance':
        return recordHindrance(db, row, action.detail);
      case 'freePlacement':
        return freePlacement(this.#deps, action.serviceId);
      case 'notePortless':
        this.#memory.portless = { taskId: action.taskId, since: Date.now() };
        return;
      case 'replaceService':
        log.warn(
          { replica: this.#id, task: action.taskId },
          'the swarm knows no port of a task that runs; its service is replaced',
        );
        await removeService(this.#deps, action.serviceId);
        return;
      case 'recordEnd':
        return this.#recordEnd(row, action.detail);
      case 'recordTaskEnd':
        return this.#recordEnd(row, await this.#taskEnd(row, action.task), exitCodeOf(action.task));
      case 'recordLoss':
        this.close();
        this.#log = null;
        return recordExit(db, row, action.detail, { delayMs: RESTART_DELAY_MS });
      case 'followOutput':
        (await this.#logOf(row))?.follow();
        return;
      case 'recordUnhealthy':
        return recordUnhealthy(db, row, null);
      case 'checkHealth':
        return this.#checkHealth(row, action.taskId);
      case 'drain':
        await replicaDrained(db, row);
        this.#memory.drained = true;
        return;
      case 'scaleToZero':
        return scaleToZero(this.#deps, action.serviceId);
      case 'noteScaled':
        this.#memory.scaledSince = Date.now();
        return;
      case 'finishOutput':
        return this.#finishOutput(row);
      case 'noteOver':
        this.#memory.overSince = Date.now();
        return;
      case 'removeService':
        await removeService(this.#deps, action.serviceId);
        return;
      case 'recordStopped':
        return recordStopped(db, row);
      case 'failUnreadable':
        await this.#release.read(row);
        return;
    }
  }

  /** Rejects on a fault of the platform, such as an unreachable engine, and is then retried. */
  async #create(row: ReplicaRow): Promise<void> {
    try {
      const spec = await this.#release.readAnew(row);
      if (spec.image.manifest.reference === undefined) {
        throw new ReleaseError('its image was built for another runtime; deploy the service again');
      }
      const siblings = await replicasOf(this.#deps.db, row.deployment_id);
      const place = startingPlacement(this.#view(), spec, this.#id, siblings);
      if (isDataKind(spec.kind)) {
        await createService(this.#deps, spec, await this.#deps.data.serverOf(spec, this.#id));
        return;
      }
      const volumes = await volumesToMount(this.#deps.db, this.#view(), row, spec);
      await createService(this.#deps, spec, (context) => {
        const service =
          row.run_id === null
            ? replicaService(spec, this.#id, context, place)
            : attemptService(spec, this.#id, row.run_id, context);
        return volumes === null ? service : withVolumes(service, volumes, context);
      });
    } catch (error) {
      if (!isExplained(error) && !isRefusal(error)) {
        await recordHindrance(this.#deps.db, row, `the swarm is asked again (${engineMessage(error)})`);
        throw error;
      }
      this.#deps.log.error({ replica: this.#id, err: error }, 'a replica could not be started');
      await recordExit(this.#deps.db, row, `could not be started: ${engineMessage(error)}`);
    }
  }

  async #checkHealth(row: ReplicaRow, taskId: string): Promise<void> {
    if (this.#checkedTask !== taskId) {
      this.#checkedTask = taskId;
      this.#health = this.#newProbe();
    }
    const spec = await this.#release.read(row);
    await this.#health.check(row, spec, async () => true);
    this.#nextCheckAt = this.#health.nextCheckAt;
    if (isDataKind(spec.kind) && this.#health.isServerSilent(row)) await this.#endSilent(row);
  }

  #newProbe(): ReadinessProbe {
    return new ReadinessProbe(this.#deps, { settledMs: SETTLED_MS, probe: this.#deps.data.health });
  }

  async #endSilent(row: ReplicaRow): Promise<void> {
    const { db, config, data } = this.#deps;
    const service = this.#view().serviceOf(row.id);
    if (!service) return;
    await this.#finishOutput(row);
    await removeService(this.#deps, service.ID);
    data.health.forget(row.id);
    const detail = `gave no answer for ${config.healthReplaceSeconds} s and was ended`;
    await recordExit(db, row, detail, { delayMs: RESTART_DELAY_MS });
  }

  async #taskEnd(row: ReplicaRow, task: SwarmTask): Promise<string> {
    const spec = await this.#release.read(row);
    const refused = isDataKind(spec.kind) ? await refusalOf(this.#deps.engine, task) : null;
    if (refused !== null) return `could not be started: ${refused}`;
    return taskEnd(this.#deps.engine, task, limitsOf(spec.kind, spec.configuration.plan).memoryMb);
  }

  async #recordEnd(row: ReplicaRow, detail: string, exitCode: number | null = null): Promise<void> {
    await this.#finishOutput(row);
    await recordExit(this.#deps.db, row, detail, { exitCode, delayMs: RESTART_DELAY_MS });
  }

  async #finishOutput(row: ReplicaRow): Promise<void> {
    await (await this.#logOf(row))?.finish();
    this.#log = null;
  }

  /**
   * Returns null if the replica has no task, or if its release cannot be read. Without the release, its secrets in the
   * output could not be masked.
   */
  async #logOf(row: ReplicaRow): Promise<TaskLog | null> {
    const spec = await this.#release.readable(row);
    if (spec === null || row.task_id === null) return null;
    if (this.#log && this.#log.taskId === row.task_id && !this.#log.lost) return this.#log;
    void this.#log?.close();
    this.#log = new TaskLog(this.#deps, { ...row, task_id: row.task_id }, maskerOf(spec), this.#logShare);
    return this.#log;
  }
}

function exitCodeOf({ Status: { State: state, ContainerStatus: container } }: SwarmTask): number | null {
  return container?.ExitCode ?? (state === 'complete' ? 0 : null);
}
