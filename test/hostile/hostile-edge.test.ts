import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { type IncomingMessage, request } from 'node:http';
import { connect, type Socket } from 'node:net';
import { expect } from 'chai';
import { deploy, type Service } from '../support/deployments.js';
import type { RawAnswer } from '../support/http.js';
import { type Platform, usePlatform } from '../support/platform.js';
import { eventually, type PlatformProcess } from '../support/processes.js';
import { Victim } from '../support/victim.js';

const LIMIT_MS = 300_000;
/** The edge keeps 1,024 slow connections, so it must close some of these. */
const SLOW_READERS = 1_500;
const CLIENT_ADDRESSES = 20;
/**
 * Reads one byte of each answer. Node.js cannot set its small buffers, which block a connection early: the loopback
 * interface would take megabytes of each answer.
 */
const SLOW_READER = `
  use Socket qw(:DEFAULT IPPROTO_TCP TCP_MAXSEG);
  use constant TOGETHER => 100;
  $SIG{PIPE} = 'IGNORE';
  $| = 1;
  my ($port, $count, $addresses, @requests) = @ARGV;
  my @held;
  while (@held < $count) {
    my @batch;
    for my $n (@held .. @held + TOGETHER - 1) {
      socket(my $socket, PF_INET, SOCK_STREAM, 0) or die $!;
      setsockopt($socket, SOL_SOCKET, SO_RCVBUF, 4096) or die $!;
      setsockopt($socket, IPPROTO_TCP, TCP_MAXSEG, 536) or die $!;
      bind($socket, sockaddr_in(0, inet_aton('127.0.1.' . (1 + $n % $addresses)))) or die $!;
      connect($socket, sockaddr_in($port, INADDR_LOOPBACK)) or next;
      syswrite($socket, $requests[$n % @requests]);
      push @batch, $socket;
    }
    sysread($_, my $first, 1) for @batch;
    push @held, @batch;
  }
  print "held\n";
  <STDIN>;
`;
/** Maximum memory of the edge, however many clients read nothing. */
const EDGE_MEMORY_MB = 1_536;
const CONNECTIONS_PER_CLIENT = 512;

/** Answers `/raw/<base64url>` with these bytes, and `/endless` with endless text that compresses badly. */
const HOSTILE_APP = {
  'package.json': JSON.stringify({
    name: 'hostile',
    version: '1.0.0',
    private: true,
    scripts: { start: 'node app.js' },
  }),
  'app.js': `
    const text = require('node:crypto').randomBytes(48 * 1024).toString('base64');
    const answers = {
      '/endless': (socket) => {
        socket.write('HTTP/1.1 200 OK\\r\\nContent-Type: text/plain\\r\\n\\r\\n');
        const more = () => { while (!socket.destroyed && socket.write(text)); };
        socket.on('drain', more);
        more();
      },
      '/crumbs': (socket) => {
        socket.write('HTTP/1.1 200 OK\\r\\nContent-Type: text/plain\\r\\nTransfer-Encoding: chunked\\r\\n\\r\\n');
        const crumbs = '1\\r\\nx\\r\\n'.repeat(10000);
        const more = () => { while (!socket.destroyed && socket.write(crumbs)); };
        socket.on('drain', more);
        more();
      },
      '/reset': (socket) => {
        socket.write('HTTP/1.1 200 OK\\r\\nConnection: close\\r\\n\\r\\n');
        for (let i = 0; i < 64; i++) socket.write(text);
        setTimeout(() => socket.resetAndDestroy(), 300);
      },
      '/events': (socket) => socket.write('HTTP/1.1 200 OK\\r\\nContent-Type: text/event-stream\\r\\n\\r\\n'),
    };
    require('node:net').createServer((socket) => {
      socket.on('error', () => undefined);
      let head = '';
      socket.on('data', (chunk) => {
        head += chunk.toString('latin1');
        if (!head.includes('\\r\\n\\r\\n')) return;
        const path = head.split(' ')[1];
        const asked = head;
        head = '';
        if (answers[path]) return answers[path](socket);
        if (path.startsWith('/raw/')) return socket.end(Buffer.from(path.slice(5), 'base64url'));
        const body = path === '/headers' ? asked : 'hostile';
        socket.end('HTTP/1.1 200 OK\\r\\nContent-Length: ' + Buffer.byteLength(body) + '\\r\\n\\r\\n' + body);
      });
    }).listen(process.env.PORT, () => console.log('listening'));
  `,
};

describe('Hostile answers and clients at the edge', function () {
  this.timeout(LIMIT_MS);
  let platform: Platform;
  let victim: Victim;
  let hostile: Service;

  usePlatform({ engine: 'postgres', env: { STOP_GRACE_SECONDS: '1' } }, async (started) => {
    platform = started;
    hostile = (await platform.serviceOf('hostile', HOSTILE_APP)).service;
    [victim] = await Promise.all([Victim.deploy(platform), deploy(platform.client, hostile.id)]);
  });

  function raw(answer: string): string {
    return `/raw/${Buffer.from(answer, 'latin1').toString('base64url')}`;
  }

  function ask(path: string, headers: Record<string, string> = {}): Promise<RawAnswer> {
    return new Promise((resolve) => {
      const cut = () => resolve({ status: 0, headers: {}, body: '' });
      const host = new URL(hostile.url).host;
      const outgoing = request({
        host: '127.0.0.1',
        port: platform.edgePort,
        path,
        agent: false,
        headers: { host, ...headers },
      });
      const read = (response: IncomingMessage) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk) => chunks.push(chunk)).on('error', cut);
        response.on('end', () => {
          const { statusCode = 0, headers } = response;
          resolve({ status: statusCode, headers, body: Buffer.concat(chunks).toString('latin1') });
        });
      };
      outgoing.on('response', read).on('error', cut);
      outgoing.on('upgrade', (response, socket) => {
        socket.destroy();
        resolve({ status: response.statusCode ?? 0, headers: response.headers, body: '' });
      });
      outgoing.end();
    });
  }

  const upgrade = { connection: 'Upgrade', upgrade: 'websocket' };

  it('serves on whatever reason, status or header a service answers with', async () => {
    const rest = 'Content-Length: 2\r\n\r\nok';
    await victim.duringAttack(async () => {
      for (const reason of ['O\x01K', 'caf\xe9', '\x7f', '\u0000', '', 'x'.repeat(20_000)]) {
        const answer = raw(`HTTP/1.1 200 ${reason}\r\n${rest}`);
        expect((await ask(answer)).status, JSON.stringify(reason)).to.be.oneOf([200, 502]);
        expect((await ask(answer, upgrade)).status, JSON.stringify(reason)).to.be.oneOf([200, 502]);
      }
      for (const status of ['099', '000', '100', '101', '199', '1000', '20', '2x0', '-20']) {
        const answer = raw(`HTTP/1.1 ${status} OK\r\n${rest}`);
        expect((await ask(answer)).status, status).to.equal(502);
        expect((await ask(answer, upgrade)).status, status).to.equal(502);
      }
      for (const header of ['X-A: a\u0000b', 'X-A: a\x01b', 'X A: b', 'X\u0000A: b', ': b', 'X-A: a\rb', 'X-\xe9: a']) {
        const answer = raw(`HTTP/1.1 200 OK\r\n${header}\r\n${rest}`);
        expect((await ask(answer)).status, JSON.stringify(header)).to.equal(502);
        expect((await ask(answer, upgrade)).status, JSON.stringify(header)).to.equal(502);
        const switching = raw(
          `HTTP/1.1 101 Switching\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n${header}\r\n\r\n`,
        );
        expect((await ask(switching, upgrade)).status, JSON.stringify(header)).to.equal(502);
      }
    });
  });

  it('drops a cookie domain that is wider than the host of the service', async () => {
    const host = new URL(hostile.url).hostname;
    const wide = ['localhost', '.localhost', ' .LocalHost\t', '"localhost"', 'localhost.', '', `x.${host}`];
    const cookies = [
      ...wide.map((domain, i) => `Set-Cookie: wide${i}=1; Path=/; Domain=${domain}; Secure`),
      'set-cookie: spaced=1 ;\tDOMAIN =\tlocalhost ; HttpOnly',
      `Set-Cookie: twice=1; Domain=${host}; Domain=localhost`,
      `Set-Cookie: own=1; Domain=.${host}`,
      'Set-Cookie: domain=localhost; Path=/',
    ];
    const answer = raw(`HTTP/1.1 200 OK\r\n${cookies.join('\r\n')}\r\nContent-Length: 0\r\n\r\n`);
    const { headers } = await ask(answer);
    expect(headers['set-cookie']).to.deep.equal([
      ...wide.map((_, i) => `wide${i}=1; Path=/; Secure`),
      'spaced=1 ; HttpOnly',
      `twice=1; Domain=${host}`,
      `own=1; Domain=.${host}`,
      'domain=localhost; Path=/',
    ]);
    const switching = raw(
      'HTTP/1.1 101 S\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSet-Cookie: a=1; Domain=localhost\r\n\r\n',
    );
    expect((await ask(switching, upgrade)).headers['set-cookie']).to.deep.equal(['a=1']);
  });

  it('passes on end-to-end headers whatever Connection names', async () => {
    const sent: Record<string, string> = {
      cookie: 'session=1',
      authorization: 'Bearer x',
      'accept-language': 'de',
      'if-none-match': '"1"',
      range: 'bytes=0-1',
      origin: 'http://example.test',
      'x-api-key': 'key',
      'x-forwarded-for': '6.6.6.6',
    };
    const connection = `close, ${Object.keys(sent).join(', ')}, Host, X-Forwarded-Host, X-Request-ID, x-private`;
    const { body } = await ask('/headers', { ...sent, connection, 'x-private': '1' });
    const seen = body.toLowerCase();
    for (const [name, value] of Object.entries({ ...sent, 'x-forwarded-for': '127.0.0.1' })) {
      expect(seen).to.include(`\r\n${name}: ${value.toLowerCase()}\r\n`);
    }
    for (const name of ['host', 'x-forwarded-host', 'x-request-id']) expect(seen).to.include(`\r\n${name}: `);
    expect(seen).not.to.include('x-private');
  });

  it('tells outsiders only that it is up, and the operator what it counts', async () => {
    const url = `http://127.0.0.1:${platform.edgePort}`;
    expect(await (await fetch(`${url}/.ranvier/healthz`)).text()).to.equal('{"status":"ok"}');
    await eventually('the metrics show the edge', async () => {
      const metrics = await platform.metrics();
      return (
        /ranvier_edge\{[^}]*figure="failedExchanges"\} 0/.test(metrics) && /figure="connections"\} \d/.test(metrics)
      );
    });
  });

  it('leads to a service by its own host only', async () => {
    const own = new URL(hostile.url).host;
    const others = ['localhost', `localhost:${platform.apiPort}`, '127.0.0.1', '[::1]', '', '.localhost', 'localhost.'];
    for (const host of [...others, `${own},localhost`, `x@${own}`, `${own}.localhost`, `x.${own}`]) {
      const answer = await ask('/', { host });
      expect(answer.status, host).to.be.oneOf([400, 404]);
      expect(answer.body, host).not.to.equal('hostile');
    }
  });

  async function slowReader(from: string, path: string, headers = ''): Promise<Socket> {
    const socket = connect({ host: '127.0.0.1', port: platform.edgePort, localAddress: from });
    socket.on('error', () => undefined);
    await once(socket, 'connect').catch(() => undefined);
    socket.write(`GET ${path} HTTP/1.1\r\nHost: ${new URL(hostile.url).host}\r\n${headers}\r\n`);
    // Waits until the answer begins, so that the edge's queue of new connections stays short.
    await Promise.race([once(socket, 'readable'), once(socket, 'close')]);
    return socket;
  }

  function destroyAll(readers: readonly Socket[]): void {
    for (const reader of readers) reader.destroy();
  }

  async function figure(name: 'closedConnections' | 'connections'): Promise<number> {
    const metrics = await platform.metrics();
    return Number(new RegExp(`figure="${name}"\\} (\\d+)`).exec(metrics)?.[1]);
  }

  function edgeProcess(): PlatformProcess {
    const edge = platform.processes.find(({ name }) => name === 'edge');
    if (edge === undefined) throw new Error('there is no edge');
    return edge;
  }

  it(`needs at most ${EDGE_MEMORY_MB} MB for clients that read nothing, and closes those beyond its bound`, async () => {
    const asks = (path: string, headers = '') =>
      `GET ${path} HTTP/1.1\r\nHost: ${new URL(hostile.url).host}\r\n${headers}\r\n`;
    const compressed = Array.from({ length: 12 }, () => asks('/endless', 'Accept-Encoding: br\r\n'));
    const plain = Array.from({ length: 12 }, () => asks('/endless'));
    const given = [platform.edgePort, SLOW_READERS, CLIENT_ADDRESSES, ...compressed, ...plain, asks('/crumbs')];
    const readers = spawn('perl', ['-e', SLOW_READER, ...given.map(String)], { stdio: ['pipe', 'pipe', 'inherit'] });
    const attack = async () => {
      await once(readers.stdout, 'data');
      await eventually(
        'slow connections are ended',
        async () => (await figure('closedConnections')) > SLOW_READERS / 5,
      );
    };
    await victim.duringAttack(attack).finally(() => readers.kill());
    const status = await readFile(`/proc/${edgeProcess().child.pid}/status`, 'utf8');
    const peakMb = Number(/VmHWM:\s+(\d+) kB/.exec(status)?.[1]) / 1024;
    expect(peakMb).to.be.within(50, EDGE_MEMORY_MB);
  });

  it('serves others while one client holds all the connections it may have', async () => {
    const readers: Socket[] = [];
    let refusals = '';
    // On a busy machine, the connections of the previous test end only after a while.
    await eventually('the edge is quiet', async () => (await figure('connections')) < 100, 120_000);
    const attack = async () => {
      for (let i = 0; i < CONNECTIONS_PER_CLIENT + 50; i++) {
        const reader = await slowReader('127.0.2.1', '/events');
        const text = String(reader.read() ?? '');
        if (text.startsWith('HTTP/1.1 503 ')) refusals += text;
        readers.push(reader);
      }
      await eventually('the rest is refused', () => refusals.split('HTTP/1.1 503 ').length > 50);
      expect((await ask('/')).body).to.equal('hostile');
    };
    await victim.duringAttack(attack).finally(() => destroyAll(readers));
    expect(refusals).to.match(/\r\nRetry-After: \d+\r\n/);
  });
});
