import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { request } from 'node:http';
import { connect } from 'node:net';
import { expect } from 'chai';
import { eventually } from '../../support/processes.js';
import { ask, Bench, HOST, proxied, type TestEdge } from './support.js';

describe('edge proxy', () => {
  let bench: Bench;
  beforeEach(() => {
    bench = new Bench();
  });
  afterEach(() => bench.close());

  it('streams an upload of 5 MB both ways', async () => {
    const replica = await bench.replica((req, res) => req.pipe(res));
    const edge = await bench.edge();
    await edge.apply(proxied([replica]));
    const body = Buffer.alloc(5 * 1024 * 1024, 'ranvier');
    const answer = await ask(edge.port, '/', { method: 'POST', body });
    expect(createHash('sha256').update(answer.text).digest('hex')).to.equal(
      createHash('sha256').update(body).digest('hex'),
    );
  });

  it('closes the connection when a replica dies in the middle of its answer', async () => {
    for (const headers of [{ 'content-length': '1000' }, {}]) {
      const replica = await bench.replica((_req, res) => {
        res.writeHead(200, headers);
        res.write('half', () => res.destroy());
      });
      const edge = await bench.edge();
      await edge.apply(proxied([replica]));
      const answer = await ask(edge.port, '/');
      expect(answer).to.include({ status: 200, text: 'half', cut: true });
    }
  });

  it('opens a WebSocket on another connection if the replica has closed the kept one', async () => {
    // A replica may close a connection without having announced it, so the edge can still use the connection.
    const replica = await bench.replica((_req, res) => res.end('fine'));
    let asked = 0;
    replica.server.on('upgrade', (_req, socket) => {
      asked += 1;
      if (asked === 1) socket.destroy();
      else socket.end('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n');
    });
    const edge = await bench.edge();
    await edge.apply(proxied([replica]));
    const headers = { host: HOST, connection: 'Upgrade', upgrade: 'websocket' };
    const outgoing = request({ port: edge.port, headers }).end();
    const [answer] = await once(outgoing, 'upgrade');
    expect(answer.statusCode).to.equal(101);
    expect(asked).to.equal(2);
  });

  it('does not repeat a request that was not answered in time', async () => {
    let asked = 0;
    const replica = await bench.replica(() => {
      asked += 1;
    });
    const edge = await bench.edge({ timeouts: { headersMs: 100 } });
    await edge.apply(proxied([replica]));
    expect((await ask(edge.port, '/')).status).to.equal(504);
    expect(asked).to.equal(1);
  });

  it('answers an upload that the replica refuses before its end', async () => {
    const replica = await bench.replica((_req, res) => res.writeHead(413).end('too much'));
    const edge = await bench.edge();
    await edge.apply(proxied([replica]));
    const answer = await ask(edge.port, '/', { method: 'POST', body: Buffer.alloc(3_000_000) });
    expect(answer).to.include({ status: 413, text: 'too much' });
  });

  it('takes the rest of an upload after its answer, also if it closes the connection then', async () => {
    const replica = await bench.replica((_req, res) => res.writeHead(413).end('too much'));
    const edge = await bench.edge();
    await edge.apply(proxied([replica]));
    const rest = Buffer.alloc(10_000_000);
    for (const [host, code] of Object.entries({ [HOST]: '413', 'nobody.test': '404' })) {
      const socket = connect({ port: edge.port, host: '127.0.0.1', allowHalfOpen: true });
      const errors: Error[] = [];
      socket.on('error', (error) => errors.push(error));
      socket.write(
        `POST / HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\nContent-Length: ${rest.length + 1}\r\n\r\nx`,
      );
      let answer = '';
      socket.on('data', (chunk) => (answer += chunk.toString()));
      await once(socket, 'end');
      socket.end(rest);
      await once(socket, 'close');
      expect(answer, host).to.match(new RegExp(`^HTTP/1.1 ${code} `));
      expect(errors, host).to.deep.equal([]);
    }
  });
});

describe('edge proxy, several replicas', () => {
  let bench: Bench;
  let edge: TestEdge;
  beforeEach(() => {
    bench = new Bench();
  });
  afterEach(() => bench.close());

  it('repeats a GET on another replica, and not for ever', async () => {
    let asked = 0;
    const resetting = await bench.replica((req) => {
      asked += 1;
      req.socket.destroy();
    });
    edge = await bench.edge();
    await edge.apply(proxied([resetting]));
    expect((await ask(edge.port, '/')).status).to.equal(502);
    expect(asked).to.equal(3);

    const replica = await bench.replica((_req, res) => res.end('fine'));
    await edge.apply(proxied([resetting, replica]));
    for (let i = 0; i < 10; i++) expect((await ask(edge.port, '/')).text).to.equal('fine');
  });

  it('looks the route up once when all replicas refuse, for all requests of the moment', async () => {
    const dead = await bench.deadReplica();
    const replica = await bench.replica((_req, res) => res.end('new release'));
    let asked = 0;
    let release: () => void = () => undefined;
    const looked = new Promise<void>((resolve) => {
      release = resolve;
    });
    edge = await bench.edge({
      refresh: async (serviceId) => {
        expect(serviceId).to.equal('service');
        asked += 1;
        await looked;
        await edge.apply(proxied([replica]));
      },
    });
    await edge.apply(proxied([dead]));
    const answer = ask(edge.port, '/', { method: 'POST', body: 'x' });
    await eventually('the route is looked up', () => asked > 0);
    release();
    expect(await answer).to.include({ status: 200, text: 'new release' });
    expect(asked).to.equal(1);
  });

  it('answers 502 when the fresh route is no better, or does not come', async () => {
    const dead = await bench.deadReplica();
    edge = await bench.edge({ refresh: () => new Promise(() => undefined), timeouts: { refreshMs: 50 } });
    await edge.apply(proxied([dead]));
    const answer = await ask(edge.port, '/', { headers: { accept: 'text/html,*/*' } });
    expect(answer.status).to.equal(502);
    expect(answer.headers['content-type']).to.equal('text/html; charset=utf-8');
    expect(answer.text).to.include(String(answer.headers['x-request-id']));
  });
});
