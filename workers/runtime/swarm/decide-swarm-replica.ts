import type { ContainerTaskSpec, Service } from 'dockerode';
import type { ReplicaRow } from '../../replicas/rows.js';
import type { TaskPlace } from '../../replicas/swarm-task-store.js';
import type { ReleaseSpec } from '../runtime-driver.js';
import { containerPort } from './service-spec.js';
import {
  hasEnded,
  isTakenAway,
  neverStarts,
  publishedPort,
  type SwarmTask,
  type SwarmView,
  taskLoss,
} from './swarm-view.js';
import { freedPlacement, pinnedNode } from './task-placement.js';

/**
 * A node reports the port together with the start of the task. A task that has no port after this time never gets one.
 */
const PORT_MS = 10_000;
/**
 * How long to wait until Swarm has deleted the tasks of a service. A manager of Docker 20.10 panics if the service is
 * removed at the moment when Swarm deletes its tasks.
 */
const FORGET_MS = 3_000;
/**
 * On a busy machine, Swarm may not report the end of a starting task. Then the task's service is removed this long
 * after the grace period. The removal stops the task.
 */
const UNREPORTED_END_MS = 20_000;
const REMOVED = 'was removed from the swarm by somebody else';

export type SwarmAction =
  | { type: 'claim' }
  | { type: 'createService' }
  | { type: 'recordTask'; place: TaskPlace }
  | { type: 'recordHindrance'; detail: string }
  /** Allows Swarm to move the task to any node of its region. */
  | { type: 'freePlacement'; serviceId: string }
  /** Remembers since when this task has been running without a known port. */
  | { type: 'notePortless'; taskId: string }
  /** The task cannot be reached. A new service is then created. */
  | { type: 'replaceService'; serviceId: string; taskId: string }
  /** The rest of the output is copied before the end is recorded. */
  | { type: 'recordEnd'; detail: string }
  /** The engine is asked why the task ended before the end is recorded. */
  | { type: 'recordTaskEnd'; task: SwarmTask }
  /** The task was lost with its node. The rest of its output cannot be read. */
  | { type: 'recordLoss'; detail: string }
  | { type: 'followOutput' }
  | { type: 'recordUnhealthy' }
  | { type: 'checkHealth'; taskId: string }
  | { type: 'drain' }
  | { type: 'scaleToZero'; serviceId: string }
  | { type: 'noteScaled' }
  | { type: 'finishOutput' }
  | { type: 'noteOver' }
  | { type: 'removeService'; serviceId: string }
  | { type: 'recordStopped' }
  /** The release cannot be read. The action rejects with the reason, so that the supervisor logs it and retries. */
  | { type: 'failUnreadable' };

/** What is kept between two passes. Times are in milliseconds since the epoch. */
export interface SwarmMemory {
  drained: boolean;
  /** When the service of a stopping replica was scaled to zero. */
  scaledSince: number | null;
  /** Since when no task of a stopping service has been running. */
  overSince: number | null;
  portless: { taskId: string; since: number } | null;
}

export interface ObservedSwarmReplica {
  row: ReplicaRow;
  view: SwarmView;
  spec: Pick<ReleaseSpec, 'kind' | 'configuration'> | null;
  memory: SwarmMemory;
}

type Observed = ObservedSwarmReplica & { now: number };

/**
 * Returns the actions on a replica, in order. `now` is in milliseconds since the epoch. Swarm itself restarts ended
 * tasks.
 */
export function decideSwarmReplica(observed: ObservedSwarmReplica, now: number): SwarmAction[] {
  const { row } = observed;
  const seen = { ...observed, now };
  if (row.desired === 'stopped') return stop(seen);
  switch (row.state) {
    case 'pending':
      return [{ type: 'claim' }];
    case 'starting':
      return row.task_id === null ? firstTask(seen) : watch(seen);
    case 'ready':
    case 'unhealthy':
      return watch(seen);
    case 'exited':
      return revive(seen);
    // Replicas in a swarm are never frozen.
    case 'frozen':
    case 'stopped':
      return [];
  }
}

/** The Swarm service is missing if a worker failed before creating it, or after the action `replaceService`. */
function firstTask(seen: Observed): SwarmAction[] {
  const { row, view, spec } = seen;
  const service = view.serviceOf(row.id);
  if (!service) return [{ type: 'createService' }];
  // A task that was lost with its node is no fault of the release.
  const task = view.tasksOf(service.ID).find((candidate) => !view.isLost(candidate) || hasEnded(candidate));
  if (!task) return [{ type: 'recordHindrance', detail: 'the swarm has made no task of it yet' }];
  if (spec === null) return [{ type: 'failUnreadable' }];
  const taken = take(seen, task);
  if (taken.some(({ type }) => type === 'recordTask')) return taken;
  if (task.Status.Err?.includes('no suitable node') && freedPlacement(service)) {
    return [...taken, { type: 'freePlacement', serviceId: service.ID }];
  }
  const detail =
    row.volume_id === null ? hindranceOf(task, spec.configuration.region) : volumeHindrance(seen, service, task);
  return [...taken, { type: 'recordHindrance', detail }];
}

/** A task that has ended is recorded at once. */
function take({ row, view, spec, memory, now }: Observed, task: SwarmTask): SwarmAction[] {
  if (spec === null) return [{ type: 'failUnreadable' }];
  const record = (address: string | undefined, port: number | null): SwarmAction[] => {
    return address === undefined ? [] : [{ type: 'recordTask', place: { taskId: task.ID, address, port } }];
  };
  if (hasEnded(task)) return record(row.address, null);
  if (task.Status.State !== 'running') return [];
  // An attempt of a run listens on no port.
  const target = row.run_id === null ? containerPort(spec) : null;
  if (target === null) return record(view.addressOf(task), null);
  const port = publishedPort(task, target);
  if (port !== undefined) return record(view.addressOf(task), port);
  // If a task starts while its node is disconnected from the managers, the swarm never learns its port.
  if (memory.portless?.taskId !== task.ID) return [{ type: 'notePortless', taskId: task.ID }];
  if (now - memory.portless.since < PORT_MS) return [];
  return [{ type: 'replaceService', serviceId: task.ServiceID, taskId: task.ID }];
}

/** An attempt of a run has one task, which Swarm does not restart, and no health checks. */
function watch(seen: Observed): SwarmAction[] {
  const { row, view, spec } = seen;
  if (spec === null) return [{ type: 'failUnreadable' }];
  const isAttempt = row.run_id !== null;
  const isComingUp = !isAttempt && row.ready_at === null;
  const service = view.serviceOf(row.id);
  const removed: SwarmAction = { type: 'recordEnd', detail: REMOVED };
  if (!service) return [isComingUp ? { type: 'createService' } : removed];
  const task = view.tasksOf(service.ID).find((candidate) => candidate.ID === row.task_id);
  if (!task) return isComingUp ? moveOn(seen, service.ID) : [removed];
  const takenAway = isTakenAway(task, view);
  // If the swarm takes a task away, it creates another one. The starting release has not failed.
  if (isComingUp && (takenAway || (hasEnded(task) && view.wasDisturbed(task)))) return moveOn(seen, service.ID);
  if (hasEnded(task)) {
    return [takenAway ? { type: 'recordEnd', detail: taskLoss(view, task) } : { type: 'recordTaskEnd', task }];
  }
  if (view.isLost(task)) {
    const waits =
      row.volume_id === null ? '' : ', and has its volume: it waits for that node, and no other one starts it';
    return [{ type: 'recordLoss', detail: taskLoss(view, task) + waits }];
  }
  const follow: SwarmAction = { type: 'followOutput' };
  if (isAttempt) return [follow];
  if (task.DesiredState !== 'running') {
    // The swarm is about to stop the task, for example because its node is being drained.
    return [follow, ...(row.state === 'ready' ? [{ type: 'recordUnhealthy' } as const] : [])];
  }
  return [
    follow,
    ...(freedPlacement(service) ? [{ type: 'freePlacement', serviceId: service.ID } as const] : []),
    { type: 'checkHealth', taskId: task.ID },
  ];
}

/** Switches to the task with which Swarm has replaced the replica's ended task. */
function revive(seen: Observed): SwarmAction[] {
  const { row, view, now } = seen;
  // A replica that was never ready has failed. The rollout decides what to do.
  if (row.ready_at === null) return [];
  const service = view.serviceOf(row.id);
  if (service) return moveOn(seen, service.ID);
  return (row.next_start_at?.getTime() ?? 0) <= now ? [{ type: 'claim' }] : [];
}

/** Prefers the newest running task, then the newest ended task. */
function moveOn(seen: Observed, serviceId: string): SwarmAction[] {
  const { row, view } = seen;
  const tasks = view.tasksOf(serviceId);
  const newer = tasks.slice(tasks.findIndex((task) => task.ID === row.task_id) + 1);
  const task = newer.findLast((candidate) => !view.isOver(candidate)) ?? newer.findLast(hasEnded);
  return task ? take(seen, task) : [];
}

/** The removal waits until Swarm has deleted the tasks, but at most for `FORGET_MS`. */
function stop({ row, view, spec, memory, now }: Observed): SwarmAction[] {
  const drain: SwarmAction[] = row.state === 'ready' && !memory.drained ? [{ type: 'drain' }] : [];
  const service = view.serviceOf(row.id);
  if (!service) return [...drain, { type: 'recordStopped' }];
  const tasks = view.tasksOf(service.ID);
  const remove: SwarmAction[] = [{ type: 'removeService', serviceId: service.ID }, { type: 'recordStopped' }];
  if (memory.overSince !== null) {
    const isForgotten = tasks.length === 0 || now - memory.overSince >= FORGET_MS;
    return isForgotten ? [...drain, ...remove] : drain;
  }
  const follow: SwarmAction[] = spec !== null && row.task_id !== null ? [{ type: 'followOutput' }] : [];
  if (service.Spec?.Mode?.Replicated?.Replicas !== 0) {
    return [...drain, ...follow, { type: 'scaleToZero', serviceId: service.ID }];
  }
  const isOver = tasks.every((task) => view.isOver(task) || neverStarts(task));
  if (!isOver && memory.scaledSince === null) return [...drain, ...follow, { type: 'noteScaled' }];
  // Two servers must never write to one volume, so the service stays until all its tasks are known to have ended.
  if (!isOver && (row.volume_id !== null || now < overdueAt(service, memory.scaledSince ?? now))) {
    return [...drain, ...follow];
  }
  const finish: SwarmAction[] = tasks.some((task) => view.isLost(task)) ? [] : [{ type: 'finishOutput' }];
  return [...drain, ...follow, ...finish, { type: 'noteOver' }, ...(tasks.length === 0 ? remove : [])];
}

/** After this time, in milliseconds since the epoch, the end of the task is not awaited any more. */
function overdueAt(service: Service, scaledSince: number): number {
  const { ContainerSpec: container } = (service.Spec?.TaskTemplate ?? {}) as ContainerTaskSpec;
  const graceNs = container?.StopGracePeriod ?? 0;
  return scaledSince + graceNs / 1_000_000 + UNREPORTED_END_MS;
}

function volumeHindrance({ view }: Observed, service: Service, task: SwarmTask): string {
  const node = pinnedNode(service, view.nodes);
  if (node === undefined) return 'the node that has its volume is not in the swarm any more';
  const { Description, Status, Spec } = node;
  if (Status.State !== 'ready') return `the node ${Description.Hostname}, which has its volume, is ${Status.State}`;
  if (Spec.Availability !== 'active')
    return `the node ${Description.Hostname}, which has its volume, has the availability ${Spec.Availability}`;
  return hindranceOf(task, 'auto');
}

function hindranceOf({ Status: { State: state, Message: message, Err: error } }: SwarmTask, region: string): string {
  if (!error) return `${state} (${message ?? ''})`;
  const hint = `; region "${region}" is made of the nodes with the label region=${region}`;
  return region !== 'auto' && error.includes('constraints') ? `${error}${hint}` : error;
}
