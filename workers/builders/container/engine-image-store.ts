import type { Readable } from 'node:stream';
import type { ImageInfo } from 'dockerode';
import type { Logger } from '../../../shared/log.js';
import { authconfig } from '../../docker/credentials.js';
import { type Engine, engineMessage, engineStatus, unlessGone } from '../../docker/engine.js';
import { readEvents } from '../../docker/events.js';
import type { Registry } from '../../docker/registry.js';
import { BuildError, type ImageStore, type StoredImage } from '../builder.js';

/** What a build's image is kept as. */
export interface KeptImage {
  /** 64 hex digits: of the registry's manifest, or the id of an image that only this engine has. */
  digest: string;
  /** A name that means this image and no other, for good. */
  reference: string;
  sizeBytes: number;
}

export interface EngineImageStore extends ImageStore {
  /** Marks images, and what their builds leave, as this installation's. */
  readonly labels: { image: Record<string, string>; cache: Record<string, string> };
  /** Names a built image, and pushes it where there is a registry. Throws `BuildError`. */
  keep(imageId: string, serviceId: string, options: KeepOptions): Promise<KeptImage>;
  /** Removes what the classic builder left of builds of 30 days ago; returns how many images. */
  removeOldCaches(): Promise<number>;
}

export interface KeepOptions {
  signal: AbortSignal;
  limitBytes: number;
  log: (line: string) => Promise<void>;
}

export interface EngineImageStoreOptions {
  engine: Engine;
  registry: Registry | null;
  /** Whose images a sweep may remove. */
  installationId: string;
  log: Logger;
  /** Milliseconds since the epoch. */
  now?: (() => number) | undefined;
}

const IMAGE_LABEL = 'ranvier.image';
const CACHE_LABEL = 'ranvier.cache';
/** An image that nobody wants may be one whose deployment is about to be stored. */
const YOUNG_MS = 60 * 60_000;
const CACHES_KEPT = '720h';
const TAG_LENGTH = 24;

/** Images in a container engine, named `ranvier/<serviceId>`, below the registry's prefix where there is one. */
export function createEngineImageStore(options: EngineImageStoreOptions): EngineImageStore {
  return new EngineImages(options);
}

class EngineImages implements EngineImageStore {
  readonly #engine: Engine;
  readonly #registry: Registry | null;
  readonly #log: Logger;
  readonly #now: () => number;
  readonly labels: EngineImageStore['labels'];

  constructor({ engine, registry, installationId, log, now = Date.now }: EngineImageStoreOptions) {
    this.#engine = engine;
    this.#registry = registry;
    this.#log = log;
    this.#now = now;
    this.labels = { image: { [IMAGE_LABEL]: installationId }, cache: { [CACHE_LABEL]: installationId } };
  }

  async has({ manifest: { reference } }: StoredImage): Promise<boolean> {
    if (reference === undefined) return false;
    if (await unlessGone(this.#engine.calls.getImage(reference).inspect())) return true;
    return this.#isRegistered(reference);
  }

  /** An image in the registry is one that every node can get. */
  async #isRegistered(reference: string): Promise<boolean> {
    const registry = this.#registry;
    if (registry === null || !reference.startsWith(`${registry.prefix}/`)) return false;
    try {
      await this.#engine.calls.getImage(reference).distribution({ authconfig: authconfig(registry.auth) });
      return true;
    } catch (error) {
      if (/manifest unknown|not found/i.test(engineMessage(error))) return false;
      throw error;
    }
  }

  async keep(imageId: string, serviceId: string, { signal, limitBytes, log }: KeepOptions): Promise<KeptImage> {
    const { Size: sizeBytes } = await this.#engine.calls.getImage(imageId).inspect();
    if (sizeBytes > limitBytes) {
      const [size, limit] = [sizeBytes, limitBytes].map((bytes) => (bytes / 1024 ** 3).toFixed(1));
      throw new BuildError(`the image has ${size} GB, more than the ${limit} GB that the plan allows`);
    }
    const id = imageId.replace(/^sha256:/, '');
    const repo = `${this.#registry === null ? '' : `${this.#registry.prefix}/`}ranvier/${serviceId}`;
    const tag = id.slice(0, TAG_LENGTH);
    await this.#engine.calls.getImage(imageId).tag({ repo, tag });
    if (this.#registry === null) return { digest: id, reference: `${repo}:${tag}`, sizeBytes };
    const digest = await this.#push(`${repo}:${tag}`, this.#registry, signal);
    await log(`Pushed ${repo}@${digest}`);
    return { digest: digest.replace(/^sha256:/, ''), reference: `${repo}@${digest}`, sizeBytes };
  }

  async #push(name: string, registry: Registry, signal: AbortSignal): Promise<string> {
    const options = { authconfig: authconfig(registry.auth), abortSignal: signal };
    const fail = (reason: string) =>
      new BuildError(`the image cannot be pushed to the registry of this installation (REGISTRY_URL): ${reason}`);
    try {
      const stream = (await this.#engine.streams.getImage(name).push(options)) as Readable;
      let digest: string | null = null;
      for await (const event of readEvents(stream)) {
        if (event.error !== undefined) throw fail(event.errorDetail?.message ?? event.error);
        digest = digestOf(event.aux) ?? digest;
      }
      if (digest === null) throw fail('it gave no digest');
      return digest;
    } catch (error) {
      signal.throwIfAborted();
      throw engineStatus(error) === undefined ? error : fail(engineMessage(error));
    }
  }

  async sweep(isWanted: (digest: string) => boolean): Promise<number> {
    let removed = 0;
    for (const image of await this.#list(this.labels.image)) {
      const digests = [image.Id, ...(image.RepoDigests ?? [])].map((name) => name.replace(/^.*sha256:/, ''));
      if (!digests.some(isWanted) && (await this.#remove(image))) removed += 1;
    }
    return removed;
  }

  async removeOldCaches(): Promise<number> {
    const [label = ''] = labelFilters(this.labels.cache);
    const filters = JSON.stringify({ label: [label], dangling: ['true'], until: [CACHES_KEPT] });
    const { ImagesDeleted } = await this.#engine.streams.pruneImages({ filters });
    return (ImagesDeleted ?? []).filter((entry) => entry.Deleted !== undefined).length;
  }

  async #list(labels: Record<string, string>): Promise<ImageInfo[]> {
    return this.#engine.calls.listImages({ filters: JSON.stringify({ label: labelFilters(labels) }) });
  }

  /** Takes our names from an image, which removes one that has no others; not from one that a container uses. */
  async #remove({ Id: id, RepoTags }: ImageInfo): Promise<boolean> {
    const found = await unlessGone(this.#engine.calls.getImage(id).inspect());
    if (!found || this.#now() - newestTime(found) < YOUNG_MS) return false;
    const names = (RepoTags ?? []).filter((name) => name !== '<none>:<none>');
    const ours = names.filter((name) => this.#isOurs(name));
    if (ours.length === 0 && names.length > 0) return false;
    try {
      for (const name of ours.length > 0 ? ours : [id]) await unlessGone(this.#engine.calls.getImage(name).remove());
    } catch (error) {
      if (engineStatus(error) !== 409) throw error;
      this.#log.debug({ image: id }, `an image that nobody wants stays: ${engineMessage(error)}`);
      return false;
    }
    this.#log.debug({ image: id }, 'image removed');
    return true;
  }

  #isOurs(name: string): boolean {
    return (
      name.startsWith('ranvier/') || (this.#registry !== null && name.startsWith(`${this.#registry.prefix}/ranvier/`))
    );
  }
}

function labelFilters(labels: Record<string, string>): string[] {
  return Object.entries(labels).map(([name, value]) => `${name}=${value}`);
}

/** An image that a build makes again has its first one's age; its name is new. */
function newestTime({ Created, Metadata }: { Created: string; Metadata?: { LastTagTime?: string } }): number {
  const times = [Created, Metadata?.LastTagTime ?? ''].map((time) => Date.parse(time));
  return Math.max(0, ...times.filter((time) => time > 0));
}

function digestOf(aux: unknown): string | null {
  const digest = typeof aux === 'object' && aux !== null && 'Digest' in aux ? aux.Digest : null;
  return typeof digest === 'string' ? digest : null;
}
