import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { type AddressInfo, createServer } from 'node:net';
import { networkInterfaces } from 'node:os';
import { type CaseContext, type HostileCase, hostileCase, NOT_LIVE, unless } from './hostile-case.js';

const MAX_TERMINALS = 512;
const MAX_TRACKED = 4_096;
const CONNECTIONS = 8_000;

/** Returns an application that answers `/attack` with the result of `body`, the body of an async function. */
export function answering(body: string, before = ''): Record<string, string> {
  return {
    Procfile: `web: ${before}exec node server.js\n`,
    'server.js': `const fs = require('node:fs'), net = require('node:net'), child = require('node:child_process'), os = require('node:os');
      const ask = async () => { ${body} };
      let asked;
      require('node:http').createServer(async (request, response) => {
        if (request.url !== '/attack') return response.end('ready');
        response.end(String(await (asked ??= ask()).catch((error) => 'ERROR ' + error.message)));
      }).listen(process.env.PORT);`,
  };
}

async function attack({ tenants: [tenant], signal }: CaseContext, body: string, before = ''): Promise<string | null> {
  let seen: string | null = null;
  await tenant.host(answering(body, before), {}, signal, async (service) => {
    seen = await tenant.answerOf(service, {}, '/attack');
  });
  return seen;
}

/** Builds a case whose application says what it has reached. */
function hosted({ body, before = '', holds, says, ...about }: HostedCase): HostileCase {
  const run = (context: CaseContext) => attack(context, body, before);
  const check = (seen: string | null) =>
    seen === null ? NOT_LIVE : unless(holds(seen), `it ${says} ${seen.slice(0, 200)}`);
  return hostileCase({ ...about, run, check });
}

interface HostedCase {
  name: string;
  rule: number;
  short?: boolean;
  body: string;
  /** What the application's shell runs before its server starts. */
  before?: string;
  /** Returns true if the answer shows that the attack did not reach its aim. */
  holds(answer: string): boolean;
  /** What the application did if it reached its aim: the beginning of a sentence that ends with the answer. */
  says: string;
}

export const HOSTED: readonly HostileCase[] = [
  hosted({
    name: 'devices: a thousand pseudo-terminals',
    rule: 3,
    short: true,
    body: `const held = []; try { while (held.length < 1000) held.push(fs.openSync('/dev/ptmx', 'r+')); } catch {}
     for (const fd of held) fs.closeSync(fd);
     return held.length;`,
    holds: (text) => Number(text) < MAX_TERMINALS,
    says: 'has opened',
  }),
  hosted({
    name: 'devices: asynchronous I/O of the whole host',
    rule: 3,
    body: `const number = process.arch === 'x64' ? 206 : 0;
     return child.execFileSync('perl', ['-e', 'my $c = pack("Q", 0); print syscall(' + number + ', 1000, $c)']).toString();`,
    holds: (text) => text === '-1',
    says: 'got from io_setup',
  }),
  hosted({
    name: 'descriptors of the worker in a child',
    rule: 1,
    body: `return fs.readFileSync('/tmp/descriptors', 'utf8').split('\\n').map((line) => / (\\d+) -> (.*)$/.exec(line))
      .filter((found) => found && Number(found[1]) > 2 && !/^\\/proc\\/.*\\/fd$/.test(found[2])).map((found) => found[0]).join(',');`,
    before: 'ls -l /proc/self/fd > /tmp/descriptors; ',
    holds: (text) => text === '',
    says: 'has inherited',
  }),
  hosted({
    name: '/sys: figures of neighbours',
    rule: 0,
    body: `const list = (path) => { try { return fs.readdirSync(path); } catch { return []; } };
     const own = fs.readFileSync('/proc/self/cgroup', 'utf8');
     const groups = list('/sys/fs/cgroup').flatMap((name) => [name, ...list('/sys/fs/cgroup/' + name)]);
     return JSON.stringify([...list('/sys/class/net').filter((name) => !(name in os.networkInterfaces())),
       ...groups.filter((name) => /ranvier|replica|build/.test(name) && !own.includes(name)), ...list('/sys/kernel/debug'), ...list('/sys/fs/bpf')]);`,
    holds: (text) => text === '[]',
    says: 'sees',
  }),
  hostileCase({
    name: 'network: ports of the host and of an administrator',
    rule: 0,
    short: true,
    run: async (context) => {
      const { platform } = context;
      // A stand-in for PostgreSQL, Redis or Caddy's admin API that an operator left open on all addresses of the host.
      const open = createServer((socket) => socket.destroy()).listen(0);
      await once(open, 'listening');
      try {
        const ports = [(open.address() as AddressInfo).port, platform.apiPort, platform.edgePort, 2019, 5432, 6379, 22];
        const hosts = Object.values(networkInterfaces()).flatMap((all = []) => all.map(({ address }) => address));
        return await attack(
          context,
          `const route = fs.readFileSync('/proc/net/route', 'utf8').split('\\n').map((line) => line.split('\\t')).find((row) => row[1] === '00000000');
           const gateway = route && route[2].match(/../g).reverse().map((hex) => parseInt(hex, 16)).join('.');
           const open = (host, port) => new Promise((resolve) => {
             const socket = net.connect({ host, port, timeout: 1500 }, () => { socket.destroy(); resolve(host + ':' + port); });
             for (const event of ['error', 'timeout']) socket.on(event, () => { socket.destroy(); resolve(''); });
           });
           const tries = [gateway, '0.0.0.0', '::1', ...${JSON.stringify(hosts.slice(0, 16))}].flatMap((host) => ${JSON.stringify(ports)}.map((port) => open(host, port)));
           return (await Promise.all(tries)).filter((found) => found !== '').join(' ');`,
        );
      } finally {
        open.close();
      }
    },
    check: (seen) => (seen === null ? NOT_LIVE : unless(seen === '', `it reaches ${seen}`)),
  }),
  hostileCase({
    name: 'network: one replica fills the table of connections',
    rule: 3,
    run: async ({ tenants: [tenant], signal, platform }) => {
      let tracked = -1;
      const sink = answering(`return 'sink';`);
      await tenant.host(sink, {}, signal, async (target) => {
        const { db } = platform.database;
        const where = { service_id: target.id, state: 'ready' };
        const { address, port } = await db('replicas').where(where).first('address', 'port');
        const flood = `for (let left = ${CONNECTIONS}; left > 0; left -= 200) await Promise.all(Array.from({ length: 200 }, () =>
          new Promise((resolve) => { const socket = net.connect({ host: '${address}', port: ${port}, timeout: 1000 }, () => socket.end());
            for (const event of ['close', 'error', 'timeout']) socket.on(event, () => { socket.destroy(); resolve(); }); })));
          return 'done';`;
        await tenant.host(answering(flood), {}, signal, async (source) => {
          await tenant.answerOf(source, {}, '/attack', 60_000);
          const replica = await db('replicas').where({ service_id: source.id, state: 'ready' }).first('address');
          const table = await readFile('/proc/net/nf_conntrack', 'utf8').catch(() => '');
          tracked = table.split(`src=${replica?.address} dst=${address}`).length - 1;
        });
      });
      return tracked;
    },
    check: (tracked) =>
      tracked < 0 ? NOT_LIVE : unless(tracked <= MAX_TRACKED, `${tracked} connections of one replica are tracked`),
  }),
];
