import { mkdir, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { readIfThere, unlessAbsent } from '../../shared/core/exists.js';
import { type DiscardDeps, discardTree } from '../core/remove-folders.js';
import { renameDurably } from '../core/rename-durably.js';
import { CONTENT } from '../sandbox/volume-mounts.js';

const MARKER = 'ranvier.json';

/**
 * The folder of one volume, `<DATA_DIR>/volumes/<id>`. It contains the content, which the service's user owns, and a
 * marker, which only the platform writes and which contains the service's id. The volume of a database has the id of
 * its service.
 */
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

  /** Returns the service id in the marker; null if there is none. */
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

  /** Writes the marker with the id of the service and syncs it to the disk. */
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
