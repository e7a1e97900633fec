import { mkdir, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { readIfThere, unlessAbsent } from '../../shared/core/exists.js';
import { type DiscardDeps, discardTree } from '../core/remove-folders.js';
import { renameDurably } from '../core/rename-durably.js';
import { CONTENT } from '../sandbox/volume-mounts.js';

const MARKER = 'ranvier.json';

/** The folder of a volume: the content, and a marker with the service's id, which only the platform writes. */
export class VolumeFolder {
  readonly folder: string;
  protected readonly deps: DiscardDeps;
  readonly #serviceId: string;

  constructor(deps: DiscardDeps, id: string, serviceId = id) {
    if (!/^[0-9a-f-]{36}$/.test(id)) throw new Error(`"${id}" is not the id of a volume`);
    this.deps = deps;
    this.#serviceId = serviceId;
    this.folder = join(deps.dataDir, 'volumes', id);
  }

  get data(): string {
    return join(this.folder, CONTENT);
  }

  async make(): Promise<void> {
    await mkdir(this.folder, { recursive: true, mode: 0o711 });
  }

  async marker(): Promise<string | null> {
    const text = await readIfThere(join(this.folder, MARKER));
    if (text === null) return null;
    try {
      const { service } = JSON.parse(text) as { service?: unknown };
      return typeof service === 'string' ? service : 'an unreadable marker';
    } catch {
      return 'an unreadable marker';
    }
  }

  async writeMarker(): Promise<void> {
    const path = join(this.folder, MARKER);
    const text = `${JSON.stringify({ service: this.#serviceId })}\n`;
    await writeFile(`${path}.new`, text, { mode: 0o600, flush: true });
    await renameDurably(`${path}.new`, path);
  }

  async remove(): Promise<void> {
    const aside = `${this.folder}.removed`;
    await discardTree(this.deps, aside);
    await unlessAbsent(rename(this.folder, aside));
    await discardTree(this.deps, aside);
  }
}
