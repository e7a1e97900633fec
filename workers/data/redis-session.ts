import { loadRedisClient, type Redis } from '../../shared/core/redis-client.js';

const CONNECT_MS = 10_000;
const ANSWER_MS = 60_000;
/** Maximum number of bytes to receive on a connection. A program that pretends to be redis may send data endlessly. */
const MAX_RECEIVED_BYTES = 256 * 1024 * 1024;

/** Creates a client whose commands reject on errors and which never reconnects. */
export function openRedis(address: object): Redis {
  const { Redis } = loadRedisClient();
  const client = new Redis({
    ...address,
    lazyConnect: true,
    connectTimeout: CONNECT_MS,
    commandTimeout: ANSWER_MS,
    retryStrategy: () => null,
    maxRetriesPerRequest: 0,
  });
  client.on('error', () => undefined);
  client.on('connect', () => {
    let received = 0;
    client.stream.on('data', (chunk: Buffer) => {
      received += chunk.length;
      if (received > MAX_RECEIVED_BYTES) client.disconnect();
    });
  });
  return client;
}

export function infoOf(answer: string): Record<string, string> {
  const pairs = answer.split(/\r?\n/).flatMap((line) => {
    const colon = line.indexOf(':');
    return line.startsWith('#') || colon < 0 ? [] : [[line.slice(0, colon), line.slice(colon + 1)]];
  });
  return Object.fromEntries(pairs);
}

/** Returns the number of keys in all databases from the reply to INFO keyspace. */
export function keysOf(answer: string): number {
  return Object.values(infoOf(answer)).reduce((sum, text) => sum + Number(/keys=(\d+)/.exec(text)?.[1] ?? 0), 0);
}
