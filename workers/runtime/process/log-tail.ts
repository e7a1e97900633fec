import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { type FileHandle, open } from 'node:fs/promises';
import type { Db } from '../../../shared/db/client.js';
import { advanceLog } from '../../../shared/db/replicas.js';
import type { ReplicaRow } from '../../../shared/db/rows.js';
import type { LogLine } from '../../../shared/domain/log.js';
import type { Masker } from '../../../shared/secrets/mask.js';
import { cutAt, type LineCutter, LineSplitter, LONGEST_LINE } from '../../sandbox/lines.js';
import { LogAllowance } from '../allowance.js';
import type { RuntimeLogs } from '../deps.js';

const CHUNK_BYTES = 64 * 1024;
/** How much one look takes in at most: other replicas want to be looked at as well. */
const CHUNKS_A_LOOK = 32;
/** Bytes that one UTF-16 unit has at most in UTF-8. */
const LONGEST_CHARACTER = 3;
/** An application that is this far ahead of the log loses the middle of its output, and the log says so. */
const LARGEST_BACKLOG = 64 * 1024 * 1024;
const KEPT_OF_BACKLOG = 1024 * 1024;
/** Disk space of output that is in the log is given back in steps of this size. */
const RECLAIM_BYTES = 8 * 1024 * 1024;
const BLOCK = 4096;

/** Follows one replica's output file from the mark in the database. */
export class LogTail {
  readonly #db: Db;
  readonly #logs: RuntimeLogs;
  readonly #file: string;
  readonly #masker: Masker;
  #offset: number;
  #reclaimed = 0;
  readonly #allowance = new LogAllowance();

  constructor(db: Db, logs: RuntimeLogs, file: string, masker: Masker, offset: number) {
    this.#db = db;
    this.#logs = logs;
    this.#file = file;
    this.#masker = masker;
    this.#offset = offset;
  }

  /**
   * Brings new output into the log. `final`: the process has ended, so everything is taken, a last line without end too.
   * Returns false where somebody else has moved the mark: this process follows no more.
   */
  async follow(row: ReplicaRow, final: boolean): Promise<boolean> {
    const file = await open(this.#file, 'r').catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return null;
      throw error;
    });
    if (file === null) return true;
    try {
      for (let chunks = 0; final || (chunks < CHUNKS_A_LOOK && this.#allowance.left() > 0); chunks++) {
        const { size } = await file.stat();
        if (size <= this.#offset) break;
        if (size - this.#offset > LARGEST_BACKLOG) {
          // From the next line on: what is left of one that was cut could be half of a secret.
          const rest = await read(file, size - KEPT_OF_BACKLOG, KEPT_OF_BACKLOG);
          if (!(await this.#skip(row, size - KEPT_OF_BACKLOG + rest.indexOf(0x0a) + 1))) return false;
        }
        const chunk = await read(file, this.#offset, CHUNK_BYTES + LONGEST_CHARACTER * this.#masker.lookahead);
        const atEnd = this.#offset + chunk.length >= size;
        const taken = final && atEnd ? chunk.length : completeBytes(chunk, this.#masker);
        if (taken === 0) break;
        const lines = linesOf(chunk.subarray(0, taken), this.#masker);
        if (!(await this.#store(row, lines, this.#offset + taken))) return false;
        this.#allowance.take(taken);
      }
    } finally {
      await file.close();
    }
    if (!final) await this.#reclaim();
    return true;
  }

  async #skip(row: ReplicaRow, target: number): Promise<boolean> {
    const message = `${target - this.#offset} bytes of output are left out here: the application prints faster than the log can store`;
    return this.#store(row, [message], target, 'warn');
  }

  async #store(row: ReplicaRow, texts: string[], target: number, level: LogLine['level'] = 'info'): Promise<boolean> {
    const timestamp = new Date().toISOString();
    const lines = texts.map((text) => ({ level, message: this.#masker.mask(text), timestamp }));
    const stored = await this.#db.transaction(async (trx) => {
      if (!(await advanceLog(trx, row.id, this.#offset, target))) return false;
      const { service_id: serviceId, deployment_id: deploymentId } = row;
      if (lines.length > 0) await this.#logs.append({ serviceId, deploymentId, source: 'runtime', lines }, trx);
      return true;
    });
    if (stored) this.#offset = target;
    return stored;
  }

  /**
   * Gives the disk space of what was read back to the file system by a hole at the file's beginning. Truncating would lose
   * what the application writes in that moment; a hole moves nothing.
   */
  async #reclaim(): Promise<void> {
    const end = this.#offset - (this.#offset % BLOCK);
    if (process.platform !== 'linux' || end - this.#reclaimed < RECLAIM_BYTES) return;
    const args = ['--punch-hole', '--offset', '0', '--length', String(end), this.#file];
    const child = spawn('fallocate', args, { stdio: 'ignore' });
    // Where the tool or the file system cannot do it, the space is given back when the replica stops.
    await once(child, 'close').catch(() => undefined);
    this.#reclaimed = end;
  }
}

async function read(file: FileHandle, offset: number, length: number): Promise<Buffer> {
  const { buffer, bytesRead } = await file.read(Buffer.alloc(length), 0, length, offset);
  return buffer.subarray(0, bytesRead);
}

/** How many bytes of a chunk are whole lines; of a line longer than the longest, as much as can be taken without its rest. */
function completeBytes(chunk: Buffer, cutter: LineCutter): number {
  const end = chunk.lastIndexOf(0x0a);
  if (end >= 0) return end + 1;
  const text = decode(chunk);
  const at = text.length - cutter.lookahead;
  return at <= LONGEST_LINE ? 0 : bytesOf(chunk, cutAt(text, at, cutter));
}

/** How many bytes decode to so many characters; what is no UTF-8 has no fixed length, so it is searched for. */
function bytesOf(chunk: Buffer, characters: number): number {
  let [low, high] = [0, chunk.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (decode(chunk.subarray(0, middle)).length < characters) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Without a character whose end is missing. */
function decode(bytes: Buffer): string {
  return new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes, { stream: true });
}

function linesOf(bytes: Buffer, cutter: LineCutter): string[] {
  const splitter = new LineSplitter(cutter);
  return [...splitter.push(bytes), ...splitter.end()];
}
