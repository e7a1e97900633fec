import { writeSync } from 'node:fs';
import { Socket } from 'node:net';
import { createInterface } from 'node:readline';
import { pipeline } from 'node:stream/promises';
import { errorMessage } from '../../../shared/core/error-registry.js';
import { BuildError } from '../../failures/explained-errors.js';
import { OPERATIONS, STREAMS } from './reader-operations.js';

/**
 * Each line of file descriptor 4 is a request, and each line of descriptor 3 its response, both in JSON. A stream is
 * written to standard output, and the process exits after it.
 */
const CHANNEL = 3;
const REQUESTS = 4;
/** A process that uses more memory exits after its response. */
const MAX_REUSED_BYTES = 256 * 1024 ** 2;

type Operation = (input: unknown) => unknown;
interface Request {
  name: string;
  input: unknown;
}

if (process.argv.includes('detection')) import('../detection/detect-project.js').catch(() => undefined);
// Unlike a pending read of a file, a socket can be destroyed at the end, so that the process can exit.
const requests = new Socket({ fd: REQUESTS, readable: true, writable: false });
for await (const line of createInterface({ input: requests })) {
  const request = JSON.parse(line) as Request;
  const streams = !Object.hasOwn(OPERATIONS, request.name);
  const answer = await run(request).then(
    (output) => ({ output }),
    (error: unknown) => ({ error: errorMessage(error), explained: error instanceof BuildError }),
  );
  const last = streams || process.memoryUsage.rss() > MAX_REUSED_BYTES;
  writeWhole(Buffer.from(`${JSON.stringify({ ...answer, last })}\n`));
  if (last) break;
}
requests.destroy();

async function run({ name, input }: Request): Promise<unknown> {
  if (Object.hasOwn(OPERATIONS, name)) return (OPERATIONS as Record<string, Operation>)[name]?.(input);
  const stream = (await (STREAMS as Record<string, Operation>)[name]?.(input)) as NodeJS.ReadableStream;
  await pipeline(stream, process.stdout);
  return null;
}

function writeWhole(bytes: Buffer): void {
  for (let at = 0; at < bytes.length; ) at += writeSync(CHANNEL, bytes, at);
}
