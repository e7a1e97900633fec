import type { Service } from 'dockerode';
import type { Engine } from '../../docker/engine.js';
import { LABELS } from './spec.js';

/** A Swarm task, as far as we look at it. */
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

/** The task's container runs no more, or never did. */
export function hasEnded(task: SwarmTask): boolean {
  return ENDED.has(task.Status.State);
}

/** How the swarm stood at one moment, as far as it concerns this installation. */
export class SwarmView {
  readonly services: readonly Service[];
  readonly nodes: readonly SwarmNode[];
  readonly #byReplica: ReadonlyMap<string | undefined, Service>;
  readonly #tasks = new Map<string, SwarmTask[]>();
  readonly #nodesById: ReadonlyMap<string | undefined, SwarmNode>;

  /** When a node was last seen not to be ready, in ms. */
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

  static empty(): SwarmView {
    return new SwarmView([], [], []);
  }

  /** How it stands now. Throws where the manager does not answer. */
  static async take({ calls }: Engine, installation: string, before: SwarmView): Promise<SwarmView> {
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

  /** The tasks of a service, oldest first. */
  tasksOf(serviceId: string): readonly SwarmTask[] {
    return this.#tasks.get(serviceId) ?? [];
  }

  /** The same after the manager did not answer: its own node may have been away, and nobody knows of the others. */
  unanswered(): SwarmView {
    const now = Date.now();
    const disturbed = new Map(this.nodes.map(({ ID }) => [ID, now]));
    return new SwarmView(this.services, [...this.#tasks.values()].flat(), this.nodes, disturbed);
  }

  /** The task's node was away after the task had been made: what became of it says nothing about the application. */
  wasDisturbed({ NodeID = '', CreatedAt }: SwarmTask): boolean {
    return Date.parse(CreatedAt) < (this.#disturbed.get(NodeID) ?? 0);
  }

  /** The node on which a replica's task is, or will be; undefined where there is none yet. */
  nodeIdOf(replicaId: string): string | undefined {
    const service = this.serviceOf(replicaId);
    return service && this.tasksOf(service.ID).findLast((task) => !this.isOver(task))?.NodeID;
  }

  /** How many tasks a node has, of whomever. */
  tasksOn(nodeId: string): number {
    const all = [...this.#tasks.values()].flat();
    return all.filter((task) => task.NodeID === nodeId && !hasEnded(task)).length;
  }

  nodeOf(task: SwarmTask): SwarmNode | undefined {
    return this.#nodesById.get(task.NodeID);
  }

  /** The node does not answer the swarm any more: what the swarm says about its tasks is what it knew last. */
  isLost(task: SwarmTask): boolean {
    return task.NodeID !== undefined && task.NodeID !== '' && this.nodeOf(task)?.Status.State === 'down';
  }

  /** Nothing of the task runs any more, as far as anybody can know. */
  isOver(task: SwarmTask): boolean {
    return hasEnded(task) || this.isLost(task);
  }

  /** The address of a task's node, which its published ports are on. */
  addressOf(task: SwarmTask): string | undefined {
    const node = this.nodeOf(task);
    const address = node?.Status.Addr;
    // A manager that listens on every address does not say which one others reach it by.
    return address === '0.0.0.0' ? node?.ManagerStatus?.Addr.replace(/:\d+$/, '') : address;
  }
}

export function labelsOf(service: Service): Record<string, string> {
  return service.Spec?.Labels ?? {};
}

/** The port of the node under which the task's port is published. */
export function publishedPort(task: SwarmTask, target: number): number | undefined {
  return task.Status.PortStatus?.Ports?.find((port) => port.TargetPort === target)?.PublishedPort;
}
