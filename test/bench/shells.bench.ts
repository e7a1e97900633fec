import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { connect } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import { WebSocket } from 'ws';
import { FLOOD } from '../support/apps.js';
import { deploy, type Service } from '../support/deployments.js';
import { type EngineName, type Platform, startPlatform } from '../support/platform.js';
import { measure, median, print } from './measure.js';
import { record } from './table.js';

const SHELLS = 20;
const ROUNDS = 5;
/** How long a connection is measured, and how long it runs before that. */
const TIMED_MS = 2_000;
const WARM_MS = 500;

/** Measures the first byte of a shell, and the rate of a tunnel against a direct connection to the same replica. */
export async function benchShells(engine: EngineName): Promise<void> {
  const platform = await startPlatform({ engine });
  try {
    const { service } = await platform.serviceOf('flood', FLOOD);
    await deploy(platform.client, service.id);
    await benchFirstByte(platform, service);
    await benchTunnel(platform, service);
  } finally {
    await platform.stop();
  }
}

async function benchFirstByte({ client }: Platform, { id }: Service): Promise<void> {
  const first = async (body: object) => {
    const { shell } = await client.expect<{ shell: { address: string } }>('POST', `/services/${id}/shells`, body);
    const socket = new WebSocket(shell.address);
    await once(socket, 'message');
    return socket;
  };
  const times = async (body: object) => {
    const found: number[] = [];
    for (let count = 0; count <= SHELLS; count++) {
      let socket: WebSocket | undefined;
      const time = await measure(async () => {
        socket = await first(body);
      });
      if (count > 0) found.push(time);
      socket?.terminate();
      await delay(100);
    }
    return median(found);
  };
  const terminal = await times({ columns: 80, rows: 24 });
  const piped = await times({ command: ['echo', 'x'] });
  const bare: number[] = [];
  for (let count = 0; count < SHELLS; count++) bare.push(await measure(() => promisify(execFile)('echo', ['x'])));
  print(
    `  POST → first byte of a shell: terminal ${terminal.toFixed(0)} ms, pipes ${piped.toFixed(0)} ms; ` +
      `a process of this host ${median(bare).toFixed(0)} ms`,
  );
  record('shell', terminal, `${median(bare).toFixed(0)} ms`);
}

async function benchTunnel({ client, database }: Platform, { id }: Service): Promise<void> {
  const replica = await database.db('replicas').where({ service_id: id, state: 'ready' }).first('address', 'port');
  const { tunnel } = await client.expect<{ tunnel: { address: string } }>('POST', `/services/${id}/tunnels`, {});
  const direct = async () => {
    const socket = connect({ host: replica.address, port: replica.port });
    let bytes = 0;
    socket.on('data', (chunk) => {
      bytes += chunk.length;
    });
    socket.write('flood');
    return rate(
      () => bytes,
      () => socket.destroy(),
    );
  };
  const tunnelled = async () => {
    const socket = new WebSocket(tunnel.address, { perMessageDeflate: false });
    let bytes = 0;
    socket.on('message', (data: Buffer) => {
      bytes += data.length;
    });
    await once(socket, 'open');
    socket.send(Buffer.from('flood'));
    return rate(
      () => bytes,
      () => socket.terminate(),
    );
  };
  const ratios: number[] = [];
  const [own, other]: [number[], number[]] = [[], []];
  for (let round = 0; round < ROUNDS; round++) {
    const [through, past] = [await tunnelled(), await direct()];
    own.push(through);
    other.push(past);
    ratios.push(through / past);
  }
  const reference = `${median(own).toFixed(0)} of ${median(other).toFixed(0)} MB/s`;
  print(`  a tunnel: ${reference}, ratio ${median(ratios).toFixed(2)}`);
  record('tunnel', median(ratios), reference);
}

async function rate(received: () => number, close: () => void): Promise<number> {
  await delay(WARM_MS);
  const [before, begun] = [received(), performance.now()];
  await delay(TIMED_MS);
  const bytes = received() - before;
  const ms = performance.now() - begun;
  close();
  return bytes / 1e6 / (ms / 1000);
}
