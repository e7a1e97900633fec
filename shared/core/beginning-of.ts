import { open } from 'node:fs/promises';

const CHUNK_BYTES = 16 * 1024;

/** Returns the first bytes of a file as text. A process can make some of its files in /proc endless. */
export async function beginningOf(path: string, maxBytes: number, encoding: BufferEncoding = 'utf8'): Promise<string> {
  const file = await open(path, 'r');
  try {
    const chunks: Buffer[] = [];
    for (let size = 0; size < maxBytes; ) {
      const { bytesRead, buffer } = await file.read(
        Buffer.alloc(CHUNK_BYTES),
        0,
        Math.min(CHUNK_BYTES, maxBytes - size),
      );
      if (bytesRead === 0) break;
      chunks.push(buffer.subarray(0, bytesRead));
      size += bytesRead;
    }
    return Buffer.concat(chunks).toString(encoding);
  } finally {
    await file.close();
  }
}
