import { once } from 'node:events';
import { brotliDecompressSync } from 'node:zlib';
import { expect } from 'chai';
import { encoded } from '../../../../../workers/edge/proxy/compression.js';

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
