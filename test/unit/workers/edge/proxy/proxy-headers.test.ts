import type { IncomingMessage } from 'node:http';
import { expect } from 'chai';
import {
  ambiguity,
  clientOf,
  connectionTokens,
  hasBody,
  hostOf,
  requestIdOf,
  upstreamHeaders,
} from '../../../../../workers/edge/proxy/proxy-headers.js';

function request(rawHeaders: string[], { url = '/', remoteAddress = '198.51.100.7' } = {}): IncomingMessage {
  const headers: Record<string, string> = {};
  for (let i = 0; i < rawHeaders.length; i += 2)
    headers[(rawHeaders[i] ?? '').toLowerCase()] ??= rawHeaders[i + 1] ?? '';
  return { rawHeaders, headers, url, socket: { remoteAddress } } as unknown as IncomingMessage;
}

const HOST = ['Host', 'app.test'];
const client = { address: '198.51.100.7', protocol: 'http' as const };

function passedOn(rawHeaders: string[]): [string, string][] {
  const flat = upstreamHeaders(request([...HOST, ...rawHeaders]), client, 'id');
  return Array.from({ length: flat.length / 2 }, (_, i) => [flat[2 * i] ?? '', flat[2 * i + 1] ?? '']);
}
const names = (pairs: [string, string][]) => pairs.map(([name]) => name.toLowerCase());

describe('The headers of a request', () => {
  it('that belong to one connection are not passed on', () => {
    const own = [
      ...['Connection', 'Keep-Alive', 'Proxy-Authorization', 'TE', 'Trailer', 'Transfer-Encoding', 'Upgrade'],
      'Expect',
    ];
    const passed = names(passedOn(own.flatMap((name) => [name, 'x'])));
    expect(passed).to.not.include.members(own.map((name) => name.toLowerCase()));
    expect(passed).to.include('host');
  });

  it('that Connection names are not passed on, unless they are end-to-end', () => {
    const passed = names(passedOn(['Connection', 'X-Hop, Authorization', 'X-Hop', '1', 'Authorization', 'Bearer x']));
    expect(passed).to.include('authorization').and.not.include('x-hop');
    expect([...connectionTokens(' X-Hop ,, cookie,content-length,X-Forwarded-For')]).to.deep.equal(['x-hop']);
    expect([...connectionTokens(undefined)]).to.deep.equal([]);
  });

  it('say what the edge knows about the client, whatever the client claims, also with underscores', () => {
    const passed = passedOn(
      [
        ...['X-Forwarded-For', 'X_Forwarded_For', 'X-Real-IP', 'Forwarded', 'X-Forwarded-Proto', 'X-Request-ID'],
        ...['X-Forwarded-Ssl', 'X-Forwarded-Scheme', 'X-Forwarded-Prefix', 'X_Forwarded_Prefix', 'X-Forwarded-Port'],
        ...[
          ...['X-Forwarded-Server', 'X-Forwarded', 'X-Original-URL', 'x_original_url', 'X-Original-Host'],
          'X-Rewrite-URL',
        ],
        ...['X-Scheme', 'X-Url-Scheme', 'X-Script-Name', 'X-Client-IP', 'X-Host', 'Front-End-Https', 'Proxy'],
      ].flatMap((name) => [name, 'forged']),
    );
    expect(JSON.stringify(passed)).to.not.contain('forged');
    expect(passed.slice(1)).to.deep.equal([
      ['X-Forwarded-For', '198.51.100.7'],
      ['X-Forwarded-Proto', 'http'],
      ['X-Forwarded-Host', 'app.test'],
      ['X-Request-ID', 'id'],
    ]);
  });

  it('keep their order and their repetitions', () => {
    const passed = passedOn(['B', '1', 'A', '2', 'B', '3']);
    expect(passed.slice(1, 4)).to.deep.equal([
      ['B', '1'],
      ['A', '2'],
      ['B', '3'],
    ]);
  });

  it('give the host in lower case, without port and final dot', () => {
    for (const host of ['App.Test', 'app.test:8080', 'app.test.', 'app.test.:80']) {
      expect(hostOf(request(['Host', host])), host).to.equal('app.test');
    }
    expect(hostOf(request([]))).to.equal('');
  });

  it('give the request id if it is well-formed, else a new one', () => {
    expect(requestIdOf(request(['X-Request-ID', 'a.b_c-1']))).to.equal('a.b_c-1');
    for (const bad of ['', ' ', '-a', 'a b', 'a'.repeat(65), 'a\n']) {
      const id = requestIdOf(request(['X-Request-ID', bad]));
      expect(id, bad).to.match(/^[0-9a-f-]{36}$/);
    }
  });
});

describe('The client of a request', () => {
  const forwarded = ['X-Forwarded-For', '203.0.113.5', 'X-Forwarded-Proto', 'https'];

  it('is the one of the socket, and what the request claims counts only behind a trusted proxy', () => {
    expect(clientOf(request(forwarded), false)).to.deep.equal({ address: '198.51.100.7', protocol: 'http' });
    expect(clientOf(request(forwarded), true)).to.deep.equal({ address: '203.0.113.5', protocol: 'https' });
    expect(clientOf(request([]), true)).to.deep.equal({ address: '198.51.100.7', protocol: 'http' });
  });

  it('has its IPv4 address also if it came in over IPv6', () => {
    const mapped = request([], { remoteAddress: '::ffff:192.0.2.1' });
    expect(clientOf(mapped, false).address).to.equal('192.0.2.1');
  });
});

describe('A request that two implementations could read in two ways', () => {
  const problem = (headers: string[], url = '/') => ambiguity(request([...HOST, ...headers], { url }));

  it('is refused', () => {
    expect(problem(['Host', 'other.test'])).to.match(/more than one Host/);
    expect(problem(['Content-Length', '3', 'content-length', '3'])).to.match(/more than one Content-Length/);
    expect(problem(['Content-Length', '3', 'Transfer-Encoding', 'chunked'])).to.match(/both/);
    expect(problem(['Transfer-Encoding', 'gzip, chunked'])).to.match(/Only the transfer encoding "chunked"/);
    expect(problem([], 'http://other.test/')).to.match(/must be a path/);
    expect(problem([], '*')).to.match(/must be a path/);
  });

  it('is not one with a plain length, with chunks, or without a body', () => {
    expect(problem([])).to.equal(null);
    expect(problem(['Content-Length', '3'])).to.equal(null);
    expect(problem(['Transfer-Encoding', 'Chunked'])).to.equal(null);
  });

  it('has a body if it says so', () => {
    expect(hasBody(request(['Content-Length', '3']))).to.equal(true);
    expect(hasBody(request(['Transfer-Encoding', 'chunked']))).to.equal(true);
    expect(hasBody(request(['Content-Length', '0']))).to.equal(false);
    expect(hasBody(request([]))).to.equal(false);
  });
});
