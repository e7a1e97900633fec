import { randomInt } from 'node:crypto';
import { createServer } from 'node:net';
import { ReleaseError } from '../failures/explained-errors.js';

/** Returns a free port of the range that is not in `taken`. Throws `ReleaseError` if there is none. */
export async function freePort(range: { first: number; last: number }, taken: ReadonlySet<number>): Promise<number> {
  const size = range.last - range.first + 1;
  const start = randomInt(size);
  for (let i = 0; i < size; i++) {
    const port = range.first + ((start + i) % size);
    if (!taken.has(port) && (await canListen(port))) return port;
  }
  throw new ReleaseError(`no port from ${range.first} to ${range.last} is free (RUNTIME_PORTS)`);
}

function canListen(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen({ port, exclusive: true }, () => server.close(() => resolve(true)));
  });
}
