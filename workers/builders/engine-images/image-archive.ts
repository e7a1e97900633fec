import { constants } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import type { Readable } from 'node:stream';
import { type Engine, engineMessage, engineStatus } from '../../docker/docker-engine.js';
import { readEvents } from '../../docker/engine-events.js';
import { BuildError } from '../../failures/explained-errors.js';
import { streamFiles } from '../reader/read-files.js';
import { unusable } from './rename-archive.js';

/** Error codes of opening a missing file, a symbolic link or a socket. */
const NO_FILE = ['ENOENT', 'ELOOP', 'ENXIO'];

/** Loads an image with `name` as its only name: the archive may name other services' images. Throws `BuildError`. */
export async function loadImage({ streams }: Engine, path: string, name: string, abortSignal: AbortSignal) {
  const file = await openArchive(path);
  try {
    const source = file.createReadStream({ autoClose: false });
    const archive = streamFiles('renameArchive', { name }, { signal: abortSignal, source });
    let broken: unknown;
    archive.once('error', (error) => {
      broken = error;
    });
    const answer = await streams.loadImage(archive, { abortSignal }).catch((error: unknown) => {
      throw broken instanceof BuildError ? broken : error;
    });
    for await (const { error } of readEvents(answer as Readable)) if (error !== undefined) throw unusable(error);
  } catch (error) {
    abortSignal.throwIfAborted();
    throw engineStatus(error) === undefined ? error : unusable(engineMessage(error));
  } finally {
    await file.close();
  }
}

async function openArchive(path: string): Promise<FileHandle> {
  const flags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
  const file = await open(path, flags).catch((error: NodeJS.ErrnoException) => {
    if (NO_FILE.includes(error.code ?? '')) return null;
    throw error;
  });
  if (file !== null && (await file.stat()).isFile()) return file;
  await file?.close();
  throw new BuildError('the build ended without an image; the end of its output may say why');
}
