import { setTimeout as delay } from 'node:timers/promises';
import type { ReplicaRow } from '../../workers/replicas/rows.js';
import { type DockerNode, NODE_IMAGE } from '../support/docker.js';
import type { EngineName, Platform } from '../support/platform.js';
import { eventually, type PlatformProcess } from '../support/processes.js';
import { SwarmPlatform } from '../support/swarm-platform.js';
import {
  type ChaosTarget,
  leftBuildFolders,
  ownedReplicas,
  PATIENCE,
  SERVER,
  type TargetFault,
} from './chaos-target.js';
import { afterSweeps, type Entry } from './entries.js';
import type { Failure } from './load.js';

const NODES = 3;
const HOSTS = 2;
/** While there is a manager, the services of a lost machine run on another one after this time. */
const BACK_MS = 30_000;
/** Requests to a lost machine may fail for this long, until the loss is noticed. */
const NOTICED_MS = 5_000;

/** Machines are away for this many times the duration of other faults: a swarm notices a loss only after 15 s. */
const AWAY = 3;

interface Cut {
  at: number;
  /** When the services that ran only there must be back. */
  until: number;
  alone: Set<string>;
}

/** A target of three Docker machines behind Caddy, with workers on two hosts. Applications are containers. */
export class SwarmTarget implements ChaosTarget {
  readonly platform: Platform;
  readonly app = { ...SERVER, Dockerfile: `FROM ${NODE_IMAGE}\nCOPY server.js .\nCMD ["node", "server.js"]\n` };
  readonly configuration = { buildMethod: 'dockerfile', replicas: 2 };
  readonly faults: readonly TargetFault[];
  readonly #swarm: SwarmPlatform;
  #workers = 0;
  readonly #say: (what: string) => void;
  readonly #cuts: Cut[] = [];
  /** Only one machine is away at a time: a swarm of three does not survive the loss of two. */
  #away: Promise<void> = Promise.resolve();

  private constructor(swarm: SwarmPlatform, say: (what: string) => void) {
    this.#swarm = swarm;
    this.#say = say;
    this.platform = swarm.platform;
    const [manager, ...others] = swarm.machines.nodes;
    const cut = (nodes: readonly (DockerNode | undefined)[]) => (position: number, durationMs: number) =>
      this.#cut(nodes[position % nodes.length], durationMs);
    this.faults = [
      { kind: 'cut the power of a machine', strike: cut(others) },
      { kind: "cut the power of the manager's machine", strike: cut([manager]) },
    ];
  }

  static async start(engine: EngineName, say: (what: string) => void): Promise<SwarmTarget> {
    return new SwarmTarget(await SwarmPlatform.start({ engine, nodes: NODES, env: PATIENCE }), say);
  }

  startWorker(): Promise<PlatformProcess> {
    return this.#swarm.startWorker(this.#workers++ % HOSTS);
  }

  excuses({ serviceId, begun, ended }: Failure): boolean {
    return this.#cuts.some(({ at, until, alone }) => {
      return ended >= at && begun <= (alone.has(serviceId) ? until : at + NOTICED_MS);
    });
  }

  #cut(node: DockerNode | undefined, durationMs: number): Promise<void> {
    const { manager } = this.#swarm;
    const turn = this.#away.then(async () => {
      if (!node) return;
      const cut = { at: Date.now(), until: Date.now() + BACK_MS, alone: await this.#onlyOn(node) };
      this.#cuts.push(cut);
      this.#say(`${node.name} is cut; ${cut.alone.size} services are on no other`);
      await this.#swarm.cut(node);
      // No service moves while the only manager is away.
      if (node === manager) cut.until = Number.POSITIVE_INFINITY;
      await delay(AWAY * durationMs);
      await this.#swarm.boot(node);
      const isReady = async () => (await manager.swarmNode(node.name)).Status.State === 'ready';
      await eventually(`${node.name} is back in the swarm`, isReady, 90_000);
      if (node === manager) cut.until = Date.now() + BACK_MS;
      this.#say(`${node.name} is back`);
    });
    // The next machine is cut off only once the services of this one are back.
    this.#away = turn.then(() => delay(BACK_MS)).catch(() => undefined);
    return turn;
  }

  async #onlyOn({ address }: DockerNode): Promise<Set<string>> {
    const ready = await this.platform.database.db<ReplicaRow>('replicas').where({ state: 'ready' });
    const elsewhere = new Set(ready.filter((row) => row.address !== address).map((row) => row.service_id));
    return new Set(ready.map((row) => row.service_id).filter((id) => !elsewhere.has(id)));
  }

  async books(): Promise<Entry[]> {
    return [
      await leftBuildFolders(this.#swarm.dataDirs),
      await afterSweeps('Swarm services that no replica owns', () => this.#strayServices()),
      await afterSweeps('containers that no replica owns', () => this.#strayContainers()),
    ];
  }

  async #strayServices(): Promise<Omit<Entry, 'what'>> {
    const owned = await ownedReplicas(this.platform);
    const services = await this.#swarm.manager.docker.listServices();
    const stray = services.filter(({ Spec }) => !owned.includes(Spec?.Labels?.['ranvier.replica'] ?? ''));
    return { counted: services.length, wrong: stray.map(({ Spec }) => Spec?.Name ?? '') };
  }

  async #strayContainers(): Promise<Omit<Entry, 'what'>> {
    const owned = await ownedReplicas(this.platform);
    const all = await Promise.all(this.#swarm.machines.nodes.map((node) => node.docker.listContainers()));
    const containers = all.flat();
    const stray = containers.filter(({ Labels }) => !owned.includes(Labels['ranvier.replica'] ?? ''));
    return { counted: containers.length, wrong: stray.map(({ Names, Status }) => `${Names[0]} ${Status}`) };
  }

  stop(): Promise<void> {
    return this.#swarm.stop();
  }
}
