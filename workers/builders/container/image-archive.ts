import { constants } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { posix } from 'node:path';
import { pipeline as connect, type Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';
import { extract, type Header, type Pack, pack } from 'tar-stream';
import { errorMessage } from '../../../shared/errors.js';
import { type Engine, engineMessage, engineStatus } from '../../docker/engine.js';
import { readEvents } from '../../docker/events.js';
import { BuildError } from '../builder.js';

const MANIFEST = '/manifest.json';
/** Other places for names. Without them an engine of any kind goes by the manifest. */
const LEFT_OUT = ['/repositories', '/index.json', '/oci-layout'];
/** It is not there, or a link, or a socket. */
const NO_FILE = ['ENOENT', 'ELOOP', 'ENXIO'];
const LARGEST_MANIFEST = 1024 * 1024;

/**
 * Loads the image of an archive in the format of `docker save` under this name. Whoever made it is not trusted: names that
 * it brings along, which could be those of others' images, mean nothing. Throws `BuildError`.
 */
export async function loadImage({ streams }: Engine, path: string, name: string, abortSignal: AbortSignal) {
  const file = await openArchive(path);
  try {
    const answer = await streams.loadImage(renamed(file.createReadStream({ autoClose: false }), name), { abortSignal });
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
  throw new BuildError('the build ended without an image');
}

/** The same archive with one image of that name, and of its entries the files alone: no link leads anywhere. */
function renamed(archive: Readable, name: string): Readable {
  const output = pack();
  const entries = extract();
  entries.on('entry', (header, body, next) => {
    passOn(header, body, output, name).then(() => next(), next);
  });
  connect(archive, entries, (error) => (error ? output.destroy(unusable(errorMessage(error))) : output.finalize()));
  return output;
}

function unusable(reason: string): BuildError {
  return new BuildError(`the image that was built cannot be loaded: ${reason}`);
}

async function passOn(header: Header, body: Readable, output: Pack, name: string): Promise<void> {
  const path = posix.join('/', header.name);
  const { size = 0 } = header;
  if (header.type !== 'file' || LEFT_OUT.includes(path)) {
    body.resume();
  } else if (path !== MANIFEST) {
    await pipeline(body, output.entry({ name: path.slice(1), size }));
  } else if (size > LARGEST_MANIFEST) {
    throw new Error('its manifest is too large');
  } else {
    const [image] = JSON.parse(await text(body)) as { Config: unknown; Layers: unknown }[];
    const manifest = JSON.stringify([{ Config: image?.Config, Layers: image?.Layers, RepoTags: [name] }]);
    output.entry({ name: path.slice(1) }, manifest, () => {});
  }
}
