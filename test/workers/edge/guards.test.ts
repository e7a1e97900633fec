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
      'a folded encoding': 'Transfer-Encoding:\r\n chunked\r\n',
      'a length with a sign': 'Content-Length: +3\r\n',
      'a list of lengths': 'Content-Length: 3, 3\r\n',
      'an empty element before the encoding': 'Transfer-Encoding: , chunked\r\n',
      'two encodings': 'Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n',
      'a line feed alone': 'X-A: 1\nContent-Length: 3\r\n',
      'a carriage return alone': 'X-A: 1\rContent-Length: 3\r\n',
      'NUL in a value': 'X-A: a\0b\r\n',
      'a chunk whose extension has a line': 'Transfer-Encoding: chunked\r\n\r\n2;\nxx\r\n10\r\n',
      'a length in the trailer': 'Transfer-Encoding: chunked\r\n\r\n0\r\nContent-Length: 5\r\n',
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
          `POST / HTTP/1.1\r\nHost: ${HOST}\r\n${header}\r\n0\r\n\r\nGET / HTTP/1.1\r\nHost: ${HOST}\r\n\r\n`,
        );
        // The edge sends one answer, and takes nothing after the first request for a second one.
        expect(text.split('HTTP/1.1 ')).to.have.length(2);
        expect(text).to.match(/^HTTP\/1\.1 400 /);
        expect(text).to.match(/\r\nconnection: close\r\n/i);
        expect(asked).to.equal(0);
      });
    }

    it('passes on no second spelling of what frames or addresses a request', async () => {
      let seen: string[] = [];
      const replica = await bench.replica((req, res) => {
        seen = req.rawHeaders;
        res.end();
      });
      const edge = await bench.edge();
      await edge.apply(proxied([replica]));
      const headers = { Content_Length: '5', transfer_encoding: 'chunked', X_Own: 'kept' };
      expect((await ask(edge.port, '/', { method: 'POST', headers })).status).to.equal(200);
      expect(seen.filter((name) => name.includes('_'))).to.deep.equal(['X_Own']);
    });

    it('writes nothing into an answer that has begun', async () => {
      const replica = await bench.replica((_req, res) => res.write('begun'));
      const edge = await bench.edge();
      await edge.apply(proxied([replica]));
      const socket = connect(edge.port, '127.0.0.1');
      let text = '';
      socket.on('error', () => undefined).on('data', (chunk) => (text += chunk));
      socket.write(`GET / HTTP/1.1\r\nHost: ${HOST}\r\n\r\n`);
      await eventually('the answer has begun', () => text.includes('begun'));
      socket.write('no HTTP\r\n\r\n');
      await once(socket, 'close');
      expect(text.split('HTTP/1.1').length).to.equal(2);
    });

    it('takes no part of a body for a request when the answer came before its end', async () => {
      const paths: (string | undefined)[] = [];
      const replica = await bench.replica((req, res) => {
        paths.push(req.url);
        res.end('early');
      });
      const edge = await bench.edge();
      await edge.apply(proxied([replica]));
      const within = `GET /within HTTP/1.1\r\nHost: ${HOST}\r\n\r\n`;
      const head = `POST /first HTTP/1.1\r\nHost: ${HOST}\r\nContent-Length: ${within.length + 4}\r\n\r\n`;
      const socket = connect(edge.port, '127.0.0.1');
      let text = '';
      socket.on('error', () => undefined).on('data', (chunk) => (text += chunk));
      socket.write(`${head}half`);
      await eventually('the answer came', () => text.endsWith('early'));
      const others = Array.from({ length: 5 }, () => ask(edge.port, '/other'));
      socket.write(`${within}GET /next HTTP/1.1\r\nHost: ${HOST}\r\nConnection: close\r\n\r\n`);
      await once(socket, 'close');
      for (const other of others) expect((await other).text).to.equal('early');
      expect(paths.filter((path) => path !== '/other')).to.deep.equal(['/first', '/next']);
    });

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

  it('answers a request whose connection was accepted just before it closes', async () => {
    const edge = await bench.edge();
    await edge.apply(proxied([await bench.replica((_req, res) => res.end('answered'))]));
    const early = connect(edge.port, '127.0.0.1');
    await once(early, 'connect');
    await eventually('it is accepted', () => edge.figures.connections === 1);
    const closed = edge.close();
    early.write(`GET / HTTP/1.1\r\nHost: ${HOST}\r\nConnection: close\r\n\r\n`);
    const [bytes] = await once(early, 'data');
    expect(String(bytes)).to.match(/^HTTP\/1\.1 200 /);
    await closed;
  });
});
