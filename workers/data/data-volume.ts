import { mkdir, rename } from 'node:fs/promises';
import { join } from 'node:path';
import type { ObservedVolume } from '../../shared/data/model.js';
import { discardTree } from '../core/remove-folders.js';
import { isRoot, ownDirectory, uidOf } from '../sandbox/service-users.js';
import { TenantFileError, TenantFolder } from '../volumes/tenant-folder.js';
import { VolumeFolder } from '../volumes/volume-folder.js';

const FRESH = 'data.new';
const MAX_VERSION_BYTES = 16;

/** The volume of a database, which contains the data folder of its server. */
export class DataVolume extends VolumeFolder {
  async observe(initialized: boolean): Promise<ObservedVolume> {
    const data = await TenantFolder.open(this.data).catch(unlessExpected);
    // The tenant can change this file, so its content is never displayed.
    const version = (await data?.text('PG_VERSION', MAX_VERSION_BYTES).catch(unlessExpected)) ?? '';
    await data?.close();
    return {
      initialized,
      marker: await this.marker(),
      hasData: data !== null,
      dataVersion: /^\d{1,2}(\.\d)?$/.exec(version.trim())?.[0] ?? null,
    };
  }

  /** Fills a new data folder with `fill`. Writes the marker last, so that an interrupted attempt is repeated. */
  async initialize(userNumber: number, fill: (folder: string) => Promise<void>): Promise<void> {
    const fresh = join(this.folder, FRESH);
    await this.make();
    for (const left of [fresh, this.data]) await discardTree(this.deps, left);
    await mkdir(fresh, { mode: 0o700 });
    await ownDirectory(fresh, userNumber);
    await fill(fresh);
    await rename(fresh, this.data);
    await this.writeMarker();
  }

  /** Makes the service's Linux user the owner of the data, which an operator may have copied from another host. */
  async settleOwner(userNumber: number): Promise<void> {
    if (!isRoot()) return;
    const data = await TenantFolder.open(this.data);
    await data.close();
    if (data.uid !== uidOf(userNumber)) await ownDirectory(this.data, userNumber);
  }
}

function unlessExpected(error: NodeJS.ErrnoException): null {
  if (error.code === 'ENOENT' || error instanceof TenantFileError) return null;
  throw error;
}
