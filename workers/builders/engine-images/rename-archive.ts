import { posix } from 'node:path';
import { pipeline as connect, Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';
import { type Entry, extract, type Pack, pack } from 'tar-stream';
import { errorMessage } from '../../../shared/core/error-registry.js';
import { BuildError } from '../../failures/explained-errors.js';

const MANIFEST = '/manifest.json';
/** Files besides the manifest that can name images. They are left out, so that every engine reads the manifest. */
const LEFT_OUT = ['/repositories', '/index.json', '/oci-layout'];
const MAX_MANIFEST_BYTES = 1024 * 1024;

/** Copies an image archive with `name` as its only image name. Leaves out links, which may lead out of the archive. */
export function renameArchive(archive: Readable, name: string): Readable {
  const output = pack();
  const entries = extract();
  const rename = async () => {
    for await (const entry of entries) await passOn(entry, output, name);
    output.finalize();
  };
  connect(archive, entries, () => {});
  rename().catch((error: unknown) => output.destroy(unusable(errorMessage(error))));
  return Readable.from(output, { objectMode: false });
}

export function unusable(reason: string): BuildError {
  return new BuildError(
    `the image that was built cannot be loaded: ${reason}; deploy again, and check the build's output`,
  );
}

async function passOn(entry: Entry, output: Pack, name: string): Promise<void> {
  const { header } = entry;
  const path = posix.join('/', header.name);
  const { size = 0 } = header;
  if (header.type !== 'file' || LEFT_OUT.includes(path)) {
    entry.resume();
  } else if (path !== MANIFEST) {
    await pipeline(entry, output.entry({ name: path.slice(1), size }));
  } else if (size > MAX_MANIFEST_BYTES) {
    throw new Error('its manifest is too large');
  } else {
    const [image] = JSON.parse(await text(entry)) as { Config: unknown; Layers: unknown }[];
    const manifest = JSON.stringify([{ Config: image?.Config, Layers: image?.Layers, RepoTags: [name] }]);
    output.entry({ name: path.slice(1) }, manifest);
  }
}
