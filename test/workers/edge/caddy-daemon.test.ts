import { once } from 'node:events';
import { chmod, mkdtemp, rm, stat } from 'node:fs/promises';
import { connect as connectHttp2 } from 'node:http2';
import { request as requestTls } from 'node:https';
import { connect as connectTcp } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { connect, type TLSSocket } from 'node:tls';
import { expect } from 'chai';
import { pino } from 'pino';
import { AdminApi, uninterrupted } from '../../../workers/edge/caddy/admin-api.js';
import { CaddyEdge, type CaddyEdgeOptions } from '../../../workers/edge/caddy/caddy-edge.js';
import { describeCaddy, startCaddy, type TestCaddy } from '../../support/caddy.js';
import { eventually, freePorts } from '../../support/processes.js';
import { ask, Bench, HOST, proxied, sendRaw } from './support.js';

describeCaddy('the edge and its Caddy', () => {
  const bench = new Bench();
  let caddies: TestCaddy[] = [];
  let edges: CaddyEdge[] = [];
  let lines: string[] = [];
  let folder: string;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'ranvier-edge-'));
  });
  afterEach(async () => {
    for (const edge of edges) await edge.close();
    for (const caddy of caddies) await caddy.stop();
    await bench.close();
    await rm(folder, { recursive: true, force: true });
    [edges, caddies, lines] = [[], [], []];
  });

  async function caddyWith(apps: Record<string, unknown> = {}): Promise<TestCaddy> {
    const caddy = await startCaddy(apps);
    caddies.push(caddy);
    return caddy;
  }
  function warnings(): string[] {
    return lines.filter((line) => line.includes('hosted applications on this host may reach'));
  }
  async function freePort(): Promise<number> {
    const [port = 0] = await freePorts(1);
    return port;
  }
  function edgeAt(adminUrl: string, port: number, overrides: Partial<CaddyEdgeOptions> = {}): CaddyEdge {
    const log = pino({ level: 'info' }, { write: (line: string) => void lines.push(line) });
    const refresh = async () => undefined;
    const edge = new CaddyEdge({
      port,
      domain: 'test',
      adminUrl,
      socketDir: join(folder, String(edges.length)),
      tls: null,
      imagesDir: '/none',
      log,
      refresh,
      ...overrides,
    });
    edges.push(edge);
    return edge;
  }
  async function configOf(caddy: TestCaddy, path = ''): Promise<unknown> {
    const { value } = await uninterrupted(() => new AdminApi(caddy.adminUrl).config());
    const keys = path === '' ? [] : path.split('/');
    return keys.reduce<unknown>((inner, key) => (inner as Record<string, unknown> | undefined)?.[key], value);
  }

  it('names the variable to check if no Caddy answers', async () => {
    const edge = edgeAt(`http://127.0.0.1:${await freePort()}`, await freePort());
    const error = await edge.listen().catch((e: Error) => e);
    expect(error).to.be.instanceOf(Error).with.property('message').that.includes('CADDY_ADMIN_URL');
  });

  it('works with an admin API on a port, and warns that hosted applications reach it', async () => {
    const caddy = await startCaddy({}, 'port');
    caddies.push(caddy);
    const port = await freePort();
    const edge = edgeAt(caddy.adminUrl, port);
    await edge.listen();
    expect(warnings()).to.have.length(1);
    const [old, fresh] = [
      await bench.replica((_req, res) => res.end('old')),
      await bench.replica((_req, res) => res.end()),
    ];
    await edge.apply(proxied([old]));
    expect((await ask(port, '/')).text).to.equal('old');
    await edge.apply(proxied([fresh]));
    expect((await ask(port, '/')).status).to.equal(200);
  });

  it('warns of an admin API on a socket that everybody may open, and of no other', async () => {
    const caddy = await caddyWith();
    const port = await freePort();
    await edgeAt(caddy.adminUrl, port).listen();
    expect(warnings()).to.deep.equal([]);
    await chmod(new URL(caddy.adminUrl).pathname, 0o777);
    await edgeAt(caddy.adminUrl, port).listen();
    expect(warnings()).to.have.length(1);
  });

  it('names the port if Caddy cannot listen on it', async () => {
    const caddy = await caddyWith();
    const replica = await bench.replica((_req, res) => res.end());
    const error = await edgeAt(caddy.adminUrl, replica.port)
      .listen()
      .catch((e: Error) => e);
    expect(error).to.be.instanceOf(Error).with.property('message').that.includes(String(replica.port));
  });

  it("leaves the operator's configuration unchanged, and loads its own once for all deployments", async () => {
    const [own = 0, port = 0] = await freePorts(2);
    const handle = [{ handler: 'static_response', body: 'the operator' }];
    const site = { listen: [`127.0.0.1:${own}`], routes: [{ handle }] };
    const caddy = await caddyWith({ http: { servers: { site } } });
    const edge = edgeAt(caddy.adminUrl, port);
    await edge.listen();
    const loaded = await configOf(caddy);
    const replica = await bench.replica((_req, res) => res.end('ok'));
    for (let i = 0; i < 3; i++) await edge.apply(proxied([{ ...replica, id: `release-${i}` }], { host: `s${i}.test` }));
    expect((await ask(port, '/', { host: 's2.test' })).text).to.equal('ok');
    expect((await ask(port, '/', { host: 's1.test' })).status).to.equal(404);
    expect(await configOf(caddy)).to.deep.equal(loaded);
    expect(await configOf(caddy, 'apps/http/servers/site')).to.deep.equal(site);
    expect((await ask(own, '/')).text).to.equal('the operator');
  });

  it('configures a Caddy again that restarted without its configuration, and logs it', async () => {
    const caddy = await caddyWith();
    const port = await freePort();
    const edge = edgeAt(caddy.adminUrl, port);
    await edge.listen();
    const replica = await bench.replica((_req, res) => res.end('ok'));
    await edge.apply(proxied([replica]));
    expect((await ask(port, '/')).text).to.equal('ok');
    await caddy.kill();
    await eventually('the loss is noticed', () => lines.some((line) => line.includes('CADDY_ADMIN_URL')));
    await caddy.restart();
    await eventually('it serves again', async () => (await ask(port, '/').catch(() => null))?.text === 'ok');
    await eventually('it is said', () => lines.some((line) => line.includes('"repairs":1')));
    expect(lines.filter((line) => line.includes('CADDY_ADMIN_URL'))).to.have.length(1);
  });

  it('logs a warning if two edges use one Caddy', async () => {
    const caddy = await caddyWith();
    const port = await freePort();
    for (const edge of [edgeAt(caddy.adminUrl, port), edgeAt(caddy.adminUrl, port)]) await edge.listen();
    await eventually('it is said', () => lines.some((line) => line.includes('another edge process use')));
  });

  it('logs a warning if another edge replaces its sockets, and leaves those alone', async () => {
    const caddy = await caddyWith();
    const [port, socketDir] = [await freePort(), join(folder, 'shared')];
    const replica = await bench.replica((_req, res) => res.end('ok'));
    const [first, second] = [edgeAt(caddy.adminUrl, port, { socketDir }), edgeAt(caddy.adminUrl, port, { socketDir })];
    await first.listen();
    await second.listen();
    await second.apply(proxied([replica]));
    await eventually('it is said', () => lines.some((line) => line.includes('another edge process took')));
    await first.close();
    expect((await ask(port, '/')).text).to.equal('ok');
  });

  it('has sockets that only its own user and group can open, in a folder that others cannot write to', async () => {
    const caddy = await caddyWith();
    const socketDir = join(folder, 'sockets');
    const port = await freePort();
    await edgeAt(caddy.adminUrl, port, { socketDir }).listen();
    const modes = async (...paths: string[]) =>
      (await Promise.all(paths.map((p) => stat(p)))).map((s) => s.mode & 0o777);
    const sockets = [join(socketDir, `${port}.sock`), join(socketDir, `${port}.gate.sock`)];
    expect(await modes(socketDir, ...sockets)).to.deep.equal([0o700, 0o660, 0o660]);
    await chmod(socketDir, 0o777);
    const error = await edgeAt(caddy.adminUrl, port, { socketDir })
      .listen()
      .catch((e: Error) => e);
    expect(error).to.be.instanceOf(Error).with.property('message').that.includes('EDGE_SOCKET_DIR');
  });

  it('ignores what a client claims about its address, and keeps the headers that a request needs', async () => {
    const caddy = await caddyWith();
    const port = await freePort();
    const edge = edgeAt(caddy.adminUrl, port);
    await edge.listen();
    const replica = await bench.replica((req, res) => res.end(JSON.stringify(req.headers)));
    await edge.apply(proxied([replica], { allow: ['10.0.0.0/8'] }));
    for (const name of ['X-Forwarded-For', 'X-Real-IP', 'Forwarded', 'X_Forwarded_For']) {
      const headers = { [name]: name === 'Forwarded' ? 'for=10.0.0.1' : '10.0.0.1', connection: name };
      expect((await ask(port, '/', { headers })).status, name).to.equal(403);
    }
    await edge.apply(proxied([replica]));
    const wanted = ['Cookie', 'cookie,cookie , Authorization', 'x-private, Content-Type,host,X-Cookie'];
    for (const connection of wanted) {
      const headers = {
        cookie: 'a=b',
        authorization: 'Basic YQ==',
        'content-type': 'text/x',
        'x-cookie': 'c',
        connection,
      };
      const seen = JSON.parse((await ask(port, '/', { method: 'POST', body: 'x', headers })).text);
      expect(seen, connection).to.include({ cookie: 'a=b', authorization: 'Basic YQ==', 'content-type': 'text/x' });
      expect('x-cookie' in seen, connection).to.equal(!connection.includes('X-Cookie'));
    }
    const large = { 'x-large': 'x'.repeat(20_000), upgrade: 'other' };
    const unknown = await ask(port, '/', { method: 'POST', body: 'x', host: 'nobody.test', headers: large });
    expect(JSON.parse(unknown.text).error.code).to.equal('unknown_host');
    const gate = await sendRaw(port, `GET /.ranvier/host?domain=${HOST} HTTP/1.0\r\nHost: 127.0.0.1\r\n\r\n`);
    expect(gate).to.match(/^HTTP\/1\.[01] 404 /);
  });

  it('limits the requests that one client has in progress, and ends those whose answers nobody reads', async () => {
    const caddy = await caddyWith();
    const port = await freePort();
    const limits = { perClient: 3, slow: 1_000, stallMs: 1_500 };
    const edge = edgeAt(caddy.adminUrl, port, { limits });
    await edge.listen();
    const held: (() => void)[] = [];
    const flood = Buffer.alloc(64_000_000);
    const replica = await bench.replica((req, res) =>
      req.url === '/flood' ? res.end(flood) : held.push(() => res.end('ok')),
    );
    await edge.apply(proxied([replica]));
    const waiting = [1, 2, 3].map(() => ask(port, '/'));
    await eventually('three are under way', () => held.length === 3);
    expect((await ask(port, '/')).status).to.equal(429);
    for (const release of held) release();
    for (const answer of waiting) expect((await answer).status).to.equal(200);

    const sleeper = connectTcp(port, '127.0.0.1').on('error', () => undefined);
    sleeper.write(`GET /flood HTTP/1.1\r\nHost: ${HOST}\r\n\r\n`);
    await once(sleeper, 'readable');
    await eventually('it is ended', () => edge.figures.closedConnections === 1);
    sleeper.destroy();
    const last = ask(port, '/');
    await eventually('another is let in', () => held.length === 4);
    held[3]?.();
    expect((await last).status).to.equal(200);
  });

  it('lets requests wait while its process is replaced, those with a body too', async () => {
    const caddy = await caddyWith();
    const [port, socketDir] = [await freePort(), join(folder, 'shared')];
    const replica = await bench.replica((req, res) => {
      let text = '';
      req.on('data', (chunk) => (text += chunk)).on('end', () => res.end(`${req.method} ${text}`));
    });
    const first = edgeAt(caddy.adminUrl, port, { socketDir });
    await first.listen();
    await first.apply(proxied([replica]));
    let running = true;
    const answers: string[] = [];
    const load = ['GET', 'POST', 'GET', 'POST', 'DELETE', 'HEAD'].map(async (method) => {
      while (running) {
        const answer = await ask(port, '/', { method, ...(method === 'POST' ? { body: 'x' } : {}) });
        answers.push(`${answer.status} ${answer.text}`);
      }
    });
    await eventually('there is load', () => answers.length > 20);
    await first.close();
    await delay(500);
    const second = edgeAt(caddy.adminUrl, port, { socketDir });
    const applied = second.apply(proxied([replica]));
    await second.listen();
    await applied;
    const before = answers.length;
    await eventually('there was load', () => answers.length > before + 20);
    running = false;
    await Promise.all(load);
    expect([...new Set(answers)].sort()).to.deep.equal(['200 ', '200 DELETE ', '200 GET ', '200 POST x']);
  });

  describe('over HTTPS, with an authority of its own', () => {
    let port: number;
    let tlsPort: number;
    let caddy: TestCaddy;
    beforeEach(async () => {
      [port = 0, tlsPort = 0] = await freePorts(2);
      caddy = await caddyWith();
      const tls = {
        certificates: 'internal',
        port: tlsPort,
        email: null,
        authority: null,
        authorityRoot: null,
      } as const;
      const edge = edgeAt(caddy.adminUrl, port, { tls });
      await edge.listen();
      const replica = await bench.replica((req, res) => res.end(req.headers['x-forwarded-proto']));
      await edge.apply(proxied([replica]));
    });

    it('answers with a certificate for a service, which it gets at the first handshake', async () => {
      const outgoing = requestTls({
        port: tlsPort,
        servername: HOST,
        headers: { host: `${HOST}:${tlsPort}` },
        rejectUnauthorized: false,
        agent: false,
      }).end();
      const [response] = await once(outgoing, 'response');
      const { subjectaltname, issuer } = (response.socket as TLSSocket).getPeerCertificate();
      expect(subjectaltname).to.equal(`DNS:${HOST}`);
      expect(issuer.CN).to.match(/^Ranvier/);
      expect((await response.toArray()).join('')).to.equal('https');
    });

    it('takes a request with a body over HTTP/2', async () => {
      const session = connectHttp2(`https://127.0.0.1:${tlsPort}`, { servername: HOST, rejectUnauthorized: false });
      try {
        const stream = session.request({ ':method': 'POST', ':path': '/', ':authority': `${HOST}:${tlsPort}` });
        stream.end('x'.repeat(100_000));
        const [headers] = await once(stream, 'response');
        expect(headers[':status']).to.equal(200);
        expect((await stream.toArray()).join('')).to.equal('https');
      } finally {
        session.close();
      }
    });

    it('has no certificate for a host that is no service', async () => {
      const socket = connect({ port: tlsPort, servername: 'nobody.test', rejectUnauthorized: false });
      const [error] = await once(socket, 'error');
      expect(error.message).to.match(/alert|disconnected/);
    });

    it('leads from HTTP to HTTPS', async () => {
      const answer = await ask(port, '/a?b=c');
      expect(answer.status).to.equal(308);
      expect(answer.headers.location).to.equal(`https://${HOST}:${tlsPort}/a?b=c`);
    });

    it('fills a Caddy again that restarted empty', async () => {
      await caddy.restart();
      await eventually('it leads to HTTPS again', async () => (await ask(port, '/').catch(() => null))?.status === 308);
    });
  });

  it("does not take the place of the operator's own question about certificates", async () => {
    const ask = 'http://127.0.0.1:9/allowed';
    const caddy = await caddyWith({ tls: { automation: { on_demand: { ask } } } });
    const [port = 0, tlsPort = 0] = await freePorts(2);
    const tls = { certificates: 'internal', port: tlsPort, email: null, authority: null, authorityRoot: null } as const;
    const error = await edgeAt(caddy.adminUrl, port, { tls })
      .listen()
      .catch((e: Error) => e);
    expect(error).to.be.instanceOf(Error).with.property('message').that.includes(ask);
    expect(await configOf(caddy, 'apps/tls/automation/on_demand')).to.deep.equal({ ask });
  });

  it('tells Caddy to get certificates of an ACME authority', async () => {
    const caddy = await caddyWith();
    const [port = 0, tlsPort = 0] = await freePorts(2);
    const authority = 'https://127.0.0.1:9/directory';
    const tls = {
      certificates: 'acme',
      port: tlsPort,
      email: 'ops@example.test',
      authority,
      authorityRoot: null,
    } as const;
    await edgeAt(caddy.adminUrl, port, { tls }).listen();
    const policies = (await configOf(caddy, 'apps/tls/automation/policies')) as {
      subjects?: string[];
      issuers: object[];
    }[];
    // Domains of services may have any name, so their policy comes last.
    expect(policies.map((policy) => policy.subjects)).to.deep.equal([['*.test'], undefined]);
    const issuer = {
      module: 'acme',
      email: 'ops@example.test',
      ca: authority,
      challenges: { http: { alternate_port: port }, 'tls-alpn': { alternate_port: tlsPort } },
    };
    expect(policies.map((policy) => policy.issuers)).to.deep.equal([[issuer], [issuer]]);
  });
});
