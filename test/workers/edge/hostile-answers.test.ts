import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { expect } from 'chai';
import fc from 'fast-check';
import { eventually } from '../../support/processes.js';
import { ask, Bench, HOST, proxied, type TestEdge } from './support.js';

const RUNS = 250;

/** A hostile application's answer: chunks, and the way in which the connection ends. */
interface Script {
  pieces: Buffer[];
  end: 'fin' | 'reset' | 'stay';
}

const bytes = (text: string) => Buffer.from(text, 'latin1');
const anyText = fc.uint8Array({ maxLength: 40 }).map((array) => Buffer.from(array).toString('latin1'));
const status = fc.oneof(
  fc.constantFrom('200', '204', '304', '100', '101', '103', '099', '000', '600', '999', '1000', '2', '', '+20', '2 0'),
  fc.integer({ min: 0, max: 1200 }).map(String),
);
const version = fc.constantFrom('HTTP/1.1', 'HTTP/1.0', 'HTTP/0.9', 'HTTP/2', 'HTTP/1.2', 'http/1.1', 'ICY', '');
const reason = fc.oneof(fc.constantFrom('OK', '', 'O\x01K', 'caf\xe9', 'x'.repeat(40_000)), anyText);
const length = fc.oneof(
  fc.constantFrom('0', '5', '5, 5', '-1', '0x5', '1e3', '', '99999999999999999999'),
  fc.nat(3000).map(String),
);
const header = fc.oneof(
  length.map((value) => `Content-Length: ${value}`),
  fc
    .constantFrom('chunked', 'gzip, chunked', 'chunked, chunked', 'identity', 'xchunked', '', '\x0bchunked')
    .map((value) => `Transfer-Encoding: ${value}`),
  fc.constantFrom('close', 'keep-alive', 'Upgrade', 'X-Request-ID, Set-Cookie', ',,,').map((v) => `Connection: ${v}`),
  fc.constantFrom('websocket', 'h2c', '', 'a\x01b').map((value) => `Upgrade: ${value}`),
  fc
    .constantFrom('text/html', 'text/event-stream', 'application/json; x=\xff', 'text/plain')
    .map((value) => `Content-Type: ${value}`),
  fc.constantFrom('gzip', 'br', 'identity', 'x').map((value) => `Content-Encoding: ${value}`),
  fc.constantFrom('Trailer: X-A', 'Keep-Alive: timeout=-1', 'Keep-Alive: timeout=99999999999', 'ETag: "a', 'Vary: *'),
  fc.constant(`X-Long: ${'x'.repeat(33_000)}`),
  fc.tuple(anyText, anyText).map(([name, value]) => `${name}: ${value}`),
  anyText,
);
const newline = fc.constantFrom('\r\n', '\r\n', '\r\n', '\n', '\r', '\r\n\r\n');
const body = fc.oneof(
  fc.constantFrom(
    '',
    'hello',
    '5\r\nhello\r\n0\r\n\r\n',
    '5\r\nhello\r\n0\r\nX-A: b\x01\r\n\r\n',
    '-1\r\n',
    'fffffffff\r\nx',
  ),
  fc.constant('1\r\nx\r\n'.repeat(2_000)),
  fc.constant('1;ext="\x01"\r\nx\r\n0\r\n\r\n'),
  fc.constant('x'.repeat(200_000)),
  fc.constant('HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n'.repeat(5)),
  anyText,
);
const interim = fc.constantFrom(
  '',
  '',
  'HTTP/1.1 100 Continue\r\n\r\n',
  'HTTP/1.1 103 Early\r\nLink: </x>\r\n\r\n',
  'HTTP/1.1 102 P\r\n\r\n'.repeat(100),
  'HTTP/1.1 101 S\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n',
);
const answer = fc
  .tuple(interim, version, status, reason, fc.array(header, { maxLength: 5 }), newline, body)
  .map(([before, v, s, r, headers, nl, rest]) => `${before}${v} ${s} ${r}${nl}${headers.join(nl)}${nl}${nl}${rest}`);
const script: fc.Arbitrary<Script> = fc.record({
  pieces: fc.tuple(fc.oneof({ weight: 5, arbitrary: answer }, { weight: 1, arbitrary: anyText }), fc.nat(200)).map(
    // In two chunks, so that the second one meets the parser in every state.
    ([text, at]) => [bytes(text.slice(0, at)), bytes(text.slice(at))].filter((piece) => piece.length > 0),
  ),
  end: fc.constantFrom('fin', 'reset', 'stay'),
});

function afterFirst(text: string, method: string): string {
  const [head = ''] = text.split('\r\n\r\n', 1);
  let rest = text.slice(head.length + 4);
  if (method === 'HEAD' || /^HTTP\/1\.1 (204|304)/.test(head)) return rest;
  const length = /\r\ncontent-length: (\d+)/i.exec(head)?.[1];
  if (length !== undefined) return rest.slice(Number(length));
  if (!/\r\ntransfer-encoding: chunked/i.test(head)) return '';
  for (let size = -1; size !== 0 && rest !== ''; ) {
    size = Number.parseInt(rest, 16);
    rest = rest.slice(rest.indexOf('\r\n') + 2 + size + 2);
  }
  return rest;
}

describe('The edge before hostile replicas', function () {
  this.timeout(240_000);
  let bench: Bench;
  let edge: TestEdge;
  let hostile: Server;
  let current: Script = { pieces: [], end: 'fin' };
  const uncaught: unknown[] = [];
  const sockets = new Set<Socket>();

  before(async () => {
    bench = new Bench();
    hostile = createServer((socket) => {
      sockets.add(socket);
      socket.on('close', () => sockets.delete(socket)).on('error', () => undefined);
      socket.on('data', () => void play(socket, current));
    }).listen(0, '127.0.0.1');
    await once(hostile, 'listening');
    const port = (hostile.address() as AddressInfo).port;
    edge = await bench.edge({ timeouts: { headersMs: 1_000 } });
    const fine = await bench.replica((_req, res) => res.end('fine'));
    const table = proxied([{ id: 'hostile', address: '127.0.0.1', port, server: hostile as never }]);
    const neighbour = proxied([fine], { host: 'fine.test' });
    await edge.apply(new Map([...table, ...neighbour]));
  });
  after(async () => {
    await bench.close();
    for (const socket of sockets) socket.destroy();
    hostile.close();
  });
  beforeEach(() => {
    uncaught.length = 0;
    process.on('uncaughtExceptionMonitor', note);
  });
  afterEach(() => process.off('uncaughtExceptionMonitor', note));

  function note(error: unknown): void {
    uncaught.push(error);
  }

  async function play(socket: Socket, { pieces, end }: Script): Promise<void> {
    for (const piece of pieces) {
      socket.write(piece);
      await new Promise((resolve) => setImmediate(resolve));
    }
    if (end === 'fin') socket.end();
    else if (end === 'reset') socket.resetAndDestroy();
  }

  const NEXT = 'GET /next HTTP/1.1\r\nHost: fine.test\r\nConnection: close\r\n\r\n';

  /** Sends two requests to different services on one connection. Returns what arrives within 40 ms. */
  async function provoke(request: string, reads: boolean): Promise<string> {
    const socket = connect(edge.port, '127.0.0.1');
    let text = '';
    socket.on('error', () => undefined);
    if (reads) socket.on('data', (chunk) => (text += chunk.toString('latin1')));
    const closed = new Promise((resolve) => socket.once('close', resolve));
    socket.write(request + NEXT, 'latin1');
    const quiet = new Promise((resolve) => setTimeout(resolve, 40));
    await Promise.race([closed, quiet]);
    socket.destroy();
    return text;
  }

  const head = `Host: ${HOST}\r\nAccept-Encoding: gzip\r\n`;
  const requests = [
    `GET / HTTP/1.1\r\n${head}\r\n`,
    `HEAD / HTTP/1.1\r\n${head}\r\n`,
    `GET / HTTP/1.0\r\n${head}\r\n`,
    `GET / HTTP/1.1\r\n${head}Connection: Upgrade\r\nUpgrade: websocket\r\n\r\n`,
    `POST / HTTP/1.1\r\n${head}Content-Length: 5\r\n\r\nhello`,
    `POST / HTTP/1.1\r\n${head}Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n`,
  ];

  it('goes on serving, and sends clients nothing but valid HTTP answers, each to its own request', async () => {
    await fc.assert(
      fc.asyncProperty(script, fc.constantFrom(...requests), fc.boolean(), async (played, request, reads) => {
        current = played;
        const text = await provoke(request, reads);
        if (text !== '') {
          const [lines = ''] = text.split('\r\n\r\n');
          expect(lines).to.match(/^HTTP\/1\.1 [2-9]\d\d |^HTTP\/1\.1 101 Switching Protocols\r\n/);
          // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what must not be there
          expect(lines.replaceAll('\r\n', '')).not.to.match(/[\x00-\x08\x0a-\x1f\x7f]/);
          // A proxy in front may send the next visitor's request on this connection.
          const next = afterFirst(text, request.split(' ', 1)[0] ?? '');
          if (next !== '') expect(next).to.match(/^HTTP\/1\.1 200 OK\r\n(?:[-\w]+: .*\r\n)+\r\nfine$/);
        }
        expect(uncaught).to.deep.equal([]);
        await eventually('nothing is under way any more', () => edge.figures.requests === 0);
        const neighbour = await ask(edge.port, '/', { host: 'fine.test' });
        expect(neighbour).to.include({ status: 200, text: 'fine' });
      }),
      // Without shrinking, because an exchange that does not end spoils every later try.
      { numRuns: RUNS, endOnFailure: true },
    );
    // All answers were handled as bad answers, without an uncaught exception.
    expect(edge.figures.failedExchanges).to.equal(0);
  });

  it('outlives a replica that resets the connection while its answer is held back', async () => {
    current = {
      pieces: [bytes('HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n'), Buffer.alloc(8 * 1024 * 1024, 'x')],
      end: 'stay',
    };
    const readers = Array.from({ length: 5 }, () => {
      const socket = connect(edge.port, '127.0.0.1');
      socket.on('error', () => undefined);
      socket.write(requests[0] ?? '');
      return socket;
    });
    await eventually(
      'answers are under way',
      () => sockets.size >= readers.length && edge.figures.requests === readers.length,
    );
    await eventually('answers are held back', () => [...sockets].every(({ writableLength }) => writableLength > 0));
    for (const socket of sockets) socket.resetAndDestroy();
    await eventually('the exchanges have ended', () => edge.figures.requests === 0);
    for (const reader of readers) reader.destroy();
    expect(uncaught).to.deep.equal([]);
    expect((await ask(edge.port, '/', { host: 'fine.test' })).text).to.equal('fine');
  });
});
