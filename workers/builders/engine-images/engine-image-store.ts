import type { Readable } from 'node:stream';
import type { ImageInfo } from 'dockerode';
import { text } from '../../../shared/core/json-fields.js';
import type { Logger } from '../../../shared/core/log.js';
import { type Engine, engineMessage, engineStatus, unlessGone } from '../../docker/docker-engine.js';
import { readEvents } from '../../docker/engine-events.js';
import { authconfig, type Registry } from '../../docker/registry-accounts.js';
import { BuildError } from '../../failures/explained-errors.js';
import { type ImageStore, isYoungImage, type StoredImage } from '../builder.js';

interface KeptImage {
  /** 64 hex digits: the digest of the registry's manifest, or the image's id if there is no registry. */
  digest: string;
  /** A name that always refers to this image. */
  reference: string;
  sizeBytes: number;
}

interface KeepOptions {
  signal: AbortSignal;
  limitBytes: number;
  log: (line: string) => Promise<void>;
}

export interface EngineImageStoreOptions {
  engine: Engine;
  registry: Registry | null;
  /** The value of the labels that identify this installation's images. A sweep removes no other images. */
  installationId: string;
  log: Logger;
  /** Returns the current time in milliseconds since the epoch. */
  now?: (() => number) | undefined;
}

const IMAGE_LABEL = 'ranvier.image';
const CACHE_LABEL = 'ranvier.cache';
const CACHES_KEPT = '720h';
const TAG_LENGTH = 24;

/** Images in a container engine, named `ranvier/<serviceId>`, with the registry's prefix if there is a registry. */
export class EngineImageStore implements ImageStore {
  readonly #engine: Engine;
  readonly #registry: Registry | null;
  readonly #log: Logger;
  readonly #now: () => number;
  /**
   * Labels by which a sweep recognises this installation's images, and the other images that its builds leave behind.
   */
  readonly labels: { image: Record<string, string>; cache: Record<string, string> };
  readonly ownPrefix: string | null;

  constructor({ engine, registry, installationId, log, now = Date.now }: EngineImageStoreOptions) {
    this.#engine = engine;
    this.#registry = registry;
    this.#log = log;
    this.#now = now;
    this.ownPrefix = registry === null ? null : `${registry.prefix}/ranvier`;
    this.labels = { image: { [IMAGE_LABEL]: installationId }, cache: { [CACHE_LABEL]: installationId } };
  }

  async has({ manifest: { reference } }: StoredImage): Promise<boolean> {
    if (reference === undefined) return false;
    if (await unlessGone(this.#engine.calls.getImage(reference).inspect())) return true;
    return this.#isRegistered(reference);
  }

  /** Returns true if the registry has the image, so that every node can pull it. */
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

  /** Tags a built image, and pushes it if there is a registry. Throws `BuildError`, for example if it is too large. */
  async keep(imageId: string, serviceId: string, { signal, limitBytes, log }: KeepOptions): Promise<KeptImage> {
    const { Size: sizeBytes } = await this.#engine.calls.getImage(imageId).inspect();
    if (sizeBytes > limitBytes) {
      const [size, limit] = [sizeBytes, limitBytes].map((bytes) => (bytes / 1024 ** 3).toFixed(1));
      throw new BuildError(
        `the image has ${size} GB, more than the ${limit} GB that the plan allows; make it smaller, or choose a larger plan`,
      );
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
      new BuildError(
        `the image cannot be pushed to the registry of this installation (REGISTRY_URL): ${reason}; deploy again, or ask its operator`,
      );
    try {
      const stream = (await this.#engine.streams.getImage(name).push(options)) as Readable;
      let digest = '';
      for await (const event of readEvents(stream)) {
        if (event.error !== undefined) throw fail(event.errorDetail?.message ?? event.error);
        digest = text(event.aux, 'Digest') || digest;
      }
      if (digest === '') throw fail('it returned no digest');
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

  /** Removes untagged images that builds left behind more than 30 days ago. Returns their number. */
  async removeOldCaches(): Promise<number> {
    const [label = ''] = labelFilters(this.labels.cache);
    const filters = JSON.stringify({ label: [label], dangling: ['true'], until: [CACHES_KEPT] });
    const { ImagesDeleted } = await this.#engine.streams.pruneImages({ filters });
    return (ImagesDeleted ?? []).filter((entry) => entry.Deleted !== undefined).length;
  }

  async #list(labels: Record<string, string>): Promise<ImageInfo[]> {
    return this.#engine.calls.listImages({ filters: JSON.stringify({ label: labelFilters(labels) }) });
  }

  /** Removes the platform's tags from an image. The engine deletes an image when its last tag is removed. */
  async #remove({ Id: id, RepoTags }: ImageInfo): Promise<boolean> {
    const found = await unlessGone(this.#engine.calls.getImage(id).inspect());
    if (!found) return false;
    const facts = { id, names: RepoTags ?? [], storedAt: newestTime(found) };
    const names = namesToRemove(facts, this.ownPrefix, this.#now());
    try {
      for (const name of names) await unlessGone(this.#engine.calls.getImage(name).remove());
    } catch (error) {
      // The status 409 means that a container uses the image.
      if (engineStatus(error) !== 409) throw error;
      this.#log.debug({ image: id }, `an unwanted image cannot be removed yet: ${engineMessage(error)}`);
      return false;
    }
    if (names.length > 0) this.#log.debug({ image: id }, 'image removed');
    return names.length > 0;
  }
}

export interface UnwantedImage {
  id: string;
  names: readonly string[];
  /** When the image was stored, in milliseconds since the epoch. */
  storedAt: number;
}

/** Returns the platform's names of an unwanted image; none if it is young, its id if it has no names. */
export function namesToRemove(image: UnwantedImage, ownPrefix: string | null, now: number): string[] {
  if (isYoungImage(image.storedAt, now)) return [];
  const names = image.names.filter((name) => name !== '<none>:<none>');
  if (names.length === 0) return [image.id];
  return names.filter(
    (name) => name.startsWith('ranvier/') || (ownPrefix !== null && name.startsWith(`${ownPrefix}/`)),
  );
}

function labelFilters(labels: Record<string, string>): string[] {
  return Object.entries(labels).map(([name, value]) => `${name}=${value}`);
}

/** A repeated build keeps an image's creation time, and only sets a new time for the image's tag. */
function newestTime({ Created, Metadata }: { Created: string; Metadata?: { LastTagTime?: string } }): number {
  const times = [Created, Metadata?.LastTagTime ?? ''].map((time) => Date.parse(time));
  return Math.max(0, ...times.filter((time) => time > 0));
}
