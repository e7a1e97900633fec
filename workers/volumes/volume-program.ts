import type { ChildProcess, StdioOptions } from 'node:child_process';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { endChild, SYSTEM_PATH, spawnLimited } from '../../shared/core/limited-child.js';
import { onAbort } from '../../shared/core/on-abort.js';
import { LastLines } from '../core/last-lines.js';
import { BackupError } from '../failures/explained-errors.js';
import type { ReleaseSpec } from '../runtime/runtime-driver.js';
import { firstImageUser, isRoot, uidOf } from '../sandbox/service-users.js';
import { CONTENT, MOUNT_VOLUMES } from '../sandbox/volume-mounts.js';
import { hasImage } from './volume-image.js';

export interface VolumeContent {
  folder: string;
  /** The Linux user ID, on the host, that owns the content. */
  uid: number;
  /** True if files may belong to several users of an image. */
  ownersDiffer: boolean;
}

/** Returns which Linux user ID owns the content of a release's volumes on this host. */
export function ownerOfVolumes({
  userNumber,
  image,
}: Pick<ReleaseSpec, 'userNumber' | 'image'>): Pick<VolumeContent, 'uid' | 'ownersDiffer'> {
  if (!isRoot()) return { uid: process.getuid?.() ?? 0, ownersDiffer: false };
  const { process: own } = image.manifest;
  if (own === undefined) return { uid: uidOf(userNumber), ownersDiffer: false };
  return { uid: firstImageUser() + own.user.uid, ownersDiffer: true };
}

/** Capabilities to read files that the owner made unreadable, or to restore all attributes of files. */
const PRIVILEGES = {
  read: ['dac_read_search'],
  write: ['dac_override', 'fowner', 'fsetid', 'chown'],
} as const;
/** With these limits, a program can read or write a volume of any size before its timeout. */
const LIMITS = { processorSeconds: 24 * 3600, fileBytes: 2 ** 50 };
const FULL = /: (Cannot \w+: No space left on device|Wrote only \d+ of \d+ bytes)$/;
const MAX_LINES = 5;
const MAX_LINE = 500;

/**
 * Starts a program in the content of a volume, as the user who owns it. An image is mounted for this program only: the
 * mount disappears if the program or this worker exits.
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

/** Starts a program of the host. The child is killed when this process exits. */
export function spawnTool(argv: readonly string[], stdio: Exclude<StdioOptions, string>): ChildProcess {
  const [program = '', ...args] = argv;
  return spawnLimited([program, ...args], {
    env: { PATH: SYSTEM_PATH, LC_ALL: 'C' },
    cwd: '/',
    limits: LIMITS,
    stdio,
  });
}

function asOwner(uid: number, privileges: readonly string[]): string[] {
  // As root of a user namespace, the platform's own user has all rights to its own files.
  if (!isRoot()) return ['unshare', '--user', '--map-root-user', '--'];
  const only = ['-all', ...privileges.map((name) => `+${name}`)].join(',');
  const sets = ['inh', 'ambient'].map((set) => `--${set}-caps=${only}`);
  const user = [`--reuid=${uid}`, `--regid=${uid}`, '--clear-groups', '--no-new-privs'];
  return ['setpriv', ...user, ...sets, `--bounding-set=${only}`, '--'];
}

/** Resolves when a program has exited. Rejects with a `BackupError` if its exit code is above `most`. */
export async function ended(
  child: ChildProcess,
  what: string,
  signal: AbortSignal,
  { most = 0, onLine = () => false }: { most?: number; onLine?: (line: string) => boolean } = {},
): Promise<void> {
  const output = new LastLines(MAX_LINES);
  const reader = createInterface({ input: child.stderr as Readable });
  reader.on('line', (line) => {
    if (onLine(line)) return;
    output.push(line.slice(0, MAX_LINE));
  });
  const forgetAbort = onAbort(signal, () => endChild(child));
  try {
    const [code, killedBy] = await new Promise<[number | null, NodeJS.Signals | null]>((resolve, reject) => {
      child.once('error', reject);
      child.once('close', (...end) => resolve(end));
    });
    signal.throwIfAborted();
    if (code !== null && code <= most) return;
    if (output.lines.some((line) => FULL.test(line))) {
      throw new BackupError('the volume is too small for the content of the backup; make it larger');
    }
    const said = output.lines.join(' · ') || 'it said nothing';
    throw new BackupError(`${what} failed (${killedBy ?? `exit code ${code}`}): ${said}`);
  } finally {
    forgetAbort();
    reader.close();
  }
}
