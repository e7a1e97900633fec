import { readFile } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { WebSocket } from 'ws';
import { FLOOD } from '../support/apps.js';
import type { Service } from '../support/deployments.js';
import type { Platform } from '../support/platform.js';
import { openShell, type TestShell } from '../support/shells.js';
import { type CaseContext, type HostileCase, hostileCase, NOT_LIVE } from './hostile-case.js';

const RUN_MS = 8_000;
const POLL_MS = 250;
const CONNECTIONS = 50;
/** Maximum growth of the API and the workers. One process buffers 16 MiB for all of its connections. */
const MAX_GROWTH_MIB = 400;

/** Builds a case beside a hosted application. `attack` returns how it reached its aim; '' if it did not. */
function beside(
  about: { name: string; rule: number; short?: boolean },
  attack: (service: Service, context: CaseContext) => Promise<string>,
): HostileCase {
  const run = async (context: CaseContext) => {
    let fault = NOT_LIVE;
    await context.tenants[0].host(FLOOD, {}, context.signal, async (service) => {
      fault = await attack(service, context);
    });
    return fault;
  };
  return hostileCase({ ...about, run, check: (fault) => fault });
}

async function growthOf({ processes }: Platform, before: number): Promise<string> {
  let most = before;
  for (const end = Date.now() + RUN_MS; Date.now() < end; await delay(POLL_MS)) {
    most = Math.max(most, await memoryOf({ processes }));
  }
  return most - before <= MAX_GROWTH_MIB ? '' : `API and workers grew by ${Math.round(most - before)} MiB`;
}

/** Returns the resident memory of the API and the workers, in MiB. */
export async function memoryOf({ processes }: Pick<Platform, 'processes'>): Promise<number> {
  const serving = processes.filter(({ name, ended }) => name !== 'edge' && !ended);
  const sizes = serving.map(async ({ child: { pid } }) => {
    const status = await readFile(`/proc/${pid}/status`, 'latin1').catch(() => '');
    return Number(/^VmRSS:\s+(\d+)/m.exec(status)?.[1] ?? 0) / 1024;
  });
  return (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0);
}

function openAll({ client }: CaseContext['tenants'][0], { id }: Service, command: string): Promise<TestShell[]> {
  return Promise.all(Array.from({ length: 5 }, () => openShell(client, id, { command, columns: 80, rows: 24 })));
}

export const REMOTE: readonly HostileCase[] = [
  beside({ name: 'shells: print as fast as they can', rule: 3 }, async (service, context) => {
    const before = await memoryOf(context.platform);
    const shells = await openAll(context.tenants[0], service, 'yes "$(head -c 4000 /dev/zero | tr "\\\\0" x)"');
    // The client reads the output and keeps nothing.
    for (const { socket } of shells) socket.removeAllListeners('message').on('message', () => undefined);
    const fault = await growthOf(context.platform, before);
    for (const { socket } of shells) socket.terminate();
    return fault;
  }),
  beside({ name: 'shells and tunnels: never read', rule: 3, short: true }, async (service, context) => {
    const [tenant] = context.tenants;
    const before = await memoryOf(context.platform);
    const shells = await openAll(tenant, service, 'yes');
    const path = `/services/${service.id}/tunnels`;
    const { tunnel } = await tenant.client.expect<{ tunnel: { address: string } }>('POST', path, {});
    const tunnels = Array.from({ length: CONNECTIONS }, () => new WebSocket(tunnel.address));
    for (const socket of tunnels) {
      socket.on('error', () => undefined);
      socket.on('open', () => socket.send('flood'.padEnd(10), { binary: true }, () => socket.pause()));
    }
    for (const { socket } of shells) socket.pause();
    const fault = await growthOf(context.platform, before);
    for (const socket of [...tunnels, ...shells.map(({ socket: own }) => own)]) socket.terminate();
    return fault;
  }),
  beside({ name: 'shells: fork without an end', rule: 3, short: true }, async (service, context) => {
    const before = await memoryOf(context.platform);
    const shells = await openAll(context.tenants[0], service, 'bomb() { bomb | bomb & }; bomb; sleep 1000');
    const fault = await growthOf(context.platform, before);
    for (const { socket } of shells) socket.terminate();
    return fault || (await stillThere(context, service));
  }),
];

async function stillThere({ tenants: [{ client }], signal }: CaseContext, { id }: Service): Promise<string> {
  let seen = 'nothing';
  for (const end = Date.now() + 30_000; Date.now() < end && !signal.aborted; await delay(POLL_MS)) {
    const shell = await openShell(client, id, { command: 'ls -d /proc/[0-9]* | wc -l' }).catch(() => null);
    if (shell === null) continue;
    await Promise.race([shell.ended, delay(5_000)]);
    shell.socket.terminate();
    seen = shell.output.trim();
    if (seen !== '' && Number(seen) < 20) return '';
  }
  return `after the shells were closed, a new one saw as many processes: ${seen}`;
}
