import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { type InstallOptions, unitNames } from './install.js';
import { TARGET } from './units.js';

/**
 * Removes the platform from the host: its processes, what they host, units, commands and versions.
 * Data and settings stay, unless `isPurged`.
 */
export async function uninstall(options: InstallOptions, { isPurged }: { isPurged: boolean }): Promise<void> {
  const { root, dataDir, settingsFile, manager, paths, say } = options;
  const units = await unitNames(options);
  if (manager !== null) {
    // INT makes the worker stop what it hosts.
    await manager.signal('ranvier-worker.service', 'INT').catch(() => undefined);
    await manager.stop(TARGET);
    for (const unit of units) await manager.stop(unit);
    for (const unit of units) await manager.disable(unit);
  }
  for (const unit of units) await rm(join(paths.unitFolder, unit), { force: true });
  for (const name of ['ranvier', 'rnv']) await rm(join(paths.linkFolder, name), { force: true });
  await manager?.reload();
  await rm(root, { recursive: true, force: true });
  if (!isPurged) return say(`kept: ${dataDir} and ${settingsFile}`);
  await rm(dataDir, { recursive: true, force: true });
  await rm(settingsFile, { force: true });
}
