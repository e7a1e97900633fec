import { mkdir, open, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { LineSplitter } from '../../sandbox/lines.js';
import { exitDetail } from '../exit-detail.js';

const LAST_BYTES = 4096;
const LAST_LINES = 8;

/** Where a replica lives on disk: `<dataDir>/replicas/<id>/` with its changes over the image, its output, its end. */
export class ReplicaFiles {
  readonly folder: string;

  constructor(dataDir: string, id: string) {
    this.folder = join(dataDir, 'replicas', id);
  }

  /** The folder the command works in. */
  get work(): string {
    return join(this.folder, 'files');
  }

  get output(): string {
    return join(this.folder, 'app.log');
  }

  get exit(): string {
    return join(this.folder, 'exit');
  }

  /** A clean working folder for a new attempt; earlier output stays. */
  async prepare(): Promise<void> {
    await mkdir(this.folder, { recursive: true, mode: 0o700 });
    await rm(this.work, { recursive: true, force: true });
    await rm(this.exit, { force: true });
    await mkdir(this.work);
  }

  async remove(): Promise<void> {
    await rm(this.folder, { recursive: true, force: true });
  }

  /** How the command ended, in words that follow "replica 1". */
  async exitDetail(memoryMb: number): Promise<string> {
    const text = await readFile(this.exit, 'utf8').catch(() => '');
    return exitDetail(text.trim(), memoryMb);
  }

  /** The last lines of output, as they are in the file. */
  async lastOutput(): Promise<string[]> {
    const file = await open(this.output, 'r').catch(() => null);
    if (file === null) return [];
    try {
      const { size } = await file.stat();
      const start = Math.max(0, size - LAST_BYTES);
      const { buffer, bytesRead } = await file.read(Buffer.alloc(LAST_BYTES), 0, LAST_BYTES, start);
      const splitter = new LineSplitter();
      const lines = [...splitter.push(buffer.subarray(0, bytesRead)), ...splitter.end()];
      // The first of them may have begun before what was read.
      return lines
        .slice(start > 0 ? 1 : 0)
        .filter((line) => line.trim() !== '')
        .slice(-LAST_LINES);
    } finally {
      await file.close();
    }
  }
}
