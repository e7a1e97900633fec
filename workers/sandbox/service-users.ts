import { link, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { runLimited } from '../../shared/core/run-limited.js';
import { ownSmallTree } from '../core/small-tree.js';
import type { SandboxLevel } from './sandbox.js';

/** Number of Linux user IDs of an installation. Each service has its own user ID until the service is deleted. */
const USERS = 200_000;
/**
 * Starts of the ranges to choose from. The first range is far above the user IDs that a host usually has. All other
 * ranges are above the user IDs of systemd's containers.
 */
const FIRST_USERS = [300_000, ...Array.from({ length: 100 }, (_, i) => 1_900_000_000 + i * USERS)];

let firstUser = 300_000;

export interface UserRange {
  first: number;
  last: number;
}

export function isRoot(): boolean {
  return process.getuid?.() === 0;
}

export function hasUsers(level: SandboxLevel): boolean {
  return level !== 'rootless' && isRoot();
}

/**
 * Number of user IDs for images, at the end of the installation's range. All containers with an image use the same IDs,
 * in separate user namespaces.
 */
export const IMAGE_USERS = 65_536;

/** Returns the host's user ID to which user 0 of every image is mapped. */
export function firstImageUser(): number {
  return firstUser + USERS - IMAGE_USERS;
}

/** Returns the range of Linux user IDs of this platform's services and images. */
export function userRange(): UserRange {
  return { first: firstUser, last: firstUser + USERS - 1 };
}

/**
 * Returns the user and group ID of a service. A worker that runs as root builds and runs the service as this user.
 * Throws if the range is used up.
 */
export function uidOf(userNumber: number): number {
  if (userNumber >= USERS - IMAGE_USERS) {
    throw new Error(`Service number ${userNumber} has no user: this host's range ends at ${firstImageUser() - 1}`);
  }
  return firstUser + userNumber;
}

/**
 * Chooses the range of the services' Linux user IDs and stores it in DATA_DIR. Throws if the host
 * has assigned one of these IDs to another user, because a service could then read and end what belongs to that user.
 */
export async function settleUsers(dataDir: string): Promise<void> {
  const files = ['passwd', 'group', 'subuid', 'subgid'];
  const [passwd = '', group = '', ...subordinate] = await Promise.all(
    files.map((name) => readFile(`/etc/${name}`, 'utf8').catch(() => '')),
  );
  const given = [...[passwd, group].flatMap(singleIds), ...subordinate.flatMap(idRanges)];
  const file = join(dataDir, 'user-range');
  const known = await readFile(file, 'utf8').catch(() => null);
  const first = known === null ? await remember(file, freeRange(given)) : Number.parseInt(known, 10);
  if (!Number.isSafeInteger(first) || first < 1) throw new Error(`${file} does not hold a user number`);
  const range = { first, last: first + USERS - 1 };
  const clash = given.find((other) => overlap(other, range));
  if (clash !== undefined) {
    throw new Error(
      `The users of hosted services, ${range.first} to ${range.last} (${file}), overlap ${clash.first} to ${clash.last}, ` +
        'which /etc/passwd, group, subuid or subgid give to somebody else: move those, or remove the file while no service runs',
    );
  }
  firstUser = first;
}

/** Stores the start of the range, unless another worker has stored one. Returns the stored start. */
async function remember(file: string, first: number): Promise<number> {
  const candidate = `${file}.${process.pid}`;
  await writeFile(candidate, `${first}\n`, { mode: 0o600 });
  await link(candidate, file).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'EEXIST') throw error;
  });
  await rm(candidate, { force: true });
  return Number.parseInt(await readFile(file, 'utf8'), 10);
}

/** Returns the start of the first range that overlaps none of the given ranges. Throws if there is none. */
export function freeRange(given: readonly UserRange[]): number {
  const first = FIRST_USERS.find(
    (start) => !given.some((other) => overlap(other, { first: start, last: start + USERS - 1 })),
  );
  if (first === undefined)
    throw new Error(`No ${USERS} user numbers in a row are free on this host (/etc/subuid, /etc/subgid)`);
  return first;
}

function singleIds(text: string): UserRange[] {
  const ids = text.split('\n').map((line) => Number.parseInt(line.split(':')[2] ?? '', 10));
  return ids.filter((id) => Number.isSafeInteger(id)).map((id) => ({ first: id, last: id }));
}

/** Parses the ranges in `/etc/subuid` or `/etc/subgid`. A line is `name:first:count`. */
export function idRanges(text: string): UserRange[] {
  const ranges = text.split('\n').map((line) => line.split(':').slice(1).map(Number));
  return ranges.flatMap(([first = Number.NaN, count = Number.NaN]) =>
    Number.isSafeInteger(first) && count > 0 ? [{ first, last: first + count - 1 }] : [],
  );
}

function overlap(a: UserRange, b: UserRange): boolean {
  return a.first <= b.last && b.first <= a.last;
}

/**
 * Makes the kernel refuse hard links to other users' files. Throws if it does not. Without mount namespaces, a command
 * could otherwise link a file of the host into its folder, and `ownDirectory` would make the command's user its owner.
 */
export async function protectLinks(setting = '/proc/sys/fs/protected_hardlinks'): Promise<void> {
  const isSet = async () => (await readFile(setting, 'utf8').catch(() => '')).trim() === '1';
  if (await isSet()) return;
  await writeFile(setting, '1').catch(() => undefined);
  if (await isSet()) return;
  throw new Error(
    'Commands of tenants could take files of this host by hard links, because fs.protected_hardlinks is not 1 and cannot be set here. ' +
      'Run "sysctl fs.protected_hardlinks=1" on the host and start again',
  );
}

/** Makes a service's user the owner of a folder and its content. Does nothing without root. */
export async function ownDirectory(path: string, userNumber: number, signal?: AbortSignal): Promise<void> {
  if (isRoot()) await own(path, uidOf(userNumber), signal);
}

/** Gives a folder and its content to the user of the host that is user 0 in every image. */
export function ownByImages(path: string, signal?: AbortSignal): Promise<void> {
  return own(path, firstImageUser(), signal);
}

async function own(path: string, uid: number, signal?: AbortSignal): Promise<void> {
  if (await ownSmallTree(path, uid, uid)) return;
  await runLimited('chown', ['-hR', '--', `${uid}:${uid}`, path], signal ? { signal } : {});
}
