import { expect } from 'chai';
import fc from 'fast-check';
import { InvalidAnswerError } from '../../../../../workers/edge/proxy/answer-head.js';
import { AnswerParser } from '../../../../../workers/edge/proxy/answer-parser.js';

interface Seen {
  status: number;
  headers: string[];
  interim: number[];
  body: string;
  ended: boolean;
  /** The bytes after the answer. */
  rest: string;
  keepAliveSeconds: number;
}

/** Reads an answer in pieces of this size. */
function read(text: string, size = text.length, { method = 'GET', upgrade = false, eof = false } = {}): Seen {
  const seen: Seen = { status: 0, headers: [], interim: [], body: '', ended: false, rest: '', keepAliveSeconds: -1 };
  const parser = new AnswerParser(
    { method, upgrade },
    {
      onInterim: (status) => seen.interim.push(status),
      onHead: ({ status, headers, keepAliveSeconds }) => Object.assign(seen, { status, headers, keepAliveSeconds }),
      onData: (piece) => (seen.body += piece.toString('latin1')),
      onEnd: () => (seen.ended = true),
    },
  );
  const bytes = Buffer.from(text, 'latin1');
  for (let at = 0; at < bytes.length; at += size) {
    const piece = Buffer.from(bytes.subarray(at, at + size));
    const used = parser.done ? 0 : parser.read(piece);
    seen.rest += piece.toString('latin1', used);
  }
  if (eof) seen.ended = parser.finish();
  if (parser.head?.status === 101) seen.status = 101;
  return seen;
}

const ok = (rest: string) => `HTTP/1.1 200 OK\r\n${rest}`;

describe('The parser of answers', () => {
  const plain = ok('Content-Length: 5\r\nX-A:  b c \t\r\n\r\nhello');
  const chunked = ok('Transfer-Encoding: Chunked\r\n\r\n2\r\nhe\r\n03;x="y"\r\nllo\r\n0\r\nX-Trailer: 1\r\n\r\n');

  it('reads lengths and chunks, in pieces of any size, and nothing after the answer', () => {
    for (const answer of [plain, chunked]) {
      for (let size = 1; size <= answer.length + 4; size++) {
        const seen = read(`${answer}next`, size);
        expect(seen).to.include({ status: 200, body: 'hello', ended: true, rest: 'next' });
      }
    }
    expect(read(plain).headers).to.deep.equal(['Content-Length', '5', 'X-A', 'b c']);
  });

  it('gives back any body that was sent in chunks', () => {
    fc.assert(
      fc.property(
        fc.array(fc.string({ minLength: 1, maxLength: 40 })),
        fc.integer({ min: 1, max: 50 }),
        (parts, size) => {
          const latin = parts.map((part) => Buffer.from(part).toString('latin1'));
          const chunks = latin.map((part) => `${part.length.toString(16)}\r\n${part}\r\n`).join('');
          const seen = read(ok(`Transfer-Encoding: chunked\r\n\r\n${chunks}0\r\n\r\n`), size);
          expect(seen).to.include({ body: latin.join(''), ended: true, rest: '' });
        },
      ),
    );
  });

  it('reads up to the end of the connection if there is no length, and notices a cut answer', () => {
    expect(read(ok('\r\nall'), 3, { eof: true })).to.include({ body: 'all', ended: true, keepAliveSeconds: 0 });
    expect(read(ok('Content-Length: 9\r\n\r\nhalf'), 7, { eof: true }).ended).to.equal(false);
    expect(read(ok('Transfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n'), 7, { eof: true }).ended).to.equal(false);
    expect(read('HTTP/1.1 2', 7, { eof: true }).ended).to.equal(false);
  });

  it('knows answers without a body, whatever length they claim', () => {
    const head = 'Content-Length: 5\r\n\r\nhello';
    expect(read(ok(head), 100, { method: 'HEAD' })).to.include({ body: '', ended: true, rest: 'hello' });
    for (const status of [204, 304]) {
      expect(read(`HTTP/1.1 ${status} X\r\n${head}`)).to.include({ status, body: '', ended: true, rest: 'hello' });
    }
  });

  it('passes over interim answers', () => {
    const seen = read(`HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early\r\nLink: x\r\n\r\n${plain}`, 11);
    expect(seen.interim).to.deep.equal([100, 103]);
    expect(seen).to.include({ status: 200, body: 'hello' });
  });

  it('takes a change of the protocol only if it was asked for and is named', () => {
    const switching = 'HTTP/1.1 101 S\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\nrest';
    expect(read(switching, 999, { upgrade: true })).to.include({ status: 101, ended: false, rest: 'rest' });
    expect(() => read(switching)).to.throw(InvalidAnswerError);
    expect(() => read('HTTP/1.1 101 S\r\nUpgrade: websocket\r\n\r\n', 999, { upgrade: true })).to.throw(
      InvalidAnswerError,
    );
    expect(() => read('HTTP/1.1 101 S\r\nConnection: Upgrade\r\n\r\n', 999, { upgrade: true })).to.throw(
      InvalidAnswerError,
    );
  });

  it('knows for how long the connection stays', () => {
    const seconds = (version: string, headers: string) =>
      read(`HTTP/1.${version} 200 OK\r\nContent-Length: 0\r\n${headers}\r\n`).keepAliveSeconds;
    expect(seconds('1', '')).to.equal(Number.POSITIVE_INFINITY);
    expect(seconds('1', 'Keep-Alive: max=3, timeout=5\r\n')).to.equal(5);
    expect(seconds('1', 'Connection: x, Close\r\n')).to.equal(0);
    expect(seconds('0', '')).to.equal(0);
    expect(seconds('0', 'Connection: Keep-Alive\r\n')).to.equal(Number.POSITIVE_INFINITY);
  });

  it('refuses what another reader could read in another way', () => {
    const heads = [
      'Content-Length: 5\r\nContent-Length: 5',
      'Content-Length: 5, 5',
      'Content-Length: +5',
      'Content-Length: 0x5',
      'Content-Length: ',
      'Content-Length: 5\r\nTransfer-Encoding: chunked',
      'Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked',
      'Transfer-Encoding: gzip, chunked',
      'Transfer-Encoding: identity',
      'Transfer-Encoding: \x0bchunked',
      'Content-Length : 5',
      ' Content-Length: 5',
      'X-A: b\r\n folded',
      'X-A: b\nContent-Length: 5',
      'X-A: b\rContent-Length: 5',
      'X-A: b\x00',
      'X A: b',
      'X-\xe9: b',
      ': b',
      'X-A',
    ];
    for (const head of heads) {
      expect(() => read(ok(`${head}\r\n\r\nhello`)), JSON.stringify(head)).to.throw(InvalidAnswerError);
    }
    for (const line of [
      'HTTP/1.1 200\tOK',
      'HTTP/2 200 OK',
      'http/1.1 200 OK',
      'HTTP/1.1 2000 OK',
      'HTTP/1.1 020 OK',
      '',
      'ICY 200 OK',
    ]) {
      expect(() => read(`${line}\r\nContent-Length: 0\r\n\r\n`), line).to.throw(InvalidAnswerError);
    }
    expect(() => read('HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n')).to.throw(InvalidAnswerError);
  });

  it('refuses chunks that are not framed as they must be', () => {
    const bodies = [
      '5\nhello\r\n0\r\n\r\n',
      '-1\r\n',
      '0x5\r\nhello',
      ' 5\r\nhello',
      '\r\n',
      '5 \r\nhello\r\n',
      '5\r\nhello0\r\n\r\n',
      '5\r\nhello\n0\r\n\r\n',
      '1234567890123\r\nx',
      '5;a=\x01\r\nhello\r\n',
      `1;${'x'.repeat(5_000)}\r\n`,
    ];
    for (const body of bodies) {
      expect(() => read(ok(`Transfer-Encoding: chunked\r\n\r\n${body}`)), JSON.stringify(body)).to.throw(
        InvalidAnswerError,
      );
    }
  });

  it('keeps no more of a head or of trailers than its limit', () => {
    for (const size of [1_000, 100_000]) {
      expect(() => read(ok(`X-Long: ${'x'.repeat(40_000)}\r\n\r\n`), size)).to.throw(InvalidAnswerError, 'more than');
      const trailers = `X-Long: ${'x'.repeat(40_000)}`;
      expect(() => read(ok(`Transfer-Encoding: chunked\r\n\r\n0\r\n${trailers}`), size)).to.throw(
        InvalidAnswerError,
        'more than',
      );
    }
    expect(read(ok(`X-Long: ${'x'.repeat(30_000)}\r\nContent-Length: 0\r\n\r\n`), 1_000).ended).to.equal(true);
  });
});
