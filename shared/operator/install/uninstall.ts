import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { usedVersion } from './copy-package.js';
import { type InstallOptions, unitNames, unlinkCommands } from './install.js';

/** Removes the platform and its hosted applications from the host. With `isPurged`, also removes data and settings. */
export async function uninstall(options: InstallOptions, { isPurged }: { isPurged: boolean }): Promise<void> {
  const { root, dataDir, settingsFile, manager, paths, say } = options;
  const units = (await usedVersion(root)) === null ? [] : await unitNames(options);
  if (manager !== null) {
    // SIGINT makes the worker stop the applications that it hosts.
    if (units.length > 0) await manager.signal('ranvier-worker.service', 'INT').catch(() => undefined);
    for (const unit of units) await manager.stop(unit);
    for (const unit of units) await manager.disable(unit);
  }
  for (const unit of units) await rm(join(paths.unitFolder, unit), { force: true });
  await unlinkCommands(options);
  await manager?.reload();
  await rm(root, { recursive: true, force: true });
  if (!isPurged) return say(`kept: ${dataDir} and ${settingsFile}`);
  await rm(dataDir, { recursive: true, force: true });
  await rm(settingsFile, { force: true });
}
