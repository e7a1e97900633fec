import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { visit } from './client.js';
import { startRegistry, type TestRegistry } from './docker-registry.js';
import { type Platform, startPlatform } from './platform.js';
import { pushImage, type TestImage } from './test-image.js';

/** A platform without a container engine, and a registry on this machine. */
export class ImageGround {
  readonly platform: Platform;
  readonly registry: TestRegistry;
  readonly #folder: string;

  private constructor(folder: string, registry: TestRegistry, platform: Platform) {
    this.#folder = folder;
    this.registry = registry;
    this.platform = platform;
  }

  static async create(port: number): Promise<ImageGround> {
    const folder = await mkdtemp(join(tmpdir(), 'ranvier-images-'));
    const registry = await startRegistry(null, folder, port);
    return new ImageGround(folder, registry, await startPlatform({ engine: 'postgres', env: {} }));
  }

  /** Makes an image and pushes it. Returns its name in the registry. */
  async push(name: string, image: TestImage): Promise<string> {
    const full = `${this.registry.address}/${name}`;
    await pushImage(this.#folder, full, image);
    return full;
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
