import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { request } from 'node:http';
import { expect } from 'chai';
import { eventually } from '../../../support/processes.js';
import { ask, Bench, type EdgeKind, HOST, proxied } from '../support.js';

/** Tests that requests reach the replica, and answers the client, unchanged. */
export function passingOn(kind: EdgeKind): void {
  let bench: Bench;
  beforeEach(() => {
    bench = new Bench(kind);
  });
  afterEach(() => bench.close());

  it('passes a request on with headers that name the client, and drops those that the client claims', async () => {
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

  it('makes a request id if the client sends none or a malformed one', async () => {
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
      // Node.js would encode the headers like a string body, but not like a buffer.
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
    await eventually('the replica has the request', () => release !== null);
    let before = -1;
    let still = 0;
    await eventually('no more is taken', () => {
      still = taken === before ? still + 1 : 0;
      before = taken;
      return still === 30;
    });
    // Some chunks are in buffers of sockets. A proxy that buffers bodies would have read all.
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
    await eventually('the replica has the request', () => seen);
    outgoing.destroy();
    await eventually('the replica sees the end', () => gone);
  });

  it('answers an upload whose replica dies with 502, on a connection that is still there', async () => {
    const replica = await bench.replica((req) => req.once('data', () => req.destroy()));
    const edge = await bench.edge();
    await edge.apply(proxied([replica]));
    const answer = await ask(edge.port, '/', { method: 'POST', body: Buffer.alloc(300_000) });
    expect(answer.status).to.equal(502);
  });

  it('answers 504 when a replica sends no headers in time, and asks no other', async () => {
    let asked = 0;
    const replica = await bench.replica(() => {
      asked += 1;
    });
    const edge = await bench.edge({ timeouts: { headersMs: 3_500 } });
    await edge.apply(proxied([replica]));
    const answer = await ask(edge.port, '/');
    expect(answer.status).to.equal(504);
    expect(JSON.parse(answer.text)).to.deep.equal({
      error: { code: 'gateway_timeout', message: 'The service did not answer in time.' },
      requestId: answer.headers['x-request-id'],
    });
    expect(asked).to.equal(1);
  });

  it('takes an upload of 5 MB whole', async () => {
    const replica = await bench.replica((req, res) => {
      const hash = createHash('sha256');
      req.on('data', (chunk) => hash.update(chunk)).on('end', () => res.end(hash.digest('hex')));
    });
    const edge = await bench.edge();
    await edge.apply(proxied([replica]));
    const body = Buffer.alloc(5 * 1024 * 1024, 'ranvier');
    const answer = await ask(edge.port, '/', { method: 'POST', body });
    expect(answer.text).to.equal(createHash('sha256').update(body).digest('hex'));
  });

  it('closes the connection when a replica dies in the middle of an answer whose length is known', async () => {
    const replica = await bench.replica((_req, res) => {
      res.writeHead(200, { 'content-length': '1000' });
      res.write('half', () => res.destroy());
    });
    const edge = await bench.edge();
    await edge.apply(proxied([replica]));
    expect(await ask(edge.port, '/')).to.include({ status: 200, text: 'half', cut: true });
  });

  it('ignores an offer of HTTP/2 and answers, however long the answer is', async () => {
    const body = 'x'.repeat(3_000_000);
    const replica = await bench.replica((req, res) => res.end(req.headers.upgrade ?? body));
    const edge = await bench.edge();
    await edge.apply(proxied([replica]));
    const headers = { connection: 'Upgrade, HTTP2-Settings', upgrade: 'h2c', 'http2-settings': 'AAMAAABk' };
    const answer = await ask(edge.port, '/', { headers });
    expect(answer.status).to.equal(200);
    expect(answer.text.length).to.equal(body.length);
  });
}
