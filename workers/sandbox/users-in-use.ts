import { exists } from '../../shared/core/exists.js';
import { CommandFailed, resultOf } from '../../shared/core/run-limited.js';
import { usersOfProcesses } from './process-table.js';
import { isRoot, userRange } from './service-users.js';

/** Folders outside DATA_DIR in which hosted code may write at level `none`. */
const SHARED = ['/tmp', '/var/tmp', '/dev/shm'];
/**
 * Folders that belong to a service's user are at most this deep, for example `volumes/<id>/data` and
 * `sandboxes/<id>/home`.
 */
const DEPTH = 4;
const MAX_OUTPUT_BYTES = 32 * 1024 ** 2;

/** Returns the `userNumber` of each service whose Linux user has a process or a file on this host. */
export async function usersInUse(dataDir: string): Promise<number[]> {
  if (!isRoot()) return [];
  const { first, last } = userRange();
  const places: string[] = [];
  for (const path of [dataDir, ...SHARED]) if (await exists(path)) places.push(path);
  // `-prune`: all files below a user's folder belong to that user.
  const wanted = ['-uid', `+${first - 1}`, '-uid', `-${last + 1}`, '-printf', '%U\\n', '-prune'];
  const args = ['-P', ...places, '-ignore_readdir_race', '-xdev', '-maxdepth', String(DEPTH), ...wanted];
  const found = await resultOf('find', args, { maxBuffer: MAX_OUTPUT_BYTES });
  // In spite of -ignore_readdir_race, `find` reports a folder that is removed before `find` opens it.
  const errors = found.stderr
    .split('\n')
    .filter((line) => line !== '' && !line.endsWith(': No such file or directory'));
  if (found.cut !== null || (found.code !== 0 && (errors.length > 0 || found.stderr === '')))
    throw new CommandFailed('find', found);
  const users = new Set([...(await usersOfProcesses()), ...found.stdout.trim().split('\n').map(Number)]);
  return [...users].filter((uid) => uid >= first && uid <= last).map((uid) => uid - first);
}
