import { createSocket } from 'node:dgram';
import { setTimeout as delay } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import { nodeServer } from '../support/apps.js';
import { createService } from '../support/deployments.js';
import { deliver } from '../support/hook-delivery.js';
import { memoryOf } from './books.js';
import { type HostileCase, harmed, hostileCase, unless } from './hostile-case.js';
import { call, hold } from './hostile-clients.js';
import { newHook } from './ordinary-mix.js';

/** An ordinary request that takes longer than this during an attack counts as harmed. */
const WAIT_MS = 3_000;
const ROUNDS_MS = 10_000;
const MAX_GROWTH_KB = 96 * 1024;
const NOWHERE = 'https://git.example.test/none.git';

/** Starts a DNS server that receives queries and never answers. */
export async function silentNameServer(): Promise<{ address: string; close: () => void }> {
  const socket = createSocket('udp4');
  await new Promise<void>((resolve) => socket.bind(0, '127.0.0.1', resolve));
  return { address: `127.0.0.1:${socket.address().port}`, close: () => socket.close() };
}

export const CALLERS: readonly HostileCase[] = [
  hostileCase({
    name: 'hooks: slow deliveries without a signature',
    rule: 2,
    short: true,
    run: async ({ tenants: [tenant], signal }) => {
      const { id } = await createService(tenant.client, { name: 'slow-hook', configuration: { repository: NOWHERE } });
      const { hook } = await newHook(tenant.client, id);
      const begun = Date.now();
      const head = `POST /api/hooks/${hook.id} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n`;
      await hold(tenant.apiPort, 64, `${head}Content-Length: 100000\r\n\r\n`, signal, 'x');
      return begun;
    },
    check: (begun, context) => harmed(context, 'hook', begun, WAIT_MS),
  }),
  hostileCase({
    name: 'hooks: a branch with an impossible name',
    rule: 4,
    short: true,
    run: async ({ platform, tenants: [tenant] }) => {
      const { id } = await createService(tenant.client, {
        name: 'odd-branch',
        configuration: { repository: NOWHERE, autoDeploy: 'commit' },
      });
      const { hook } = await newHook(tenant.client, id);
      const [before, after] = ['a', 'b'].map((letter) => letter.repeat(40));
      const payload = { ref: `refs/heads/${'x'.repeat(300)}..\u0007`, before, after, head_commit: { id: after } };
      return (await deliver(platform, hook, 'push', payload)).status;
    },
    check: (status) => unless(status === 400, `it answered ${status}`),
  }),
  hostileCase({
    name: 'sign-in: anonymous callers fill the queue of password hashes',
    rule: 2,
    short: true,
    run: async ({ tenants: [{ apiPort }], signal }) => {
      const begun = Date.now();
      for (let round = 0; Date.now() - begun < ROUNDS_MS && !signal.aborted; round++) {
        let i = 0;
        await call(60, () => signIn(apiPort, `198.51.100.${1 + (i++ % 20)}`, `nobody${round}-${i}@example.test`));
      }
      return begun;
    },
    check: (begun, context) => harmed(context, 'sign-in', begun, 5_000),
  }),
  hostileCase({
    name: 'domains: three workspaces verify names that nobody answers for',
    rule: 2,
    short: true,
    run: async ({ tenants }) => {
      const begun = Date.now();
      const paths = tenants.map(async ({ client }, i) => {
        const { id } = await createService(client, { name: 'slow-domain', configuration: { repository: NOWHERE } });
        const path = `/services/${id}/domains`;
        const hostname = `slow${i}.example.net`;
        const { domain } = await client.expect<{ domain: { id: string } }>('POST', path, { hostname });
        await call(12, () => client.call('POST', `${path}/${domain.id}/verify`, {}));
      });
      await Promise.race([Promise.all(paths), delay(15_000)]);
      return begun;
    },
    check: (begun, context) => harmed(context, 'read', begun, WAIT_MS) || harmed(context, 'write', begun, WAIT_MS),
  }),
  hostileCase({
    name: 'API: control characters in names',
    rule: 4,
    short: true,
    run: async ({ tenants: [{ client }] }) => {
      const names = ['red\u001b[31m', 'bell\u0007', 'line\nline', 'c1\u009b31m', 'turned\u202egnp.exe'];
      const answers = names.map((name) => client.call('POST', '/projects', { name, color: 'red' }));
      const service = { kind: 'web', name: 'esc\u001b]0;x\u0007', configuration: { repository: NOWHERE } };
      const statuses = await Promise.all([...answers, client.call('POST', '/services', service)]);
      return statuses.map(({ status }, i) => `${names[i] ?? service.name}: ${status}`);
    },
    check: (answers) => {
      const kept = answers.filter((answer) => !/: 4\d\d$/.test(answer));
      return unless(kept.length === 0, `kept: ${JSON.stringify(kept)}`);
    },
  }),
  hostileCase({
    name: 'API: a body that is a gzip bomb',
    rule: 3,
    run: async ({ platform, tenants: [{ client }] }) => {
      const before = apiMemory(await memoryOf(platform));
      const body = new Uint8Array(gzipSync(Buffer.alloc(256 * 1024 ** 2, ' ')));
      const headers = {
        authorization: `Bearer ${client.key}`,
        'content-type': 'application/json',
        'content-encoding': 'gzip',
      };
      const url = `${client.baseUrl}/workspaces/${client.workspaceId}/projects`;
      const statuses: number[] = [];
      await call(4, async () => statuses.push((await fetch(url, { method: 'POST', headers, body })).status));
      return { statuses, grown: apiMemory(await memoryOf(platform)) - before };
    },
    check: ({ statuses, grown }) =>
      unless(
        statuses.every((status) => status >= 400 && status < 500) && grown < MAX_GROWTH_KB,
        `it answered ${statuses.join(', ')}, and the API grew by ${grown} KB`,
      ),
  }),
  hostileCase({
    name: 'edge: headers of a proxy from a visitor',
    rule: 0,
    short: true,
    run: async ({ tenants: [tenant], signal }) => {
      const files = { ...nodeServer(''), 'server.js': ECHO };
      let seen: string | null = null;
      await tenant.host(files, {}, signal, async (service) => {
        const names = [
          'x-forwarded-ssl',
          'x-forwarded-scheme',
          'x-forwarded-prefix',
          'x-original-url',
          'x-rewrite-url',
        ];
        seen = await tenant.answerOf(service, Object.fromEntries(names.map((name) => [name, 'evil'])));
      });
      return seen as string | null;
    },
    check: (seen) => unless(seen?.startsWith('{') === true && !seen.includes('evil'), `the application got ${seen}`),
  }),
];

const ECHO = `require('node:http').createServer((request, response) => response.end(JSON.stringify(request.headers)))
  .listen(process.env.PORT);`;

export function apiMemory(memory: ReadonlyMap<string, number>): number {
  return [...memory].find(([name]) => name.startsWith('api '))?.[1] ?? 0;
}

function signIn(apiPort: number, address: string, email: string): Promise<Response> {
  return fetch(`http://127.0.0.1:${apiPort}/api/session`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-forwarded-for': address },
    body: JSON.stringify({ email, password: 'a wrong password' }),
    signal: AbortSignal.timeout(30_000),
  });
}
