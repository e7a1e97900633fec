import { once } from 'node:events';
import { request as requestTls } from 'node:https';
import { connect, type TLSSocket } from 'node:tls';
import { expect } from 'chai';
import { pino } from 'pino';
import { WebSocket, WebSocketServer } from 'ws';
import { CaddyEdge, type CaddyEdgeOptions } from '../../../workers/edge/caddy/caddy-edge.js';
import { describeCaddy, startCaddy, type TestCaddy } from '../../support/caddy.js';
import { eventually, freePorts } from '../../support/processes.js';
import { ask, Bench, HOST, proxied, until } from './support.js';

describeCaddy('the edge and its Caddy', () => {
  const bench = new Bench();
  let caddies: TestCaddy[] = [];
  let edges: CaddyEdge[] = [];
  let lines: string[] = [];
  afterEach(async () => {
    for (const edge of edges) await edge.close();
    for (const caddy of caddies) await caddy.stop();
    await bench.close();
    [edges, caddies, lines] = [[], [], []];
  });

  async function caddyWith(apps: Record<string, unknown> = {}): Promise<TestCaddy> {
    const caddy = await startCaddy(apps);
    caddies.push(caddy);
    return caddy;
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
    return (await fetch(`${caddy.adminUrl}/config/${path}`)).json();
  }

  it('says which variable to look at where no Caddy answers', async () => {
    const edge = edgeAt(`http://127.0.0.1:${await freePort()}`, await freePort());
    const error = await edge.listen().catch((e: Error) => e);
    expect(error).to.be.instanceOf(Error).with.property('message').that.includes('CADDY_ADMIN_URL');
  });

  it('finds the admin API on a socket, which hosted applications need not see', async () => {
    const caddy = await startCaddy({}, 'socket');
    caddies.push(caddy);
    const port = await freePort();
    const edge = edgeAt(caddy.adminUrl, port);
    await edge.listen();
    const [old, fresh] = [
      await bench.replica((_req, res) => res.end('old')),
      await bench.replica((_req, res) => res.end()),
    ];
    await edge.apply(proxied([old]));
    expect((await ask(port, '/')).text).to.equal('old');
    await edge.apply(proxied([fresh]));
    expect((await ask(port, '/')).status).to.equal(200);
  });

  it('says which port is taken where Caddy cannot listen', async () => {
    const caddy = await caddyWith();
    const replica = await bench.replica((_req, res) => res.end());
    const error = await edgeAt(caddy.adminUrl, replica.port)
      .listen()
      .catch((e: Error) => e);
    expect(error).to.be.instanceOf(Error).with.property('message').that.includes(String(replica.port));
  });

  it("leaves the operator's configuration as it is, and loads its own once, whatever is deployed", async () => {
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

  it('fills a Caddy again that restarted empty, and says so', async () => {
    const caddy = await caddyWith();
    const port = await freePort();
    const edge = edgeAt(caddy.adminUrl, port);
    await edge.listen();
    const replica = await bench.replica((_req, res) => res.end('ok'));
    await edge.apply(proxied([replica]));
    expect((await ask(port, '/')).text).to.equal('ok');
    await caddy.kill();
    await until('the loss is noticed', () => lines.some((line) => line.includes('CADDY_ADMIN_URL')));
    await caddy.restart();
    await until('it serves again', async () => (await ask(port, '/').catch(() => null))?.text === 'ok');
    await until('it is said', () => lines.some((line) => line.includes('"repairs":1')));
    expect(lines.filter((line) => line.includes('CADDY_ADMIN_URL'))).to.have.length(1);
  });

  it('says so where two edges use one Caddy', async () => {
    const caddy = await caddyWith();
    const port = await freePort();
    for (const edge of [edgeAt(caddy.adminUrl, port), edgeAt(caddy.adminUrl, port)]) await edge.listen();
    await eventually('it is said', () => lines.some((line) => line.includes('another edge process')));
  });

  it('keeps requests and WebSockets alive while its process is replaced', async () => {
    const caddy = await caddyWith();
    const port = await freePort();
    const replica = await bench.replica((req, res) => req.on('data', () => undefined).on('end', () => res.end('ok')));
    new WebSocketServer({ server: replica.server }).on('connection', (socket) => {
      socket.on('message', (data) => socket.send(data.toString()));
    });
    const first = edgeAt(caddy.adminUrl, port);
    await first.listen();
    await first.apply(proxied([replica]));
    const socket = new WebSocket(`ws://127.0.0.1:${port}/`, { headers: { host: HOST } });
    await once(socket, 'open');
    let running = true;
    const answers: string[] = [];
    const load = Array.from({ length: 4 }, async () => {
      while (running) {
        const answer = await ask(port, '/', { method: 'POST', body: 'x' });
        answers.push(`${answer.status} ${answer.text}`);
      }
    });
    await until('there is load', () => answers.length > 20);
    await first.close();
    const second = edgeAt(caddy.adminUrl, port);
    const applied = second.apply(proxied([replica]));
    await second.listen();
    await applied;
    const before = answers.length;
    await until('there was load', () => answers.length > before + 20);
    running = false;
    await Promise.all(load);
    expect(answers.filter((answer) => answer !== '200 ok')).to.deep.equal([]);
    socket.send('still there?');
    const [reply] = await once(socket, 'message');
    expect(reply.toString()).to.equal('still there?');
    socket.close();
  });

  describe('over HTTPS, with an authority of its own', () => {
    let port: number;
    let tlsPort: number;
    let caddy: TestCaddy;
    beforeEach(async () => {
      [port = 0, tlsPort = 0] = await freePorts(2);
      caddy = await caddyWith();
      const tls = { certificates: 'internal', port: tlsPort, email: null, authority: null } as const;
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
      await until('it leads to HTTPS again', async () => (await ask(port, '/').catch(() => null))?.status === 308);
    });
  });

  it("does not take the place of the operator's own question about certificates", async () => {
    const ask = 'http://127.0.0.1:9/allowed';
    const caddy = await caddyWith({ tls: { automation: { on_demand: { ask } } } });
    const [port = 0, tlsPort = 0] = await freePorts(2);
    const tls = { certificates: 'internal', port: tlsPort, email: null, authority: null } as const;
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
    const tls = { certificates: 'acme', port: tlsPort, email: 'ops@example.test', authority } as const;
    await edgeAt(caddy.adminUrl, port, { tls }).listen();
    const [policy] = (await configOf(caddy, 'apps/tls/automation/policies')) as {
      subjects: string[];
      issuers: object[];
    }[];
    expect(policy?.subjects).to.deep.equal(['*.test']);
    expect(policy?.issuers).to.deep.equal([{ module: 'acme', email: 'ops@example.test', ca: authority }]);
  });
});
