import { mkdir, open, rename } from 'node:fs/promises';
import { join } from 'node:path';
import { readIfThere, unlessAbsent } from '../../shared/core/exists.js';
import type { ObservedVolume } from '../../shared/data/model.js';
import { type DiscardDeps, discardTree } from '../core/remove-folders.js';
import { isRoot, ownDirectory, uidOf } from '../sandbox/service-users.js';
import { TenantFileError, TenantFolder } from './tenant-folder.js';

const MARKER = 'ranvier.json';
/** The folder in which initdb runs. It is renamed to `data` afterwards. */
const FRESH = 'data.new';
const MAX_VERSION_BYTES = 16;

/**
 * The volume of a database, `<DATA_DIR>/volumes/<serviceId>`. It has the server's folder `data`, which belongs to the
 * service's user, and beside it a marker with the service's id, which only the platform can write.
 */
export class DataVolume {
  readonly folder: string;
  readonly #deps: DiscardDeps;
  readonly #serviceId: string;

  constructor(deps: DiscardDeps, serviceId: string) {
    if (!/^[0-9a-f-]{36}$/.test(serviceId)) throw new Error(`"${serviceId}" is not the id of a service`);
    this.#deps = deps;
    this.#serviceId = serviceId;
    this.folder = join(deps.dataDir, 'volumes', serviceId);
  }

  /** The server's own folder: PGDATA, or the folder of redis. */
  get data(): string {
    return join(this.folder, 'data');
  }

  async observe(initialized: boolean): Promise<ObservedVolume> {
    const data = await TenantFolder.open(this.data).catch(unlessExpected);
    // The content is never shown. If it is not a version, the server itself refuses it.
    const version = (await data?.text('PG_VERSION', MAX_VERSION_BYTES).catch(unlessExpected)) ?? '';
    await data?.close();
    return {
      initialized,
      marker: await this.#marker(),
      hasData: data !== null,
      dataVersion: /^\d{1,2}(\.\d)?$/.exec(version.trim())?.[0] ?? null,
    };
  }

  /**
   * Makes the first data of a volume. `fill` gets a new folder that the service's user owns. The marker is written
   * last: an interrupted attempt leaves none, so the next attempt starts again.
   */
  async initialize(userNumber: number, fill: (folder: string) => Promise<void>): Promise<void> {
    const fresh = join(this.folder, FRESH);
    await mkdir(this.folder, { recursive: true, mode: 0o711 });
    for (const left of [fresh, this.data]) await discardTree(this.#deps, left);
    await mkdir(fresh, { mode: 0o700 });
    await ownDirectory(fresh, userNumber);
    await fill(fresh);
    await rename(fresh, this.data);
    await this.writeMarker();
  }

  /** Writes the marker with the id of the service and syncs it to the disk. */
  async writeMarker(): Promise<void> {
    const path = join(this.folder, MARKER);
    const file = await open(`${path}.new`, 'w', 0o600);
    try {
      await file.writeFile(`${JSON.stringify({ service: this.#serviceId })}\n`);
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(`${path}.new`, path);
    const folder = await open(this.folder, 'r');
    await folder.sync().finally(() => folder.close());
  }

  /** Gives the data to the service's user, for example after an operator copied it from another host. */
  async settleOwner(userNumber: number): Promise<void> {
    if (!isRoot()) return;
    const data = await TenantFolder.open(this.data);
    await data.close();
    if (data.uid !== uidOf(userNumber)) await ownDirectory(this.data, userNumber);
  }

  /** Removes the volume with all its data. */
  async remove(): Promise<void> {
    const aside = `${this.folder}.removed`;
    await discardTree(this.#deps, aside);
    await unlessAbsent(rename(this.folder, aside));
    await discardTree(this.#deps, aside);
  }

  async #marker(): Promise<string | null> {
    const text = await readIfThere(join(this.folder, MARKER));
    if (text === null) return null;
    try {
      const { service } = JSON.parse(text) as { service?: unknown };
      return typeof service === 'string' ? service : 'an unreadable marker';
    } catch {
      return 'an unreadable marker';
    }
  }
}

/** Returns null if a file is missing, or is something that the server has not made. */
function unlessExpected(error: NodeJS.ErrnoException): null {
  if (error.code === 'ENOENT' || error instanceof TenantFileError) return null;
  throw error;
}
