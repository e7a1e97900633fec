import { connect, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import type { Behaviour, HostileTenant } from './hostile-tenant.js';

const RUN_MS = 8_000;

/** Opens connections, writes `text` to each, and keeps them open for a while. */
export async function hold(port: number, count: number, text: string, signal: AbortSignal, drip = ''): Promise<void> {
  const sockets: Socket[] = Array.from({ length: count }, () => {
    const socket = connect(port, '127.0.0.1');
    socket.on('error', () => undefined);
    socket.pause();
    socket.write(text);
    return socket;
  });
  const end = Date.now() + RUN_MS;
  while (Date.now() < end && !signal.aborted) {
    if (drip !== '') for (const socket of sockets) if (!socket.destroyed) socket.write(drip);
    await delay(250);
  }
  for (const socket of sockets) socket.destroy();
}

function head({ victim }: HostileTenant, line = 'GET / HTTP/1.1'): string {
  return `${line}\r\nHost: ${new URL(victim.url).host}\r\n`;
}

/** Calls the API many times at once, and ignores the answers. */
export async function call(times: number, request: () => Promise<unknown>): Promise<void> {
  await Promise.all(Array.from({ length: times }, () => request().catch(() => undefined)));
}

export const CLIENTS: readonly Behaviour[] = [
  {
    name: 'client: never reads',
    act: (tenant, signal) =>
      hold(tenant.edgePort, 200, `${head(tenant)}Accept-Encoding: gzip\r\n\r\n`.repeat(50), signal),
  },
  { name: 'client: many connections', act: (tenant, signal) => hold(tenant.edgePort, 1000, '', signal) },
  {
    name: 'client: many connections to the API',
    act: (tenant, signal) => hold(tenant.apiPort, 500, 'GET /healthz HTTP/1.1\r\n', signal),
  },
  {
    name: 'client: slow headers',
    act: (tenant, signal) => hold(tenant.edgePort, 200, head(tenant), signal, 'x: y\r\n'),
  },
  {
    name: 'client: slow body',
    act: (tenant, signal) =>
      hold(tenant.edgePort, 200, `${head(tenant, 'POST / HTTP/1.1')}Content-Length: 1000000\r\n\r\n`, signal, 'x'),
  },
  {
    name: 'client: large headers',
    act: (tenant, signal) => hold(tenant.edgePort, 50, `${head(tenant)}x: ${'y'.repeat(1_000_000)}\r\n\r\n`, signal),
  },
  {
    name: 'client: no HTTP',
    act: (tenant, signal) => hold(tenant.edgePort, 100, '\0\u0001\u0002 / \r\n\r\n'.repeat(100), signal),
  },
  {
    name: 'client: bodies that are too large',
    act: (tenant) => call(20, () => tenant.client.call('POST', '/projects', { name: 'x'.repeat(3_000_000) })),
  },
  {
    name: 'client: deep JSON',
    act: (tenant) =>
      call(20, () =>
        fetch(`${tenant.client.baseUrl}/workspaces/${tenant.client.workspaceId}/projects`, {
          method: 'POST',
          headers: { authorization: `Bearer ${tenant.client.key}`, 'content-type': 'application/json' },
          body: '['.repeat(200_000),
        }),
      ),
  },
  {
    name: 'client: wrong passwords',
    act: (tenant) =>
      call(100, () =>
        fetch(`${new URL(tenant.client.baseUrl).origin}/api/session`, {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify({ email: 'owner@example.test', password: String(tenant.random.next()) }),
        }),
      ),
  },
  {
    name: 'client: thousands of projects',
    act: (tenant) => call(300, () => tenant.client.call('POST', '/projects', { name: 'many', color: 'red' })),
  },
  { name: 'client: reads without pause', act: (tenant) => call(500, () => tenant.client.call('GET', '/projects')) },
];
