import { expect } from 'chai';
import { HEALTH_PATH } from '../../../../workers/edge/proxy/answer-request.js';
import { ask, Bench, type EdgeKind, HOST, proxied, sendRaw, tableWith } from '../support.js';

/** Tests which requests are admitted, and which pages replace a service. */
export function guards(kind: EdgeKind): void {
  let bench: Bench;
  beforeEach(() => {
    bench = new Bench(kind);
  });
  afterEach(() => bench.close());

  it('answers unknown hosts with 404, apart from its own health check', async () => {
    const edge = await bench.edge();
    await edge.apply(tableWith({}));
    const answer = await ask(edge.port, '/', { host: 'nobody.test' });
    expect(answer.status).to.equal(404);
    expect(JSON.parse(answer.text).error.code).to.equal('unknown_host');
    for (const path of ['//', '/?a=b', '/.ranvier/host?domain=nobody.test']) {
      expect((await ask(edge.port, path, { host: 'nobody.test' })).status, path).to.equal(404);
    }
    const health = await ask(edge.port, HEALTH_PATH, { host: 'localhost' });
    expect(health.status).to.equal(200);
    expect(JSON.parse(health.text)).to.deep.equal({ status: 'ok' });
  });

  it('finds a host in any case, with any port, and with a final dot', async () => {
    const replica = await bench.replica((_req, res) => res.end('ok'));
    const edge = await bench.edge();
    await edge.apply(proxied([replica]));
    for (const host of ['APP.test', `${HOST}:8080`, `${HOST}.`]) {
      expect((await ask(edge.port, '/', { host })).status).to.equal(200);
    }
  });

  it('answers on IPv6 if the machine has it, and shows an IPv4 client by its IPv4 address', async () => {
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

  it('refuses headers without end', async () => {
    const edge = await bench.edge();
    await edge.apply(tableWith({}));
    const large = `X-Large: ${'x'.repeat(40_000)}\r\n`;
    const text = await sendRaw(edge.port, `GET / HTTP/1.1\r\nHost: ${HOST}\r\nConnection: close\r\n${large}\r\n`);
    expect(text).to.match(/^HTTP\/1\.1 431 /);
  });
}
