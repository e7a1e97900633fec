import { access } from 'node:fs/promises';
import { connect, createServer } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { HostNetwork } from './host-network.js';
import type { Attachment } from './network-model.js';
import { runTool } from './run-tool.js';

const TRIAL_MS = 5_000;
const TRIAL = { scope: 'trial', use: 'build', hostName: '' } as const;

/**
 * Makes two namespaces of one network, and connects from the host to one of them and from one to the other. A firewall of
 * the host may drop what it forwards, for instance that of Docker if it was started first.
 */
export async function tryOut(network: HostNetwork): Promise<void> {
  await access('/usr/bin/nsenter').catch(() => runTool('nsenter', ['--version']));
  const ids = trialIds();
  try {
    const [first, second] = await Promise.all(ids.map((id) => network.attach(id, TRIAL)));
    if (first === undefined || second === undefined) return;
    if (!(await answers(second.address))) throw new Error('the host cannot reach a namespace');
    const program = `
      const socket = require('node:net').connect({ host: '${first.address}', port: 9 });
      socket.setTimeout(${TRIAL_MS}, () => socket.destroy(new Error('no answer')));
      socket.on('error', ({ code }) => { process.exitCode = code === 'ECONNREFUSED' ? 0 : 1; });`;
    await runIn(second, program).catch(() => {
      throw new Error(
        'another firewall of this host drops what it forwards; with Docker run ' +
          `"iptables -I DOCKER-USER -i rv+ -j ACCEPT; iptables -I DOCKER-USER -o rv+ -j ACCEPT"`,
      );
    });
  } finally {
    for (const id of ids) await network.release(id).catch(() => undefined);
  }
}

/** True if a machine says that nothing listens on its port 9. */
function answers(host: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host, port: 9 });
    const end = (does: boolean) => {
      socket.destroy();
      resolve(does);
    };
    socket.setTimeout(TRIAL_MS, () => end(false));
    socket.once('connect', () => end(true));
    socket.once('error', (error: NodeJS.ErrnoException) => end(error.code === 'ECONNREFUSED'));
  });
}

const PORT = 9;

/**
 * Tries a network that is made without root. `gateway` leads to the host's loopback: nothing may be reached there.
 * Rejects with what does not work.
 */
export async function tryOutRootless(network: HostNetwork, gateway: string): Promise<void> {
  const ids = trialIds();
  const secret = createServer((socket) => socket.destroy());
  await new Promise<void>((resolve, reject) => secret.once('error', reject).listen(0, '127.0.0.1', resolve));
  try {
    const [first, second] = await Promise.all(ids.map((id, i) => network.attach(id, TRIAL, i === 0 ? PORT : null)));
    if (first?.port === undefined || second === undefined) throw new Error('no port leads to a namespace');
    const { port = 0 } = secret.address() as { port?: number };
    // It answers the host with what it finds: the state of the neighbour, and of the host's loopback.
    const program = `
      const { connect, createServer } = require('node:net');
      const look = (host, port) => new Promise((resolve) => {
        const socket = connect({ host, port });
        socket.setTimeout(1000, () => { socket.destroy(); resolve('timeout'); });
        socket.once('connect', () => { socket.destroy(); resolve('connected'); });
        socket.once('error', ({ code }) => resolve(code));
      });
      const found = Promise.all([look('${network.ownAddress(second.address)}', ${PORT}), look('${gateway}', ${port})]);
      const server = createServer((socket) => { server.close(); found.then((all) => socket.end(all.join())); });
      server.listen(${PORT}, '0.0.0.0');
      setTimeout(() => { process.exitCode = 1; server.close(); }, ${TRIAL_MS}).unref();`;
    const runs = runIn(first, program);
    runs.catch(() => undefined);
    const answer = await said(first.address, first.port, runs);
    const [neighbour, host] = answer.split(',');
    if (neighbour !== 'ECONNREFUSED') throw new Error(`a namespace does not reach its neighbour (${neighbour})`);
    if (host === 'connected') throw new Error("a namespace reaches the host's loopback");
    await runs;
  } finally {
    secret.close();
    for (const id of ids) await network.release(id).catch(() => undefined);
  }
}

/** What the first answer from this port says. It may take until the program runs. */
async function said(host: string, port: number, runs: Promise<string>): Promise<string> {
  let ended: Error | null = null;
  runs.catch((error: Error) => {
    ended = error;
  });
  for (;;) {
    const text = await new Promise<string>((resolve) => {
      let found = '';
      const socket = connect({ host, port }).setEncoding('utf8');
      socket.on('data', (chunk: string) => {
        found += chunk;
      });
      socket.on('error', () => undefined).once('close', () => resolve(found));
    });
    if (text !== '') return text;
    if (ended !== null) throw ended;
    await sleep(50);
  }
}

function trialIds(): string[] {
  return [1, 2].map((number) => `trial-${process.pid}-${Date.now()}-${number}`);
}

/** Runs a program of Node.js in the network of a sandbox. */
function runIn({ join }: Attachment, program: string): Promise<string> {
  const [file = '', ...args] = [...join, process.execPath, '-e', program];
  return runTool(file, args);
}
