import { type FileHandle, open } from 'node:fs/promises';
import type { Transaction } from '../../../shared/core/database/database-client.js';
import { unlessAbsent } from '../../../shared/core/exists.js';
import { resultOf } from '../../../shared/core/run-limited.js';
import { BATCH_LINES } from '../../logs/batch-store.js';
import type { Masker } from '../../masking/masker.js';
import type { ReplicaRow } from '../../replicas/rows.js';
import { advanceLog } from '../../replicas/store.js';
import { cutAt, type LineCutter, LineSplitter, MAX_LINE_LENGTH } from '../../sandbox/line-splitter.js';
import { type HostAllowance, LogAllowance } from '../log-allowance.js';
import { OutputStore } from '../output-store.js';
import type { ReplicaRuntimeDeps } from '../replica-runtime-deps.js';
import { LAST_BYTES } from './replica-files.js';

const CHUNK_BYTES = 64 * 1024;
/** One call of `follow` reads at most this many chunks, so that other replicas get their turn. */
const CHUNKS_AT_ONCE = 32;
/** Maximum number of bytes of one UTF-16 code unit in UTF-8. */
const MAX_CHARACTER_BYTES = 3;
/** If more output is unread, only its last part is kept, and a line in the log says so. */
const MAX_BACKLOG = { bytes: 64 * 1024 * 1024, lines: 100_000 };
const KEPT_OF_BACKLOG = { bytes: 1024 * 1024, lines: 2000 };
/** The disk space of copied output is freed in portions of this size. */
const RECLAIM_BYTES = 8 * 1024 * 1024;
const BLOCK = 4096;
const NEWLINE = 0x0a;

/** Copies one replica's output file to the log. */
export class LogTail {
  readonly #file: string;
  readonly #masker: Masker;
  readonly #allowance: LogAllowance;
  readonly #store: OutputStore<number>;
  #reclaimed = 0;

  constructor(
    deps: Pick<ReplicaRuntimeDeps, 'db' | 'logs'>,
    row: ReplicaRow,
    { file, masker, share }: { file: string; masker: Masker; share?: HostAllowance },
  ) {
    this.#file = file;
    this.#masker = masker;
    this.#allowance = new LogAllowance(share);
    const move = (trx: Transaction, from: number, to: number) => advanceLog(trx, row.id, from, to);
    this.#store = new OutputStore(deps, row, { masker, mark: row.log_offset, move });
  }

  /**
   * Copies unread output to the log. If the process has exited (`final`), copies everything, even an incomplete last
   * line. Returns false if another process has moved the stored offset; this object must then not be used any more.
   */
  async follow(final: boolean): Promise<boolean> {
    const file = await unlessAbsent(open(this.#file, 'r'));
    if (file === null) return true;
    try {
      for (let chunks = 0; final || (chunks < CHUNKS_AT_ONCE && this.#allowance.open); chunks++) {
        const { size } = await file.stat();
        if (size < this.#offset && !(await this.#startOver())) return false;
        if (size <= this.#offset) break;
        const chunk = await read(file, this.#offset, CHUNK_BYTES + MAX_CHARACTER_BYTES * this.#masker.lookahead);
        if (isTooFarAhead(chunk, size - this.#offset)) {
          if (!(await this.#skip(await keptFrom(file, this.#offset, size)))) return false;
          continue;
        }
        const atEnd = this.#offset + chunk.length >= size;
        const whole = final && atEnd ? chunk.length : completeBytes(chunk, this.#masker);
        const lines = final ? BATCH_LINES : Math.min(BATCH_LINES, this.#allowance.lines());
        const taken = endOfLines(chunk.subarray(0, whole), lines);
        if (taken === 0) break;
        const texts = linesOf(chunk.subarray(0, taken), this.#masker);
        if (!(await this.#store.append(texts, this.#offset + taken))) return false;
        this.#allowance.take(taken, texts.length);
      }
    } finally {
      await file.close();
    }
    if (!final) await this.#reclaim();
    return true;
  }

  get #offset(): number {
    return this.#store.mark;
  }

  #skip(target: number): Promise<boolean> {
    const message = `${target - this.#offset} bytes of output are left out here: the application prints faster than the log can store`;
    return this.#store.append([message], target, 'warn');
  }

  /** The application truncated the file, or the platform did because of the file's size. */
  #startOver(): Promise<boolean> {
    this.#reclaimed = 0;
    return this.#store.append(['the output file was truncated: what was not read before is left out here'], 0, 'warn');
  }

  /**
   * Frees the disk space of copied output, except for the last, which errors quote. Truncating the file instead would
   * lose what the application writes at the same time.
   */
  async #reclaim(): Promise<void> {
    const copied = Math.max(0, this.#offset - LAST_BYTES);
    const end = copied - (copied % BLOCK);
    if (process.platform !== 'linux' || end - this.#reclaimed < RECLAIM_BYTES) return;
    const args = ['--punch-hole', '--offset', '0', '--length', String(end), this.#file];
    // If `fallocate` fails, the space is freed when the replica is stopped.
    await resultOf('fallocate', args);
    this.#reclaimed = end;
  }
}

async function read(file: FileHandle, offset: number, length: number): Promise<Buffer> {
  const { buffer, bytesRead } = await file.read(Buffer.alloc(length), 0, length, offset);
  return buffer.subarray(0, bytesRead);
}

/** The number of unread lines is estimated from the average line length of this chunk. */
function isTooFarAhead(chunk: Buffer, ahead: number): boolean {
  if (ahead > MAX_BACKLOG.bytes) return true;
  // Each line has at least one byte.
  if (ahead <= MAX_BACKLOG.lines) return false;
  let lines = 0;
  for (let at = chunk.indexOf(NEWLINE); at >= 0; at = chunk.indexOf(NEWLINE, at + 1)) lines += 1;
  return (lines / chunk.length) * ahead > MAX_BACKLOG.lines;
}

/** Returns the offset at which the kept part of a backlog begins. */
async function keptFrom(file: FileHandle, offset: number, size: number): Promise<number> {
  const start = Math.max(offset, size - KEPT_OF_BACKLOG.bytes);
  const rest = await read(file, start, size - start);
  // The first line is incomplete and could be half of a secret.
  const first = rest.indexOf(NEWLINE) + 1;
  let at = rest.length;
  for (let lines = 0; lines <= KEPT_OF_BACKLOG.lines && at > first; lines++) at = rest.lastIndexOf(NEWLINE, at - 1);
  return start + Math.max(first, at + 1);
}

/** Returns the length of the first `lines` lines of a chunk, in bytes. */
function endOfLines(chunk: Buffer, lines: number): number {
  let end = 0;
  for (let found = 0; found < lines; found++) {
    const at = chunk.indexOf(NEWLINE, end);
    if (at < 0) return chunk.length;
    end = at + 1;
  }
  return end;
}

/**
 * Returns the length of a chunk's complete lines, in bytes. If no line is complete, returns the length of the part that
 * can be split off an overlong line; 0 if the line is not overlong.
 */
function completeBytes(chunk: Buffer, cutter: LineCutter): number {
  const end = chunk.lastIndexOf(0x0a);
  if (end >= 0) return end + 1;
  const text = decode(chunk);
  const at = text.length - cutter.lookahead;
  return at <= MAX_LINE_LENGTH ? 0 : bytesOf(chunk, cutAt(text, at, cutter));
}

/** Returns how many bytes decode to this many characters. Invalid UTF-8 sequences vary in length. */
function bytesOf(chunk: Buffer, characters: number): number {
  let [low, high] = [0, chunk.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (decode(chunk.subarray(0, middle)).length < characters) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Decodes UTF-8, without an incomplete last character. */
function decode(bytes: Buffer): string {
  return new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes, { stream: true });
}

function linesOf(bytes: Buffer, cutter: LineCutter): string[] {
  const splitter = new LineSplitter(cutter);
  return [...splitter.push(bytes), ...splitter.end()];
}
