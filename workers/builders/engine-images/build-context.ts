import type { Readable } from 'node:stream';
import { streamFiles } from '../reader/read-files.js';
import { type PackedContent, packFolders } from './pack-folders.js';

/** The content of a build context: folders of this host, and files made for the build. */
export interface ContextContent extends Omit<PackedContent, 'files'> {
  /** Paths in the context → contents. They replace files of the folders with the same path. */
  files: Readonly<Record<string, string | Buffer>>;
}

/**
 * The context as a tar stream, packed while it is read. A process of its own reads the folders. Links stay links and
 * are not followed; owners and times are left out. The folders must not change meanwhile. A file that cannot be packed
 * ends the stream with a `BuildError`.
 */
export function packContext({ folders, files }: ContextContent): Readable {
  const encoded = Object.entries(files).map(([name, data]) => [
    name,
    typeof data === 'string' ? data : { base64: data.toString('base64') },
  ]);
  const content: PackedContent = { folders, files: Object.fromEntries(encoded) };
  return folders.length === 0 ? packFolders(content) : streamFiles('packContext', content);
}
