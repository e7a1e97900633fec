import type { Engine } from '../../docker/docker-engine.js';

/** The types of dockerode lack this method. */
declare module 'dockerode' {
  interface Task {
    logs(options: { follow: true; abortSignal: AbortSignal }): Promise<NodeJS.ReadableStream>;
    logs(options: object): Promise<Buffer | string>;
  }
}

/** One write of a container: usually a line, or a part of a very long line. */
export interface Output {
  stream: 'stdout' | 'stderr';
  /** RFC 3339 in UTC with nanoseconds, which sorts chronologically as text. */
  timestamp: string;
  bytes: Buffer;
}

const READ_MS = 10_000;
const HEADER_BYTES = 8;
const STDERR = 2;
const SPACE = 0x20;
/** Where the seconds and nanoseconds end in 2026-11-21T13:28:02.682243560Z. */
const SECONDS_END = 19;
const NANOSECONDS_END = 29;

/** Parses the engine's frames. Each consists of a header of eight bytes, the timestamp, a space and the output. */
export class OutputParser {
  #rest: Buffer = Buffer.alloc(0);

  push(chunk: Buffer): Output[] {
    this.#rest = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk]);
    const found: Output[] = [];
    while (this.#rest.length >= HEADER_BYTES) {
      const end = HEADER_BYTES + this.#rest.readUInt32BE(4);
      if (this.#rest.length < end) break;
      const frame = this.#rest.subarray(HEADER_BYTES, end);
      const space = frame.indexOf(SPACE);
      found.push({
        stream: this.#rest[0] === STDERR ? 'stderr' : 'stdout',
        timestamp: frame.subarray(0, space).toString('latin1'),
        bytes: frame.subarray(space + 1),
      });
      this.#rest = this.#rest.subarray(end);
    }
    return found;
  }
}

/** Yields what a task writes after `since`, until the signal aborts. */
export async function* followOutput(
  { streams }: Engine,
  taskId: string,
  since: string | null,
  signal: AbortSignal,
): AsyncGenerator<Output[]> {
  const task = streams.getTask(taskId);
  const stream = await task.logs({ ...options(since), follow: true, abortSignal: signal });
  const parser = new OutputParser();
  for await (const chunk of stream) {
    const output = after(parser.push(chunk as Buffer), since);
    if (output.length > 0) yield output;
  }
}

/** Returns what a task has written after `since`. If `tail` is given, returns only the last lines. */
export async function readOutput(
  { calls }: Engine,
  taskId: string,
  { since = null, tail }: { since?: string | null; tail?: number },
): Promise<Output[]> {
  const task = calls.getTask(taskId);
  const abortSignal = AbortSignal.timeout(READ_MS);
  const read = await task.logs({ ...options(since), ...(tail === undefined ? {} : { tail }), abortSignal });
  return after(new OutputParser().push(Buffer.from(read)), since);
}

function options(since: string | null): object {
  return { stdout: true, stderr: true, timestamps: true, since: since === null ? '0' : unixTime(since) };
}

/** The engine expects the seconds since the epoch, a dot and the nanoseconds. */
function unixTime(timestamp: string): string {
  const seconds = Date.parse(`${timestamp.slice(0, SECONDS_END)}Z`) / 1000;
  return `${seconds}.${timestamp.slice(SECONDS_END + 1, NANOSECONDS_END)}`;
}

/** The engine also returns output with exactly the timestamp `since`. */
function after(output: Output[], since: string | null): Output[] {
  return since === null ? output : output.filter(({ timestamp }) => timestamp > since);
}
