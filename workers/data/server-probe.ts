import { connect } from 'node:net';
import type { DataKind } from '../../shared/services/model.js';

const ANSWER_MS = 5_000;
const MAX_ANSWER_LENGTH = 4096;
const PROTOCOL_3 = 196_608;

/** The result of a probe. `silent` is true if no response arrived in time, which means that the server hangs. */
export type ProbeAnswer = { healthy: true } | { healthy: false; silent: boolean; answer: string };

function unhealthy(answer: string, silent = false): ProbeAnswer {
  return { healthy: false, silent, answer };
}

/** Asks a server, without a password, whether it accepts connections. Never rejects. */
export function askServer(kind: DataKind, { address, port }: { address: string; port: number }): Promise<ProbeAnswer> {
  return new Promise((resolve) => {
    const socket = connect({ host: address, port });
    let received = Buffer.alloc(0);
    const end = (answer: ProbeAnswer) => {
      clearTimeout(timer);
      socket.destroy();
      resolve(answer);
    };
    const timer = setTimeout(() => end(unhealthy(`no answer within ${ANSWER_MS / 1000} s`, true)), ANSWER_MS);
    socket.once('connect', () => socket.write(kind === 'postgres' ? startupMessage() : 'PING\r\n'));
    socket.on('data', (chunk: Buffer) => {
      received = Buffer.concat([received, chunk]).subarray(0, MAX_ANSWER_LENGTH);
      const answer = kind === 'postgres' ? readPostgres(received) : readRedis(received);
      if (answer !== null) end(answer);
    });
    socket.once('error', (error: NodeJS.ErrnoException) => {
      end(unhealthy(error.code === 'ECONNREFUSED' ? 'connection refused' : error.message));
    });
    socket.once('close', () => end(unhealthy('the connection was closed without an answer')));
  });
}

function startupMessage(): Buffer {
  const parameters = Buffer.from('user\0ranvier_probe\0database\0postgres\0\0');
  const head = Buffer.alloc(8);
  head.writeInt32BE(head.length + parameters.length, 0);
  head.writeInt32BE(PROTOCOL_3, 4);
  return Buffer.concat([head, parameters]);
}

const TOO_MANY_CONNECTIONS = '53300';

/** Parses PostgreSQL's first message; null if it is incomplete. */
export function readPostgres(received: Buffer): ProbeAnswer | null {
  if (received.length === 0) return null;
  const type = String.fromCharCode(received[0] ?? 0);
  if (type === 'R') return { healthy: true };
  if (type !== 'E') return unhealthy('it does not speak the protocol of PostgreSQL');
  if (received.length < 5 || received.length < received.readInt32BE(1) + 1) {
    return received.length >= MAX_ANSWER_LENGTH ? unhealthy('its error is too long') : null;
  }
  const fields = received.subarray(5).toString('utf8').split('\0');
  const field = (name: string) => fields.find((text) => text.startsWith(name))?.slice(1) ?? '';
  if (field('C') === TOO_MANY_CONNECTIONS) return { healthy: true };
  return unhealthy(field('M') || 'it refuses connections');
}

/** Parses the first line from redis; null if it is incomplete. */
export function readRedis(received: Buffer): ProbeAnswer | null {
  const end = received.indexOf('\r\n');
  if (end < 0) return received.length >= MAX_ANSWER_LENGTH ? unhealthy('its answer is too long') : null;
  const line = received.subarray(0, end).toString('utf8');
  if (line.startsWith('-LOADING') || line.startsWith('-MASTERDOWN')) return unhealthy(line.slice(1));
  if (line.startsWith('+') || line.startsWith('-NOAUTH') || line.startsWith('-ERR max')) return { healthy: true };
  return unhealthy(line.slice(0, 200));
}
