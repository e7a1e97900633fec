import { once } from 'node:events';
import { connect } from 'node:net';
import { expect } from 'chai';
import { compileAllowList, isAllowed } from '../../../workers/edge/proxy/allow-list.js';
import { HEALTH_PATH } from '../../../workers/edge/proxy/node-edge.js';
import { ask, Bench, HOST, proxied, sendRaw, tableWith, until } from './support.js';

describe('edge guards', () => {
  let bench: Bench;
  beforeEach(() => {
    bench = new Bench();
  });
  afterEach(() => bench.close());

  it('does not know other hosts, and tells its own health there', async () => {
    const edge = await bench.edge();
    await edge.apply(tableWith({}));
    const answer = await ask(edge.port, '/', { host: 'nobody.test' });
    expect(answer.status).to.equal(404);
    expect(JSON.parse(answer.text).error.code).to.equal('unknown_host');
    const health = await ask(edge.port, HEALTH_PATH, { host: 'localhost' });
    expect(health.status).to.equal(200);
    expect(JSON.parse(health.text)).to.include({ status: 'ok', routes: 1, upstreams: 0 });
  });

  it('finds a host whatever its case, port and final dot', async () => {
    const replica = await bench.replica((_req, res) => res.end('ok'));
    const edge = await bench.edge();
    await edge.apply(proxied([replica]));
    for (const host of ['APP.test', `${HOST}:8080`, `${HOST}.`]) {
      expect((await ask(edge.port, '/', { host })).status).to.equal(200);
    }
  });

  it('answers on IPv6 where the machine has it, and knows an IPv4 client as such', async () => {
    const replica = await bench.replica((req, res) => res.end(req.headers['x-forwarded-for']));
    const edge = await bench.edge();
    await edge.apply(proxied([replica], { allow: ['127.0.0.0/8'] }));
    expect(await ask(edge.port, '/')).to.include({ status: 200, text: '127.0.0.1' });
  });

  it('admits only the addresses of the allow list, and believes no header', async () => {
    const replica = await bench.replica((_req, res) => res.end('ok'));
    const edge = await bench.edge();
    await edge.apply(proxied([replica], { allow: ['10.0.0.0/8'], maintenance: '' }));
    const answer = await ask(edge.port, '/', { headers: { 'x-forwarded-for': '10.0.0.1' } });
    expect(answer.status).to.equal(403);
  });

  it('matches addresses and ranges of both families', () => {
    const list = compileAllowList(['10.1.2.3/8', '192.0.2.7', '2001:db8::/32']);
    for (const address of ['10.255.0.1', '192.0.2.7', '2001:db8::1']) expect(isAllowed(list, address)).to.equal(true);
    for (const address of ['11.0.0.1', '192.0.2.8', '2001:db9::1', '', 'x']) {
      expect(isAllowed(list, address)).to.equal(false);
    }
    expect(isAllowed(compileAllowList(['0.0.0.0/0']), '203.0.113.9')).to.equal(true);
    expect(isAllowed(compileAllowList([]), 'anything')).to.equal(true);
    expect(isAllowed(compileAllowList(['nonsense']), '127.0.0.1')).to.equal(false);
  });

  it('shows the maintenance page with 503 and Retry-After', async () => {
    const edge = await bench.edge();
    await edge.apply(tableWith({ maintenance: '<h1>Back at nine</h1>' }));
    const own = await ask(edge.port, '/');
    expect(own).to.include({ status: 503, text: '<h1>Back at nine</h1>' });
    expect(own.headers['content-type']).to.equal('text/html; charset=utf-8');
    expect(Number(own.headers['retry-after'])).to.be.at.least(1);
    await edge.apply(tableWith({ maintenance: '' }));
    const usual = await ask(edge.port, '/', { headers: { accept: 'text/html' } });
    expect(usual.status).to.equal(503);
    expect(usual.text).to.include('Under maintenance');
  });

  describe('against requests that can be read in two ways', () => {
    const smuggled: Record<string, string> = {
      'two lengths': 'Content-Length: 3\r\nContent-Length: 4\r\n',
      'length and encoding': 'Content-Length: 3\r\nTransfer-Encoding: chunked\r\n',
      'an unknown encoding': 'Transfer-Encoding: xchunked\r\n',
      'encodings in a row': 'Transfer-Encoding: gzip, chunked\r\n',
      'two hosts': 'Host: other.test\r\n',
      'a space before the colon': 'Content-Length : 3\r\n',
      'a folded header': 'X-A: 1\r\n b\r\n',
    };
    for (const [name, header] of Object.entries(smuggled)) {
      it(`refuses ${name}`, async () => {
        let asked = 0;
        const replica = await bench.replica((_req, res) => {
          asked += 1;
          res.end();
        });
        const edge = await bench.edge();
        await edge.apply(proxied([replica]));
        const text = await sendRaw(
          edge.port,
          `POST / HTTP/1.1\r\nHost: ${HOST}\r\nConnection: close\r\n${header}\r\n0\r\n\r\n`,
        );
        expect(text).to.match(/^HTTP\/1\.1 400 /);
        expect(asked).to.equal(0);
      });
    }

    it('refuses a target that is no path, and headers without end', async () => {
      const edge = await bench.edge();
      await edge.apply(tableWith({}));
      const head = `Host: ${HOST}\r\nConnection: close\r\n`;
      expect(await sendRaw(edge.port, `GET http://other.test/ HTTP/1.1\r\n${head}\r\n`)).to.match(/^HTTP\/1\.1 400 /);
      const large = `X-Large: ${'x'.repeat(40_000)}\r\n`;
      expect(await sendRaw(edge.port, `GET / HTTP/1.1\r\n${head}${large}\r\n`)).to.match(/^HTTP\/1\.1 431 /);
    });
  });

  it('gives up a client that does not finish its headers', async () => {
    const edge = await bench.edge({ timeouts: { clientHeadersMs: 100 } });
    const text = await sendRaw(edge.port, 'GET / HTTP/1.1\r\nHost: ');
    expect(text).to.match(/^HTTP\/1\.1 408 /);
  });

  it('finishes what is under way when it closes, and takes nothing new', async () => {
    let finish: () => void = () => undefined;
    let asked = false;
    const replica = await bench.replica((_req, res) => {
      asked = true;
      finish = () => res.end('finished');
    });
    const edge = await bench.edge();
    await edge.apply(proxied([replica]));
    const { port } = edge;
    const answer = ask(port, '/');
    await until('the request is under way', () => asked);
    const closed = edge.close();
    const late = connect(port, '127.0.0.1');
    const [error] = await once(late, 'error');
    expect(error.code).to.equal('ECONNREFUSED');
    finish();
    expect(await answer).to.include({ status: 200, text: 'finished', cut: false });
    await closed;
  });
});
