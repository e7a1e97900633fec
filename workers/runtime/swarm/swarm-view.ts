import type { Service } from 'dockerode';
import type { Engine } from '../../docker/docker-engine.js';
import { LABELS } from './service-spec.js';

export interface SwarmTask {
  ID: string;
  ServiceID: string;
  NodeID?: string;
  CreatedAt: string;
  DesiredState: string;
  Status: {
    State: string;
    Message?: string;
    Err?: string;
    ContainerStatus?: { ContainerID?: string; ExitCode?: number };
    PortStatus?: { Ports?: { TargetPort: number; PublishedPort?: number }[] };
  };
}

export interface SwarmNode {
  ID: string;
  Spec: { Availability: string; Labels?: Record<string, string> };
  Description: { Hostname: string };
  Status: { State: string; Addr: string };
  ManagerStatus?: { Addr: string };
}

const ENDED = new Set(['complete', 'shutdown', 'failed', 'rejected', 'remove', 'orphaned']);

/** Returns true if the task's container has exited or never ran. */
export function hasEnded(task: SwarmTask): boolean {
  return ENDED.has(task.Status.State);
}

const NOT_STARTED = new Set(['new', 'pending', 'assigned', 'accepted', 'preparing', 'ready']);

/**
 * Returns true if the swarm wants to stop a task before it has started the container. On a busy machine, a task may
 * stay in this state for a minute.
 */
export function neverStarts({ DesiredState: desired, Status: { State: state } }: SwarmTask): boolean {
  return (desired === 'remove' || desired === 'shutdown') && NOT_STARTED.has(state);
}

/** The nodes of a swarm, all its tasks, and the services of this installation at one moment. */
export class SwarmView {
  readonly services: readonly Service[];
  readonly nodes: readonly SwarmNode[];
  readonly #byReplica: ReadonlyMap<string | undefined, Service>;
  readonly #tasks = new Map<string, SwarmTask[]>();
  readonly #nodesById: ReadonlyMap<string | undefined, SwarmNode>;
  /** When each node was last not ready, in milliseconds since the epoch. */
  readonly #disturbed: ReadonlyMap<string, number>;

  constructor(
    services: readonly Service[],
    tasks: readonly SwarmTask[],
    nodes: readonly SwarmNode[],
    disturbed: ReadonlyMap<string, number> = new Map(),
  ) {
    this.services = services;
    this.#disturbed = disturbed;
    this.nodes = nodes;
    this.#byReplica = new Map(services.map((service) => [labelsOf(service)[LABELS.replica], service]));
    this.#nodesById = new Map(nodes.map((node) => [node.ID, node]));
    for (const task of [...tasks].sort((a, b) => Date.parse(a.CreatedAt) - Date.parse(b.CreatedAt))) {
      const known = this.#tasks.get(task.ServiceID);
      if (known) known.push(task);
      else this.#tasks.set(task.ServiceID, [task]);
    }
  }

  /** Throws if the manager does not respond. */
  static async observe({ calls }: Engine, installation: string, before: SwarmView): Promise<SwarmView> {
    const [services, tasks, nodes] = await Promise.all([
      calls.listServices({ filters: { label: [`${LABELS.installation}=${installation}`] } }),
      calls.listTasks() as Promise<SwarmTask[]>,
      calls.listNodes() as Promise<SwarmNode[]>,
    ]);
    const now = Date.now();
    const away = nodes.filter(({ Status }) => Status.State !== 'ready').map(({ ID }): [string, number] => [ID, now]);
    return new SwarmView(services, tasks, nodes, new Map([...before.#disturbed, ...away]));
  }

  serviceOf(replicaId: string): Service | undefined {
    return this.#byReplica.get(replicaId);
  }

  /** Returns the tasks of a Swarm service, the oldest first. */
  tasksOf(serviceId: string): readonly SwarmTask[] {
    return this.#tasks.get(serviceId) ?? [];
  }

  /** After a failed observation, all nodes count as unreachable. */
  unanswered(): SwarmView {
    const now = Date.now();
    const disturbed = new Map(this.nodes.map(({ ID }) => [ID, now]));
    return new SwarmView(this.services, [...this.#tasks.values()].flat(), this.nodes, disturbed);
  }

  /**
   * Returns true if the task's node was unreachable after the task was created. The task's end then proves nothing
   * about the application.
   */
  wasDisturbed({ NodeID = '', CreatedAt }: SwarmTask): boolean {
    return Date.parse(CreatedAt) < (this.#disturbed.get(NodeID) ?? 0);
  }

  /** Undefined if no task of the replica can be running. */
  nodeIdOf(replicaId: string): string | undefined {
    const service = this.serviceOf(replicaId);
    return service && this.tasksOf(service.ID).findLast((task) => !this.isOver(task))?.NodeID;
  }

  /** Counts tasks of other services too. */
  tasksOn(nodeId: string): number {
    const all = [...this.#tasks.values()].flat();
    return all.filter((task) => task.NodeID === nodeId && !hasEnded(task)).length;
  }

  nodeOf(task: SwarmTask): SwarmNode | undefined {
    return this.#nodesById.get(task.NodeID);
  }

  /** Returns true if the task's node is down. The swarm then keeps reporting the task's last known state. */
  isLost(task: SwarmTask): boolean {
    return task.NodeID !== undefined && task.NodeID !== '' && this.nodeOf(task)?.Status.State === 'down';
  }

  isOver(task: SwarmTask): boolean {
    return hasEnded(task) || this.isLost(task);
  }

  /** Returns the address at which the task's ports are published. */
  addressOf(task: SwarmTask): string | undefined {
    const node = this.nodeOf(task);
    const address = node?.Status.Addr;
    // A manager that listens on all addresses reports 0.0.0.0 as its address.
    return address === '0.0.0.0' ? node?.ManagerStatus?.Addr.replace(/:\d+$/, '') : address;
  }
}

export function labelsOf(service: Service): Record<string, string> {
  return service.Spec?.Labels ?? {};
}

/** Returns the node's port on which this port of the task is published. */
export function publishedPort(task: SwarmTask, target: number): number | undefined {
  return task.Status.PortStatus?.Ports?.find((port) => port.TargetPort === target)?.PublishedPort;
}

/** The error of a task that a newly started swarm manager sent to a node too early. */
const NOT_ATTACHED = 'missing network attachments';

/** Returns true if the swarm stopped the task, failed to start it, or lost it with its node. */
export function isTakenAway(task: SwarmTask, view: SwarmView): boolean {
  const { State: state, Err: error = '' } = task.Status;
  return state === 'shutdown' || error.includes(NOT_ATTACHED) || (view.isLost(task) && !hasEnded(task));
}

/** Returns why the swarm stopped or lost a task, as the rest of a sentence that begins "replica 1". */
export function taskLoss(view: SwarmView, task: SwarmTask): string {
  const node = view.nodeOf(task);
  const name = node?.Description.Hostname ?? 'its node';
  if (view.isLost(task)) return `was lost with node ${name}, which is down`;
  if (node && node.Spec.Availability !== 'active')
    return `left node ${name}, whose availability is ${node.Spec.Availability}`;
  return 'was stopped by the swarm';
}
