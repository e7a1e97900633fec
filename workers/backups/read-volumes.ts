import type { Readable } from 'node:stream';
import { BackupError } from '../failures/explained-errors.js';
import type { TarReader } from '../volumes/volume-tar.js';
import type { Manifest } from './backup-archive.js';
import { type ReadOptions, readArchive } from './read-archive.js';
import { pieceOf, type VolumeFacts } from './volumes-source.js';

/** Writes the tar stream of each volume to the `TarReader` that `open` returns. Throws as `readArchive` does. */
export async function readVolumes(
  archive: Readable,
  options: Omit<ReadOptions, 'take'>,
  open: (volume: string) => Promise<TarReader>,
): Promise<Manifest> {
  const pieces = new Map<string, number>();
  let current: { volume: string; tar: TarReader } | null = null;
  try {
    const manifest = await readArchive(archive, {
      ...options,
      take: async (name, content) => {
        const { volume, number } = pieceOf(name);
        if (number !== (pieces.get(volume) ?? 0) + 1) throw new BackupError(`the archive holds ${name} out of order`);
        pieces.set(volume, number);
        if (current?.volume !== volume) {
          await current?.tar.end();
          current = null;
          current = { volume, tar: await open(volume) };
        }
        for await (const chunk of content) await current.tar.write(chunk);
      },
    });
    await (current as { tar: TarReader } | null)?.tar.end();
    const { volumes } = manifest.facts as VolumeFacts;
    for (const { name, pieces: expected } of volumes) {
      if (pieces.get(name) !== expected)
        throw new BackupError(`the archive is not whole: parts of ${name} are missing`);
    }
    return manifest;
  } finally {
    (current as { tar: TarReader } | null)?.tar.close();
  }
}
