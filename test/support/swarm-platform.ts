import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { hasCaddy, startCaddy, type TestCaddy } from './caddy.js';
import { DockerMachines, type DockerNode, NO_DOCKER } from './docker.js';
import { NO_REGISTRY, REGISTRY_USER, startRegistry, type TestRegistry } from './docker-registry.js';
import { type EngineName, type Platform, startPlatform } from './platform.js';
import type { PlatformProcess } from './processes.js';
import { hasRedis } from './redis.js';

const MISSING = [hasCaddy ? '' : 'caddy is not installed', hasRedis ? '' : 'redis-server is not installed'];
/** The reason why no platform with several hosts can be started on this machine; '' if one can. */
export const NO_SWARM_PLATFORM = [NO_DOCKER, NO_REGISTRY, ...MISSING].find((reason) => reason !== '') ?? '';

const REGISTRY_PORT = 5000;

export interface SwarmPlatformOptions {
  engine: EngineName;
  nodes: number;
  env?: Record<string, string>;
}

/** A platform on a Docker swarm of several machines behind Caddy, with one registry. */
export class SwarmPlatform {
  readonly machines: DockerMachines;
  readonly manager: DockerNode;
  readonly platform: Platform;
  readonly #folder: string;
  readonly #caddy: TestCaddy;
  readonly #registries: Map<DockerNode, TestRegistry>;
  readonly #dataDirs: string[] = [];

  private constructor(
    init: Pick<SwarmPlatform, 'machines' | 'manager' | 'platform'>,
    folder: string,
    caddy: TestCaddy,
    registries: Map<DockerNode, TestRegistry>,
  ) {
    this.machines = init.machines;
    this.manager = init.manager;
    this.platform = init.platform;
    this.#folder = folder;
    this.#caddy = caddy;
    this.#registries = registries;
  }

  static async start({ engine, nodes, env = {} }: SwarmPlatformOptions): Promise<SwarmPlatform> {
    const folder = await mkdtemp(join(tmpdir(), 'ranvier-hosts-'));
    const machines = await DockerMachines.create();
    const registries = new Map<DockerNode, TestRegistry>();
    let caddy: TestCaddy | undefined;
    try {
      const manager = await machines.addManager();
      await manager.importNode();
      while (machines.nodes.length < nodes) await machines.addWorker(manager);
      for (const node of machines.nodes) registries.set(node, await serveImages(node, folder));
      caddy = await startCaddy();
      const platform = await startPlatform({
        engine,
        workers: 0,
        env: {
          RUNTIME: 'swarm',
          DOCKER_HOST: manager.host,
          REGISTRY_URL: `http://${REGISTRY_USER}@127.0.0.1:${REGISTRY_PORT}`,
          EDGE: 'caddy',
          CADDY_ADMIN_URL: caddy.adminUrl,
          ...env,
        },
      });
      return new SwarmPlatform({ machines, manager, platform }, folder, caddy, registries);
    } catch (error) {
      await tearDown(machines, registries, folder, caddy);
      throw error;
    }
  }

  get dataDirs(): readonly string[] {
    return this.#dataDirs;
  }

  /** Starts a worker on the host with this number. A host is simulated by a data folder. */
  async startWorker(host: number): Promise<PlatformProcess> {
    const dataDir = host === 0 ? this.platform.dataDir : join(this.#folder, `data-of-host-${host}`);
    if (!this.#dataDirs.includes(dataDir)) this.#dataDirs.push(dataDir);
    return this.platform.startWorker({ DATA_DIR: dataDir });
  }

  /** Simulates a power cut: the machine's engine, containers and network end at once. */
  async cut(node: DockerNode): Promise<void> {
    await node.kill();
    await this.#registries.get(node)?.stop();
    this.#registries.delete(node);
  }

  async boot(node: DockerNode): Promise<void> {
    await this.machines.boot(node);
    this.#registries.set(node, await serveImages(node, this.#folder));
  }

  async stop(): Promise<void> {
    await this.platform.stop({ hosted: false });
    await tearDown(this.machines, this.#registries, this.#folder, this.#caddy);
  }
}

async function tearDown(
  machines: DockerMachines,
  registries: ReadonlyMap<DockerNode, TestRegistry>,
  folder: string,
  caddy?: TestCaddy,
): Promise<void> {
  await caddy?.stop();
  for (const registry of registries.values()) await registry.stop();
  await machines.destroy();
  await rm(folder, { recursive: true, force: true });
}

/** Starts a registry on the machine's loopback address. All machines share one account and one folder of images. */
function serveImages(node: DockerNode, folder: string): Promise<TestRegistry> {
  return startRegistry(node, folder, REGISTRY_PORT, { users: true, data: join(folder, 'images') });
}
