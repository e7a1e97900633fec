import { once } from 'node:events';
import { brotliDecompressSync } from 'node:zlib';
import { expect } from 'chai';
import { encoded } from '../../../../../../workers/edge/proxy/sites/compression.js';

const TEXT = ['Content-Type', 'text/html'];
const unlimited = () => () => undefined;

describe('edge compression', () => {
  const encodingOf = (accept: string, headers: string[] = TEXT) => {
    const answer = encoded({ method: 'GET', headers: { 'accept-encoding': accept } }, 200, headers, unlimited);
    const at = answer.headers.indexOf('Content-Encoding');
    return at < 0 ? null : answer.headers[at + 1];
  };

  it('follows the weights of the client', () => {
    expect(encodingOf('gzip, deflate, br')).to.equal('br');
    expect(encodingOf('br;q=0.5, gzip;q=0.8')).to.equal('gzip');
    expect(encodingOf('GZIP')).to.equal('gzip');
    expect(encodingOf('*')).to.equal('br');
    expect(encodingOf('*;q=0, gzip')).to.equal('gzip');
    expect(encodingOf('identity, gzip;q=0.5')).to.equal(null);
    for (const none of ['', 'identity', 'deflate', 'br;q=0', 'gzip;q=nonsense'])
      expect(encodingOf(none)).to.equal(null);
  });

  it('leaves an answer to HEAD, a part of an answer, a short one, and one that says so as they are', () => {
    const accept = { 'accept-encoding': 'gzip' };
    const isCompressed = (method: string, headers: object, status = 200, answer = TEXT) =>
      encoded({ method, headers: { ...accept, ...headers } }, status, answer, unlimited).encoder !== null;
    expect(isCompressed('GET', {})).to.equal(true);
    expect(isCompressed('HEAD', {})).to.equal(false);
    expect(isCompressed('GET', { range: 'bytes=0-1' })).to.equal(false);
    for (const status of [204, 206, 304]) expect(isCompressed('GET', {}, status), `${status}`).to.equal(false);
    for (const [name, value] of [
      ['Content-Length', '1023'],
      ['Content-Encoding', 'br'],
      ['Cache-Control', 'public, no-transform'],
    ] as const) {
      expect(isCompressed('GET', {}, 200, [...TEXT, name, value]), name).to.equal(false);
    }
    expect(isCompressed('GET', {}, 200, [...TEXT, 'Content-Length', '1024'])).to.equal(true);
  });

  it('drops the length and the ranges of what it compresses, and weakens its tag', () => {
    const headers = [...TEXT, 'Content-Length', '2000', 'Accept-Ranges', 'bytes', 'ETag', '"a"'];
    const answer = encoded({ method: 'GET', headers: { 'accept-encoding': 'gzip' } }, 200, headers, unlimited);
    expect(answer.headers).to.deep.equal([
      ...TEXT,
      ...['ETag', 'W/"a"', 'Vary', 'Accept-Encoding', 'Content-Encoding', 'gzip'],
    ]);
  });

  it('tells caches what the answer depends on, once, compressed or not', () => {
    const vary = (headers: string[]) => {
      const answer = encoded({ method: 'GET', headers: {} }, 200, headers, unlimited).headers;
      return answer.filter((_, i) => answer[i - 1]?.toLowerCase() === 'vary');
    };
    expect(vary(TEXT)).to.deep.equal(['Accept-Encoding']);
    expect(vary([...TEXT, 'vary', 'Origin'])).to.deep.equal(['Origin', 'Accept-Encoding']);
    expect(vary([...TEXT, 'Vary', 'origin, accept-encoding'])).to.deep.equal(['origin, accept-encoding']);
    expect(vary(['Content-Type', 'image/png'])).to.deep.equal([]);
  });

  it('speaks brotli', async () => {
    const { encoder } = encoded({ method: 'GET', headers: { 'accept-encoding': 'br' } }, 200, TEXT, unlimited);
    if (encoder === null) throw new Error('nothing was compressed');
    encoder.write('first ');
    const [first] = await once(encoder, 'data');
    encoder.end('second');
    const rest = await encoder.toArray();
    expect(brotliDecompressSync(Buffer.concat([first, ...rest])).toString()).to.equal('first second');
  });
});
