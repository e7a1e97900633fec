import { access } from 'node:fs/promises';
import { connect, createServer } from 'node:net';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import type { HostNetwork } from './host-network.js';
import { runTool } from './run-tool.js';

const TRIAL_MS = 5_000;
const TRIAL = { scope: 'trial', use: 'build', hostName: '' } as const;
const PORT = 9;

/**
 * Tests two namespaces of one network. Rejects with the reason if the test fails. A firewall of the host may drop
 * forwarded packets. Docker's firewall does, for example, if Docker was started before the platform.
 */
export async function tryOut(network: HostNetwork, gateway: string): Promise<void> {
  await access('/usr/bin/nsenter').catch(() => runTool('nsenter', ['--version']));
  const ids = [1, 2].map((number) => `trial-${process.pid}-${Date.now()}-${number}`);
  const secret = createServer((socket) => socket.destroy());
  await new Promise<void>((resolve, reject) => secret.once('error', reject).listen(0, '127.0.0.1', resolve));
  try {
    const [first, second] = await Promise.all(ids.map((id, i) => network.attach(id, TRIAL, i === 0 ? PORT : null)));
    if (first === undefined || second === undefined) return;
    const { port } = secret.address() as { port: number };
    const [neighbour, host] = await lookFrom(first, [
      { host: network.ownAddress(second.address), port: PORT },
      { host: gateway, port },
    ]);
    if (neighbour !== 'ECONNREFUSED')
      throw new Error(`a namespace does not reach its neighbour (${neighbour})${remedyFor(network)}`);
    if (host === 'connected') throw new Error("a namespace reaches the host's loopback");
  } finally {
    secret.close();
    for (const id of ids) await network.release(id).catch(() => undefined);
  }
}

function remedyFor({ level }: HostNetwork): string {
  if (level === 'rootless') return '';
  const rules = '"iptables -I DOCKER-USER -i rv+ -j ACCEPT; iptables -I DOCKER-USER -o rv+ -j ACCEPT"';
  return `: another firewall of this host drops what it forwards; with Docker run ${rules}`;
}

interface Place {
  host: string;
  port: number;
}

/**
 * Tries to connect to `places` from a namespace. Each result is `connected`, `timeout` or an error code. A server in
 * the namespace sends the results to the host.
 */
async function lookFrom(
  { join, address, port = PORT }: { join: readonly string[]; address: string; port?: number },
  places: readonly Place[],
): Promise<string[]> {
  const program = `
    const { connect, createServer } = require('node:net');
    const look = ({ host, port }) => new Promise((resolve) => {
      const socket = connect({ host, port });
      socket.setTimeout(1000, () => { socket.destroy(); resolve('timeout'); });
      socket.once('connect', () => { socket.destroy(); resolve('connected'); });
      socket.once('error', ({ code }) => resolve(code));
    });
    const found = Promise.all(${JSON.stringify(places)}.map(look));
    const server = createServer((socket) => { server.close(); found.then((all) => socket.end(all.join())); });
    server.listen(${PORT}, '0.0.0.0');
    setTimeout(() => { process.exitCode = 1; server.close(); }, ${TRIAL_MS}).unref();`;
  const [file = '', ...args] = [...join, process.execPath, '-e', program];
  let ended: Error | null = null;
  const runs = runTool(file, args).catch((error: Error) => {
    ended = new Error(`the host cannot reach a namespace (${error.message})`);
  });
  for (;;) {
    const found = await textFrom(address, port);
    if (found !== '') {
      await runs;
      return found.split(',');
    }
    if (ended !== null) throw ended;
    await sleep(50);
  }
}

async function textFrom(host: string, port: number): Promise<string> {
  const socket = connect({ host, port });
  socket.setTimeout(TRIAL_MS, () => socket.destroy());
  return text(socket).catch(() => '');
}
