import { once } from 'node:events';
import { connect } from 'node:net';
import { expect } from 'chai';
import { eventually } from '../../support/processes.js';
import { ask, Bench, HOST, proxied, sendRaw, tableWith } from './support.js';

describe('edge guards', () => {
  let bench: Bench;
  beforeEach(() => {
    bench = new Bench();
  });
  afterEach(() => bench.close());

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
    await eventually('the request is under way', () => asked);
    const closed = edge.close();
    const late = connect(port, '127.0.0.1');
    const [error] = await once(late, 'error');
    expect(error.code).to.equal('ECONNREFUSED');
    finish();
    expect(await answer).to.include({ status: 200, text: 'finished', cut: false });
    await closed;
  });
});
