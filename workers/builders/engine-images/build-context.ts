import type { Readable } from 'node:stream';
import { streamFiles } from '../reader/read-files.js';
import { type PackedContent, packFolders } from './pack-folders.js';

/**
 * Packs a build context into a tar stream while the stream is read. The folders must not change until its end. If a
 * file cannot be packed, the stream fails with a `BuildError`.
 */
export function packContext(content: PackedContent): Readable {
  return content.folders.length === 0 ? packFolders(content) : streamFiles('packContext', content);
}
