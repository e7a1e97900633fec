import { createHash } from 'node:crypto';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';

const FOLDER = resolve(import.meta.dirname, '../../../migrations');
const FILE = join(FOLDER, 'checksums.json');

/** Name of a migration in the database → the SHA-256 of its source. */
export type Checksums = Record<string, string>;

export async function readMigrations(): Promise<Checksums> {
  const files = (await readdir(FOLDER)).filter((file) => /^\d{14}_\w+\.ts$/.test(file)).sort();
  const entries = files.map(async (file) => [file.slice(0, -3), sha256(await readFile(join(FOLDER, file)))]);
  return Object.fromEntries(await Promise.all(entries));
}

export async function readChecksums(): Promise<Checksums> {
  return JSON.parse(await readFile(FILE, 'utf8'));
}

/** Returns a sentence for each problem; none if no recorded migration was changed. */
export function faultsOfMigrations(recorded: Checksums, found: Checksums): string[] {
  return [...editedMigrations(recorded, found), ...unrecordedMigrations(recorded, found), ...sharedTimestamps(found)];
}

/** Records the checksums of new migrations. Throws if a recorded migration was edited or removed. */
export async function recordMigrations(): Promise<string[]> {
  const [recorded, found] = await Promise.all([readChecksums(), readMigrations()]);
  const faults = [...editedMigrations(recorded, found), ...sharedTimestamps(found)];
  if (faults.length > 0) throw new Error(faults.join('\n'));
  await writeFile(FILE, `${JSON.stringify(found, null, 2)}\n`);
  return Object.keys(found).filter((name) => !(name in recorded));
}

function editedMigrations(recorded: Checksums, found: Checksums): string[] {
  return Object.entries(recorded).flatMap(([name, checksum]) => {
    const now = found[name];
    if (now === checksum) return [];
    const change = now === undefined ? 'removed' : 'edited';
    return [
      `${name} was ${change} after it had landed. Databases that have applied it do not apply it again: ` +
        'restore it and add a new migration.',
    ];
  });
}

function unrecordedMigrations(recorded: Checksums, found: Checksums): string[] {
  return Object.keys(found)
    .filter((name) => !(name in recorded))
    .map((name) => `${name} has no checksum in migrations/checksums.json: run "npm run migration:record".`);
}

function sharedTimestamps(found: Checksums): string[] {
  const names = Object.keys(found).sort();
  return names.flatMap((name, index) => {
    const previous = names[index - 1];
    if (previous?.slice(0, 14) !== name.slice(0, 14)) return [];
    return [`${previous} and ${name} share a timestamp: give the newer one a later timestamp.`];
  });
}

function sha256(content: Buffer): string {
  return createHash('sha256').update(content).digest('hex');
}
