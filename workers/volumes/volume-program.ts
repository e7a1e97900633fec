import type { ChildProcess, StdioOptions } from 'node:child_process';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { endChild, SYSTEM_PATH, spawnLimited } from '../../shared/core/limited-child.js';
import { onAbort } from '../../shared/core/on-abort.js';
import { BackupError } from '../failures/explained-errors.js';
import { isRoot } from '../sandbox/service-users.js';
import { CONTENT, MOUNT_VOLUMES } from '../sandbox/volume-mounts.js';
import { hasImage } from './volume-image.js';

/** The content of a volume and who owns it. */
export interface VolumeContent {
  /** The folder of the volume, with `image` or `data` in it. */
  folder: string;
  /** The host's user of the service. */
  uid: number;
  /** True if files may belong to other users too: those of an image. */
  ownersDiffer: boolean;
}

/** Privileges that root needs beside the rights of the owner: to read what the owner hides, or to give files all of their attributes. */
const PRIVILEGES = {
  read: ['dac_read_search'],
  write: ['dac_override', 'fowner', 'fsetid', 'chown'],
} as const;
/** A volume of any size can be read or written within its operation's own time. */
const LIMITS = { processorSeconds: 24 * 3600, fileBytes: 2 ** 50 };
/** What tar says of a full file system. */
const FULL = /: (Cannot \w+: No space left on device|Wrote only \d+ of \d+ bytes)$/;
const MAX_LINES = 5;
const MAX_LINE = 500;

/**
 * Starts a program in the content of a volume, as the user who owns that. An image is mounted for this program alone: nothing is left if the
 * program, this worker or the host ends. Descriptor 3 is not free.
 */
export async function spawnInVolume(
  { folder, uid }: VolumeContent,
  use: keyof typeof PRIVILEGES,
  argv: readonly string[],
  [input, output, errors]: readonly ('pipe' | 'ignore' | number)[],
): Promise<ChildProcess> {
  const mode = use === 'read' ? 'observed' : 'shared';
  const mount = ['/bin/sh', '-c', MOUNT_VOLUMES, 'mount-volumes', '1', String(uid), folder, mode, 'keep'];
  const own = (await hasImage(folder)) ? ['unshare', '--mount', '--propagation', 'private'] : [];
  const enter = ['/bin/sh', '-c', 'cd -- "$0" && exec "$@"', join(folder, CONTENT)];
  const stdio: StdioOptions = [input ?? 'ignore', output ?? 'ignore', errors ?? 'ignore', 'ignore'];
  return spawnTool([...own, ...mount, ...enter, ...asOwner(uid, PRIVILEGES[use]), ...argv], stdio);
}

/** Starts a program of the platform. The child ends with this process. */
export function spawnTool(argv: readonly string[], stdio: Exclude<StdioOptions, string>): ChildProcess {
  const [program = '', ...args] = argv;
  return spawnLimited([program, ...args], {
    env: { PATH: SYSTEM_PATH, LC_ALL: 'C' },
    cwd: '/',
    limits: LIMITS,
    stdio,
  });
}

/** Returns arguments before a program that give it the rights of the owner of the content, and these privileges. */
function asOwner(uid: number, privileges: readonly string[]): string[] {
  // In a user namespace, the platform's own user has every right to its own files.
  if (!isRoot()) return ['unshare', '--user', '--map-root-user', '--'];
  const only = ['-all', ...privileges.map((name) => `+${name}`)].join(',');
  const sets = ['inh', 'ambient'].map((set) => `--${set}-caps=${only}`);
  const user = [`--reuid=${uid}`, `--regid=${uid}`, '--clear-groups', '--no-new-privs'];
  return ['setpriv', ...user, ...sets, `--bounding-set=${only}`, '--'];
}

/**
 * Resolves with the exit code of a program whose error output is a pipe. `onLine` gets each line of that; lines for which it returns true are
 * not shown in an error. Rejects with a `BackupError` if the code is above `most`, and with the signal's reason after an abort.
 */
export async function ended(
  child: ChildProcess,
  what: string,
  signal: AbortSignal,
  { most = 0, onLine = () => false }: { most?: number; onLine?: (line: string) => boolean } = {},
): Promise<void> {
  const lines: string[] = [];
  const reader = createInterface({ input: child.stderr as Readable });
  reader.on('line', (line) => {
    if (onLine(line)) return;
    lines.push(line.slice(0, MAX_LINE));
    if (lines.length > MAX_LINES) lines.shift();
  });
  const forgetAbort = onAbort(signal, () => endChild(child));
  try {
    const [code, killedBy] = await new Promise<[number | null, NodeJS.Signals | null]>((resolve, reject) => {
      child.once('error', reject);
      child.once('close', (...end) => resolve(end));
    });
    signal.throwIfAborted();
    if (code !== null && code <= most) return;
    if (lines.some((line) => FULL.test(line))) {
      throw new BackupError('the volume is too small for the content of the backup; make it larger');
    }
    throw new BackupError(
      `${what} failed (${killedBy ?? `exit code ${code}`}): ${lines.join(' · ') || 'it said nothing'}`,
    );
  } finally {
    forgetAbort();
    reader.close();
  }
}
