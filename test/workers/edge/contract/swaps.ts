import { once } from 'node:events';
import { request } from 'node:http';
import { expect } from 'chai';
import { Pool } from 'undici';
import { WebSocket, WebSocketServer } from 'ws';
import { eventually } from '../../../support/processes.js';
import { ask, Bench, type EdgeKind, HOST, proxied, type TestReplica } from '../support.js';

/** Tests that the route table is replaced several times under load. */
export function swaps(kind: EdgeKind): void {
  let bench: Bench;
  beforeEach(() => {
    bench = new Bench(kind);
  });
  afterEach(() => bench.close());

  it(`fails no request over ${kind.swaps} swaps under load`, async () => {
    const replicas = await Promise.all([1, 2, 3, 4].map(() => bench.replica((_req, res) => res.end('ok'))));
    const edge = await bench.edge();
    await edge.apply(proxied(replicas.slice(0, 2)));
    const clients = new Pool(`http://127.0.0.1:${edge.port}`, { connections: 16 });
    let running = true;
    let answered = 0;
    const failures: string[] = [];
    const load = Array.from({ length: 16 }, async (_, i) => {
      while (running) {
        const post = i % 2 === 0 ? { method: 'POST', body: 'x'.repeat(1000) } : { method: 'GET' };
        try {
          const response = await clients.request({ path: '/', headers: { host: HOST }, ...post });
          const text = await response.body.text();
          if (response.statusCode !== 200 || text !== 'ok') failures.push(`${response.statusCode} ${text}`);
        } catch (error) {
          failures.push(String(error));
        }
        answered += 1;
      }
    });
    for (let swap = 0; swap < kind.swaps; swap++) {
      const before = answered;
      const pair = swap % 2 === 0 ? replicas.slice(2) : replicas.slice(0, 2);
      await edge.apply(proxied(pair.map((replica) => ({ ...replica, id: `${replica.id}-${swap}` }))));
      await eventually('requests went by the new table', () => answered > before + 4 || failures.length > 0);
    }
    running = false;
    await Promise.all(load);
    await clients.close();
    expect(failures).to.deep.equal([]);
    expect(answered).to.be.greaterThan(800);
  });

  it('sends nothing to an old replica once the table is applied, and has waited for what it had', async () => {
    let finish: (() => void) | null = null;
    let oldAsked = 0;
    const old = await bench.replica((req, res) => {
      oldAsked += 1;
      if (req.url === '/slow') finish = () => res.end('old');
      else res.end('old');
    });
    const fresh = await bench.replica((_req, res) => res.end('new'));
    const edge = await bench.edge();
    await edge.apply(proxied([old]));
    const slow = ask(edge.port, '/slow');
    await eventually('the old replica has a request', () => finish !== null);
    let applied = false;
    const applying = edge.apply(proxied([fresh])).then(() => {
      applied = true;
    });
    await eventually('requests go to the new one', async () => (await ask(edge.port, '/')).text === 'new');
    // Longer than the edge needs to switch without requests in progress.
    for (let i = 0; i < 100; i++) {
      expect((await ask(edge.port, '/')).text).to.equal('new');
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
    expect(applied).to.equal(false);
    (finish as (() => void) | null)?.();
    expect((await slow).text).to.equal('old');
    await applying;
    const before = oldAsked;
    for (let i = 0; i < 20; i++) expect((await ask(edge.port, '/')).text).to.equal('new');
    expect(oldAsked).to.equal(before);
  });

  it('does not wait for event streams, which go on', async () => {
    let next: (text: string) => void = () => undefined;
    const old = await bench.replica((_req, res) => {
      res.writeHead(200, { 'content-type': 'text/event-stream' });
      res.flushHeaders();
      next = (text) => res.write(text);
    });
    const edge = await bench.edge({ timeouts: { drainMs: 3_600_000 } });
    await edge.apply(proxied([old]));
    const headers = { host: HOST, accept: 'text/event-stream' };
    const outgoing = request({ port: edge.port, headers }).end();
    const [response] = await once(outgoing, 'response');
    await edge.apply(proxied([]));
    next('data: still\n\n');
    const [chunk] = await once(response, 'data');
    expect(chunk.toString()).to.equal('data: still\n\n');
    outgoing.destroy();
  });

  describe('with WebSockets', () => {
    async function echo(): Promise<{ replica: TestReplica; server: WebSocketServer }> {
      const replica = await bench.replica((_req, res) => res.writeHead(426).end('websockets only'));
      const server = new WebSocketServer({ server: replica.server });
      server.on('connection', (socket, req) => {
        socket.send(JSON.stringify(req.headers));
        socket.on('message', (data) => socket.send(data.toString()));
      });
      return { replica, server };
    }

    it(`joins the sockets, and they survive ${kind.swaps} swaps`, async () => {
      const { replica } = await echo();
      const other = await bench.replica((_req, res) => res.end());
      const edge = await bench.edge();
      await edge.apply(proxied([replica]));
      const socket = new WebSocket(`ws://127.0.0.1:${edge.port}/chat`, {
        headers: { host: HOST, 'x-forwarded-for': '6.6.6.6', 'x-request-id': 'ws-1' },
      });
      const [hello] = await once(socket, 'message');
      expect(JSON.parse(hello.toString())).to.include({ 'x-forwarded-for': '127.0.0.1', 'x-request-id': 'ws-1' });
      for (let i = 0; i < kind.swaps; i++) await edge.apply(proxied([{ ...other, id: `other-${i}` }]));
      socket.send('still there?');
      const [reply] = await once(socket, 'message');
      expect(reply.toString()).to.equal('still there?');
      socket.close();
      await once(socket, 'close');
    });

    it('closes the client when the replica ends', async () => {
      const { replica, server } = await echo();
      const edge = await bench.edge();
      await edge.apply(proxied([replica]));
      const socket = new WebSocket(`ws://127.0.0.1:${edge.port}/`, { headers: { host: HOST } });
      await once(socket, 'message');
      for (const client of server.clients) client.terminate();
      const [code] = await once(socket, 'close');
      expect(code, 'cut, without a close frame').to.equal(1006);
    });

    it('gives back the answer of a replica that does not agree, and errors as pages', async () => {
      const plain = await bench.replica((_req, res) => {
        res.writeHead(403, { 'x-why': 'because' });
        res.end('no sockets here');
      });
      const edge = await bench.edge();
      const headers = {
        connection: 'Upgrade',
        upgrade: 'websocket',
        'sec-websocket-version': '13',
        'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==',
      };
      await edge.apply(proxied([plain]));
      const answer = await ask(edge.port, '/', { headers });
      expect(answer).to.include({ status: 403, text: 'no sockets here' });
      expect(answer.headers['x-why']).to.equal('because');
      expect((await ask(edge.port, '/', { headers, host: 'nobody.test' })).status).to.equal(404);
      await edge.apply(proxied([await bench.deadReplica()]));
      expect((await ask(edge.port, '/', { headers })).status).to.equal(502);
      await edge.apply(proxied([plain], { allow: ['10.0.0.0/8'] }));
      expect((await ask(edge.port, '/', { headers })).status).to.equal(403);
    });
  });
}
