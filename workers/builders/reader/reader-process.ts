import { closeSync, readFileSync, writeSync } from 'node:fs';
import { pipeline } from 'node:stream/promises';
import { errorMessage } from '../../../shared/core/errors.js';
import { BuildError } from '../builder.js';
import { OPERATIONS, STREAMS } from './reader-operations.js';

/**
 * The process that reads what a tenant has written. It reads one request from descriptor 4 and writes the answer to
 * descriptor 3, both as JSON. A stream goes to the standard output.
 */
const CHANNEL = 3;
const REQUEST = 4;

type Operation = (input: unknown) => unknown;

const { name, input } = JSON.parse(readFileSync(REQUEST, 'utf8')) as { name: string; input: unknown };
const answer = await run().then(
  (output) => ({ output }),
  (error: unknown) => ({ error: errorMessage(error), explained: error instanceof BuildError }),
);
writeWhole(Buffer.from(JSON.stringify(answer)));
closeSync(CHANNEL);

async function run(): Promise<unknown> {
  if (Object.hasOwn(OPERATIONS, name)) return (OPERATIONS as unknown as Record<string, Operation>)[name]?.(input);
  const stream = (STREAMS as unknown as Record<string, Operation>)[name]?.(input) as NodeJS.ReadableStream;
  await pipeline(stream, process.stdout);
  return null;
}

function writeWhole(bytes: Buffer): void {
  for (let at = 0; at < bytes.length; ) at += writeSync(CHANNEL, bytes, at);
}
