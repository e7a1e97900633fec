import { claimReplica, recordExit, recordStopped, recordUnhealthy, replicasOf } from '../../../shared/db/replicas.js';
import type { ReplicaRow } from '../../../shared/db/rows.js';
import { recordHindrance, recordTask } from '../../../shared/db/swarm-tasks.js';
import { planOf } from '../../../shared/domain/catalog.js';
import { engineMessage, engineStatus } from '../../docker/engine.js';
import { ReleaseError, type ReleaseSpec } from '../driver.js';
import { HealthWatch } from '../health-watch.js';
import { isExplained, KeptRelease } from '../kept-release.js';
import { edgesLetGo } from '../let-go.js';
import { maskerOf } from '../masker.js';
import type { Keeper } from '../supervisor.js';
import type { SwarmRuntimeDeps } from './deps.js';
import { freedPlacement, startingPlacement } from './placement.js';
import { createService, freeToGo, removeService, scaleToNothing } from './services.js';
import { containerPort, RESTART_DELAY_MS, replicaService } from './spec.js';
import { isTakenAway, taskEnd, taskLoss } from './task-end.js';
import { TaskLog } from './task-log.js';
import { hasEnded, publishedPort, type SwarmTask, type SwarmView } from './view.js';

/** Between two looks at a replica whose task is about to change. */
const FLUX_MS = 250;
/** A node tells a task's port in the moment in which it tells that it runs, or never. */
const PORT_MS = 10_000;
/**
 * Swarm forgets the tasks of a service that was scaled to nothing in a moment. Where the service is removed in that very
 * moment, a manager of 20.10 panics.
 */
const FORGET_MS = 3_000;
const REMOVED = 'was removed from the swarm by somebody else';

/**
 * Keeps one replica's row and its Swarm service at one: the row says what is wanted, the service's tasks how it is. Swarm
 * starts the tasks again that end; the row follows from one to the next.
 */
export class SwarmKeeper implements Keeper {
  readonly #deps: SwarmRuntimeDeps;
  readonly #id: string;
  readonly #view: () => SwarmView;
  readonly #health: HealthWatch;
  readonly #release: KeptRelease;
  #log: TaskLog | null = null;
  #watchedTask: string | null = null;
  #portless = { taskId: '', since: 0 };
  #letGo = false;
  #overSince: number | null = null;
  #nextLookAt = 0;

  constructor(deps: SwarmRuntimeDeps, id: string, view: () => SwarmView) {
    this.#deps = deps;
    this.#id = id;
    this.#view = view;
    this.#release = new KeptRelease(deps.loadRelease);
    this.#health = new HealthWatch(deps.db, deps.config.edgeDomain);
  }

  get nextCheckAt(): number {
    return this.#nextLookAt;
  }

  close(): void {
    void this.#log?.close();
  }

  async step(row: ReplicaRow): Promise<void> {
    const view = this.#view();
    this.#nextLookAt = Date.now() + FLUX_MS;
    if (row.desired === 'stopped') return this.#stop(row, view);
    this.#letGo = false;
    this.#overSince = null;
    switch (row.state) {
      case 'pending':
        return this.#claim(row);
      case 'starting':
        return row.task_id === null ? this.#start(row, view) : this.#watch(row, view);
      case 'ready':
      case 'unhealthy':
        return this.#watch(row, view);
      case 'exited':
        return this.#revive(row, view);
      case 'stopped':
        return;
    }
  }

  async #claim(row: ReplicaRow): Promise<void> {
    if ((await claimReplica(this.#deps.db, row, null)) === 'claimed') {
      await this.#create(row);
    }
  }

  /** A fault of the platform's own, or an engine that is away, leaves the replica to be looked at again. */
  async #create(row: ReplicaRow): Promise<void> {
    try {
      const spec = await this.#release.readAnew(row.deployment_id);
      if (spec.image.manifest.reference === undefined) {
        throw new ReleaseError('its image was built for another runtime; deploy the service again');
      }
      const siblings = await replicasOf(this.#deps.db, row.deployment_id);
      const place = startingPlacement(this.#view(), spec, this.#id, siblings);
      await createService(this.#deps, spec, (context) => replicaService(spec, this.#id, context, place));
    } catch (error) {
      if (!isExplained(error) && !isRefusal(error)) {
        await recordHindrance(this.#deps.db, row, `the swarm is asked again (${engineMessage(error)})`);
        throw error;
      }
      this.#deps.log.error({ replica: this.#id, err: error }, 'a replica could not be started');
      await recordExit(this.#deps.db, row, `could not be started: ${engineMessage(error)}`, new Date());
    }
  }

  /** Waits for the first task of the service, which is there unless a worker died before it made it. */
  async #start(row: ReplicaRow, view: SwarmView): Promise<void> {
    const service = view.serviceOf(row.id);
    if (!service) return this.#create(row);
    const tasks = view.tasksOf(service.ID);
    // What a node took with it says nothing about the release.
    const task = tasks.find((candidate) => !view.isLost(candidate) || hasEnded(candidate));
    if (!task) return recordHindrance(this.#deps.db, row, 'the swarm has made no task of it yet');
    if (await this.#take(row, task, view)) return;
    if (task.Status.Err?.includes('no suitable node') && freedPlacement(service)) {
      return freeToGo(this.#deps, service.ID);
    }
    await recordHindrance(this.#deps.db, row, hindranceOf(task, await this.#release.read(row.deployment_id)));
  }

  /** Lets the row be this task, once it runs or has ended. */
  async #take(row: ReplicaRow, task: SwarmTask, view: SwarmView): Promise<boolean> {
    const { db } = this.#deps;
    const target = containerPort(await this.#release.read(row.deployment_id));
    if (hasEnded(task)) return recordTask(db, row, { taskId: task.ID, address: row.address, port: null });
    if (task.Status.State !== 'running') return false;
    const address = view.addressOf(task);
    const port = target === null ? null : publishedPort(task, target);
    if (port === undefined) await this.#replacePortless(task);
    if (address === undefined || port === undefined) return false;
    return recordTask(db, row, { taskId: task.ID, address, port });
  }

  /**
   * A task that starts while its node cannot reach a manager runs, and the swarm never learns under which port. The service
   * is removed, for another one to be made in its place.
   */
  async #replacePortless(task: SwarmTask): Promise<void> {
    if (this.#portless.taskId !== task.ID) this.#portless = { taskId: task.ID, since: Date.now() };
    if (Date.now() - this.#portless.since < PORT_MS) return;
    this.#deps.log.warn(
      { replica: this.#id, task: task.ID },
      'the swarm knows no port of a task that runs; replaces it',
    );
    await removeService(this.#deps, task.ServiceID);
  }

  async #watch(row: ReplicaRow, view: SwarmView): Promise<void> {
    const service = view.serviceOf(row.id);
    const task = service && view.tasksOf(service.ID).find((candidate) => candidate.ID === row.task_id);
    const spec = await this.#release.read(row.deployment_id);
    const isComingUp = row.ready_at === null;
    if (!service) return isComingUp ? this.#create(row) : this.#ended(row, REMOVED);
    const tasks = view.tasksOf(service.ID);
    if (!task) return isComingUp ? this.#moveOn(row, tasks, view) : this.#ended(row, REMOVED);
    // What the swarm takes from a release that has not come up yet, it starts again, or elsewhere.
    if (isComingUp && (isTakenAway(task, view) || (hasEnded(task) && view.wasDisturbed(task))))
      return this.#moveOn(row, tasks, view);
    if (hasEnded(task)) {
      const { memoryMb } = planOf(spec.configuration.plan);
      const detail = isTakenAway(task, view) ? taskLoss(view, task) : await taskEnd(this.#deps.engine, task, memoryMb);
      return this.#ended(row, detail);
    }
    if (view.isLost(task)) return this.#lost(row, taskLoss(view, task));
    this.#logOf(row, spec).follow();
    if (task.DesiredState !== 'running') {
      // Swarm is about to end it, for its node is drained: no more requests until it is elsewhere.
      if (row.state === 'ready') await recordUnhealthy(this.#deps.db, row);
      return;
    }
    if (freedPlacement(service)) await freeToGo(this.#deps, service.ID);
    if (this.#watchedTask !== task.ID) {
      this.#watchedTask = task.ID;
      this.#health.begin();
    }
    await this.#health.look(row, spec, async () => true);
    this.#nextLookAt = this.#health.nextCheckAt;
  }

  async #ended(row: ReplicaRow, detail: string): Promise<void> {
    await this.#finishLog(row);
    await recordExit(this.#deps.db, row, detail, new Date(), RESTART_DELAY_MS);
  }

  /** Nobody can give the rest of its output any more. */
  async #lost(row: ReplicaRow, detail: string): Promise<void> {
    this.close();
    this.#log = null;
    await recordExit(this.#deps.db, row, detail, new Date(), RESTART_DELAY_MS);
  }

  /** Follows to the task that Swarm has started in the place of the one that ended. */
  async #revive(row: ReplicaRow, view: SwarmView): Promise<void> {
    // It failed before it was ever healthy: whoever waits for it decides what becomes of it.
    if (row.ready_at === null) return;
    const service = view.serviceOf(row.id);
    if (!service) {
      if ((row.next_start_at?.getTime() ?? 0) <= Date.now()) await this.#claim(row);
      return;
    }
    return this.#moveOn(row, view.tasksOf(service.ID), view);
  }

  async #moveOn(row: ReplicaRow, tasks: readonly SwarmTask[], view: SwarmView): Promise<void> {
    const known = tasks.findIndex((task) => task.ID === row.task_id);
    const newer = tasks.slice(known + 1);
    const task = newer.findLast((candidate) => !view.isOver(candidate)) ?? newer.findLast(hasEnded);
    if (task) await this.#take(row, task, view);
  }

  async #stop(row: ReplicaRow, view: SwarmView): Promise<void> {
    if (row.state === 'ready' && !this.#letGo) await edgesLetGo(this.#deps.db, row);
    this.#letGo = true;
    const service = view.serviceOf(row.id);
    if (service) {
      const tasks = view.tasksOf(service.ID);
      if (this.#overSince === null) {
        const spec = await this.#release.readable(row.deployment_id);
        if (spec && row.task_id !== null) this.#logOf(row, spec).follow();
        if (service.Spec?.Mode?.Replicated?.Replicas !== 0) return scaleToNothing(this.#deps, service.ID);
        if (!tasks.every((task) => view.isOver(task))) return;
        if (!tasks.some((task) => view.isLost(task))) await this.#finishLog(row);
        this.#overSince = Date.now();
      }
      if (tasks.length > 0 && Date.now() - this.#overSince < FORGET_MS) return;
      await removeService(this.#deps, service.ID);
    }
    await recordStopped(this.#deps.db, row);
  }

  /** Without its secrets they could not be masked, so its output is not shown. */
  async #finishLog(row: ReplicaRow): Promise<void> {
    const spec = await this.#release.readable(row.deployment_id);
    if (spec && row.task_id !== null) await this.#logOf(row, spec).finish();
    this.#log = null;
  }

  #logOf(row: ReplicaRow, spec: ReleaseSpec): TaskLog {
    if (this.#log && this.#log.taskId === row.task_id && !this.#log.lost) return this.#log;
    void this.#log?.close();
    const { id: replicaId, service_id: serviceId, deployment_id: deploymentId, log_since: since } = row;
    const task = { replicaId, serviceId, deploymentId, taskId: row.task_id ?? '', since };
    this.#log = new TaskLog(this.#deps, task, maskerOf(spec));
    return this.#log;
  }
}

/** Why a task does not run yet. */
function hindranceOf({ Status: { State: state, Message: message, Err: error } }: SwarmTask, spec: ReleaseSpec): string {
  if (!error) return `${state} (${message ?? ''})`;
  const { region } = spec.configuration;
  const hint = `; region "${region}" is made of the nodes with the label region=${region}`;
  return region !== 'auto' && error.includes('constraints') ? `${error}${hint}` : error;
}

/** The engine understood what it was asked, and will say the same again. */
function isRefusal(error: unknown): boolean {
  const status = engineStatus(error);
  return status !== undefined && status < 500;
}
