import { mkdir, open, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { type DiscardDeps, discardTree } from '../../core/remove-folders.js';
import { type LineCutter, LineSplitter } from '../../sandbox/line-splitter.js';
import { exitDetail, SEARCHED_LINES } from '../failure-text.js';

/** The output of which errors quote the last lines. */
export const LAST_BYTES = 16 * 1024;

/** Manages a replica's folder: its changes to the image, its output, and how its process ended. */
export class ReplicaFiles {
  readonly folder: string;
  readonly #deps: DiscardDeps;

  constructor(deps: DiscardDeps, id: string) {
    this.#deps = deps;
    this.folder = join(deps.dataDir, 'replicas', id);
  }

  get work(): string {
    return join(this.folder, 'files');
  }

  get output(): string {
    return join(this.folder, 'app.log');
  }

  get exit(): string {
    return join(this.folder, 'exit');
  }

  /** Creates an empty working folder. Keeps the output of the replica's previous starts. */
  async prepare(): Promise<void> {
    await mkdir(this.folder, { recursive: true, mode: 0o700 });
    await discardTree(this.#deps, this.work);
    await rm(this.exit, { force: true });
    await mkdir(this.work);
  }

  async remove(): Promise<void> {
    await discardTree(this.#deps, this.folder);
  }

  /** The exit code is null if the command was killed or its end was not observed. */
  async howItEnded(memoryMb: number): Promise<{ detail: string; exitCode: number | null }> {
    const text = (await readFile(this.exit, 'utf8').catch(() => '')).trim();
    return { detail: exitDetail(text, memoryMb), exitCode: /^\d+$/.test(text) ? Number(text) : null };
  }

  /** Returns the last lines of output, unmasked. */
  async lastOutput(cutter: LineCutter): Promise<string[]> {
    const file = await open(this.output, 'r').catch(() => null);
    if (file === null) return [];
    try {
      const { size } = await file.stat();
      const start = Math.max(0, size - LAST_BYTES);
      const { buffer, bytesRead } = await file.read(Buffer.alloc(LAST_BYTES), 0, LAST_BYTES, start);
      const splitter = new LineSplitter(cutter);
      const lines = [...splitter.push(buffer.subarray(0, bytesRead)), ...splitter.end()];
      // The first line may be incomplete.
      return lines
        .slice(start > 0 ? 1 : 0)
        .filter((line) => line.trim() !== '')
        .slice(-SEARCHED_LINES);
    } finally {
      await file.close();
    }
  }
}
