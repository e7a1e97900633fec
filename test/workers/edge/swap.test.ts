import { once } from 'node:events';
import { request } from 'node:http';
import { expect } from 'chai';
import { eventually } from '../../support/processes.js';
import { ask, Bench, HOST, proxied } from './support.js';

describe('edge swaps', () => {
  let bench: Bench;
  beforeEach(() => {
    bench = new Bench();
  });
  afterEach(() => bench.close());

  it('sends nothing to an old replica once the table is applied, and has waited for what it had', async () => {
    let finish: () => void = () => undefined;
    let oldAsked = 0;
    const old = await bench.replica((_req, res) => {
      oldAsked += 1;
      finish = () => res.end('old');
    });
    const fresh = await bench.replica((_req, res) => res.end('new'));
    const edge = await bench.edge();
    await edge.apply(proxied([old]));
    const slow = ask(edge.port, '/');
    await eventually('the old replica has a request', () => oldAsked === 1);
    let applied = false;
    const applying = edge.apply(proxied([fresh])).then(() => {
      applied = true;
    });
    for (let i = 0; i < 5; i++) expect((await ask(edge.port, '/')).text).to.equal('new');
    expect(applied).to.equal(false);
    finish();
    expect((await slow).text).to.equal('old');
    await applying;
    expect(oldAsked).to.equal(1);
  });

  it('recognises event streams by their answers, not by their requests', async () => {
    let next: (text: string) => void = () => undefined;
    const old = await bench.replica((_req, res) => {
      res.writeHead(200, { 'content-type': 'text/event-stream' });
      res.flushHeaders();
      next = (text) => res.write(text);
    });
    const edge = await bench.edge({ timeouts: { drainMs: 3_600_000 } });
    await edge.apply(proxied([old]));
    const outgoing = request({ port: edge.port, headers: { host: HOST } }).end();
    const [response] = await once(outgoing, 'response');
    await edge.apply(proxied([]));
    next('data: still\n\n');
    const [chunk] = await once(response, 'data');
    expect(chunk.toString()).to.equal('data: still\n\n');
    outgoing.destroy();
  });
});
