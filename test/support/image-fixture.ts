import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { visit } from './client.js';
import { startRegistry, type TestRegistry } from './docker-registry.js';
import { type EngineName, type Platform, startPlatform } from './platform.js';
import { pushBuilt, pushImage, type TestImage } from './test-image.js';

/** A platform without a Docker engine, and a registry on this machine. */
export class ImageFixture {
  readonly platform: Platform;
  readonly registry: TestRegistry;
  readonly #folder: string;

  private constructor(folder: string, registry: TestRegistry, platform: Platform) {
    this.#folder = folder;
    this.registry = registry;
    this.platform = platform;
  }

  static async create(port: number, engine: EngineName = 'postgres'): Promise<ImageFixture> {
    const folder = await mkdtemp(join(tmpdir(), 'ranvier-images-'));
    const registry = await startRegistry(null, folder, port);
    return new ImageFixture(folder, registry, await startPlatform({ engine, env: {} }));
  }

  async push(name: string, image: TestImage): Promise<string> {
    const full = `${this.registry.address}/${name}`;
    await pushImage(this.#folder, full, image);
    return full;
  }

  pushBuilt(name: string, dockerfile: readonly string[]): Promise<void> {
    return pushBuilt(this.#folder, `${this.registry.address}/${name}`, dockerfile);
  }

  async bodyOf(url: string, path = '/'): Promise<string> {
    return (await visit(url, this.platform.edgePort, path)).body;
  }

  async destroy(): Promise<void> {
    await this.platform.stop();
    await this.registry.stop();
    await rm(this.#folder, { recursive: true, force: true });
  }
}
