import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { request } from 'node:http';
import { expect } from 'chai';
import type { NodeEdge } from '../../../workers/edge/proxy/node-edge.js';
import { ask, Bench, HOST, proxied, tableWith, until } from './support.js';

describe('edge proxy', () => {
  let bench: Bench;
  beforeEach(() => {
    bench = new Bench();
  });
  afterEach(() => bench.close());

  it('passes a request on and tells the replica who asked, whatever the client claims', async () => {
    const replica = await bench.replica((req, res) => res.end(JSON.stringify({ url: req.url, headers: req.headers })));
    const edge = await bench.edge();
    await edge.apply(proxied([replica]));
    const answer = await ask(edge.port, '/a%20b?c=d', {
      headers: {
        'x-forwarded-for': '6.6.6.6',
        x_forwarded_for: '6.6.6.6',
        'x-forwarded-proto': 'https',
        'x-real-ip': '6.6.6.6',
        forwarded: 'for=6.6.6.6',
        'x-request-id': 'abc.1-2_3',
        te: 'trailers',
        connection: 'x-private',
        'x-private': '1',
        'x-public': '2',
      },
    });
    const seen = JSON.parse(answer.text);
    expect(answer.status).to.equal(200);
    expect(seen.url).to.equal('/a%20b?c=d');
    expect(seen.headers).to.include({
      host: HOST,
      'x-forwarded-for': '127.0.0.1',
      'x-forwarded-proto': 'http',
      'x-forwarded-host': HOST,
      'x-request-id': 'abc.1-2_3',
      'x-public': '2',
    });
    expect(seen.headers).not.to.have.any.keys('te', 'x-private', 'x-real-ip', 'forwarded', 'x_forwarded_for');
    expect(answer.headers['x-request-id']).to.equal('abc.1-2_3');
  });

  it('makes a request id where the client has none that is well-formed', async () => {
    const replica = await bench.replica((req, res) => res.end(req.headers['x-request-id']));
    const edge = await bench.edge();
    await edge.apply(proxied([replica]));
    for (const id of ['-starts-wrong', 'has space', 'x'.repeat(65)]) {
      const answer = await ask(edge.port, '/', { headers: { 'x-request-id': id } });
      expect(answer.text).to.match(/^[0-9a-f-]{36}$/);
      expect(answer.headers['x-request-id']).to.equal(answer.text);
    }
  });

  it('gives the answer back as it is, without what belongs to the connection', async () => {
    const replica = await bench.replica((_req, res) => {
      res.writeHead(418, 'Short and stout', [
        ['Set-Cookie', 'a=1'],
        ['Set-Cookie', 'b=2'],
        ['X-Latin', 'caf\xe9'],
        ['Connection', 'x-hop'],
        ['X-Hop', '1'],
        ['Keep-Alive', 'timeout=9'],
        ['X-Request-ID', 'forged'],
      ]);
      // As a buffer: with a string, Node would write the headers in its encoding.
      res.end(Buffer.from('tea'));
    });
    const edge = await bench.edge();
    await edge.apply(proxied([replica]));
    const answer = await ask(edge.port, '/');
    expect(answer.status).to.equal(418);
    expect(answer.text).to.equal('tea');
    expect(answer.headers['set-cookie']).to.deep.equal(['a=1', 'b=2']);
    expect(answer.headers['x-latin']).to.equal('caf\xe9');
    expect(answer.headers).not.to.have.property('x-hop');
    expect(answer.headers['x-request-id']).not.to.equal('forged');
  });

  it('gives back answers that have no body', async () => {
    const replica = await bench.replica((req, res) => {
      res.setHeader('etag', '"1"');
      if (req.method === 'HEAD') res.writeHead(200, { 'content-length': 1234 });
      else res.writeHead(Number(req.url?.slice(1)));
      res.end();
    });
    const edge = await bench.edge();
    await edge.apply(proxied([replica]));
    const head = await ask(edge.port, '/', { method: 'HEAD' });
    expect(head).to.include({ status: 200, text: '' });
    expect(head.headers['content-length']).to.equal('1234');
    for (const status of [204, 304]) {
      const answer = await ask(edge.port, `/${status}`);
      expect(answer).to.include({ status, text: '' });
      expect(answer.headers.etag).to.equal('"1"');
    }
  });

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

  it('holds the client back while the replica does not read', async () => {
    let release: (() => void) | null = null;
    const replica = await bench.replica((req, res) => {
      release = () => req.resume().on('end', () => res.end('read'));
    });
    const edge = await bench.edge();
    await edge.apply(proxied([replica]));
    const outgoing = request({ port: edge.port, method: 'POST', agent: false, headers: { host: HOST } });
    const chunk = Buffer.alloc(1024 * 1024);
    let taken = 0;
    for (let i = 0; i < 64; i++) outgoing.write(chunk, () => (taken += 1));
    await until('the replica has the request', () => release !== null);
    let before = -1;
    let still = 0;
    await until('no more is taken', () => {
      still = taken === before ? still + 1 : 0;
      before = taken;
      return still === 30;
    });
    // Some is in the sockets' buffers; a proxy that gathers the body would have taken it all.
    expect(taken).to.be.lessThan(40);
    (release as (() => void) | null)?.();
    outgoing.end();
    const [response] = await once(outgoing, 'response');
    response.resume();
    expect(response.statusCode).to.equal(200);
  });

  it('answers Expect: 100-continue itself', async () => {
    const replica = await bench.replica((req, res) => {
      res.setHeader('x-expect', req.headers.expect ?? 'none');
      req.pipe(res);
    });
    const edge = await bench.edge();
    await edge.apply(proxied([replica]));
    const outgoing = request({
      port: edge.port,
      method: 'PUT',
      headers: { host: HOST, expect: '100-continue', 'content-length': 4 },
    });
    outgoing.flushHeaders();
    await once(outgoing, 'continue');
    outgoing.end('body');
    const [response] = await once(outgoing, 'response');
    expect(response.headers['x-expect']).to.equal('none');
    expect((await response.toArray()).join('')).to.equal('body');
  });

  it('delivers server-sent events one by one', async () => {
    let next: (text: string) => void = () => undefined;
    const replica = await bench.replica((_req, res) => {
      res.writeHead(200, { 'content-type': 'text/event-stream' });
      res.flushHeaders();
      next = (text) => res.write(text);
    });
    const edge = await bench.edge();
    await edge.apply(proxied([replica]));
    const outgoing = request({ port: edge.port, headers: { host: HOST } }).end();
    const [response] = await once(outgoing, 'response');
    for (const text of ['data: 1\n\n', 'data: 2\n\n']) {
      next(text);
      const [chunk] = await once(response, 'data');
      expect(chunk.toString()).to.equal(text);
    }
    outgoing.destroy();
  });

  it('ends the request to the replica when the client goes away', async () => {
    let gone = false;
    let seen = false;
    const replica = await bench.replica((_req, res) => {
      seen = true;
      res.on('close', () => {
        gone = true;
      });
    });
    const edge = await bench.edge();
    await edge.apply(proxied([replica]));
    const outgoing = request({ port: edge.port, headers: { host: HOST } }).end();
    outgoing.on('error', () => undefined);
    await until('the replica has the request', () => seen);
    outgoing.destroy();
    await until('the replica sees the end', () => gone);
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

  it('answers an upload whose replica dies with 502, on a connection that is still there', async () => {
    const replica = await bench.replica((req) => req.once('data', () => req.destroy()));
    const edge = await bench.edge();
    await edge.apply(proxied([replica]));
    const answer = await ask(edge.port, '/', { method: 'POST', body: Buffer.alloc(300_000) });
    expect(answer.status).to.equal(502);
  });

  it('answers an upload that the replica refuses before its end', async () => {
    const replica = await bench.replica((_req, res) => res.writeHead(413).end('too much'));
    const edge = await bench.edge();
    await edge.apply(proxied([replica]));
    const answer = await ask(edge.port, '/', { method: 'POST', body: Buffer.alloc(3_000_000) });
    expect(answer).to.include({ status: 413, text: 'too much' });
  });

  it('answers 504 when a replica sends no headers in time', async () => {
    let asked = 0;
    const replica = await bench.replica(() => {
      asked += 1;
    });
    const edge = await bench.edge({ timeouts: { headersMs: 100 } });
    await edge.apply(proxied([replica]));
    const answer = await ask(edge.port, '/');
    expect(answer.status).to.equal(504);
    expect(JSON.parse(answer.text)).to.deep.equal({
      error: { code: 'gateway_timeout', message: 'The service did not answer in time.' },
      requestId: answer.headers['x-request-id'],
    });
    expect(asked).to.equal(1);
  });
});

describe('edge proxy, several replicas', () => {
  let bench: Bench;
  let edge: NodeEdge;
  beforeEach(() => {
    bench = new Bench();
  });
  afterEach(() => bench.close());

  it('spreads requests over the replicas', async () => {
    const held: (() => void)[] = [];
    const counts = [0, 0];
    const replicas = await Promise.all(
      [0, 1].map((i) =>
        bench.replica((_req, res) => {
          counts[i] = (counts[i] ?? 0) + 1;
          held.push(() => res.end());
        }),
      ),
    );
    edge = await bench.edge();
    await edge.apply(proxied(replicas));
    const answers = Array.from({ length: 10 }, () => ask(edge.port, '/'));
    await until('all requests are under way', () => held.length === 10);
    for (const release of held) release();
    await Promise.all(answers);
    expect(counts).to.deep.equal([5, 5]);
  });

  it('tries another replica where one refuses the connection, for a POST with a body too', async () => {
    const dead = await bench.deadReplica();
    const replica = await bench.replica((req, res) => req.pipe(res));
    edge = await bench.edge();
    for (let i = 0; i < 20; i++) {
      // A new table has new upstreams, so that the dead one is not avoided yet.
      await edge.apply(proxied([{ ...dead, id: `dead-${i}` }, replica]));
      const answer = await ask(edge.port, '/', { method: 'POST', body: 'once' });
      expect(answer).to.include({ status: 200, text: 'once' });
    }
  });

  it('does not send a POST again that a replica may have seen', async () => {
    let asked = 0;
    const replicas = await Promise.all(
      [0, 1, 2].map(() =>
        bench.replica((req) => {
          asked += 1;
          req.socket.destroy();
        }),
      ),
    );
    edge = await bench.edge();
    await edge.apply(proxied(replicas));
    for (const body of [undefined, 'body']) {
      asked = 0;
      const answer = await ask(edge.port, '/', { method: 'POST', ...(body === undefined ? {} : { body }) });
      expect(answer.status).to.equal(502);
      expect(asked).to.equal(1);
    }
  });

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
    await until('the route is looked up', () => asked > 0);
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

  it('answers 503 with Retry-After where there is no replica, no release, or the service is suspended', async () => {
    edge = await bench.edge();
    for (const reason of ['no_ready_replica', 'not_deployed', 'suspended'] as const) {
      await edge.apply(tableWith({ target: { type: 'unavailable', reason } }));
      const answer = await ask(edge.port, '/');
      expect(answer.status).to.equal(503);
      expect(Number(answer.headers['retry-after'])).to.be.at.least(1);
    }
  });
});
