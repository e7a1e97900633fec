import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { type RequestListener, request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createGunzip, gunzipSync } from 'node:zlib';
import { expect } from 'chai';
import { ask, Bench, type EdgeKind, HOST, proxied, type TestEdge, tableWith } from '../support.js';

const TEXT = 'ranvier '.repeat(1_000);
const GZIP = { 'accept-encoding': 'gzip' };

/** Tests that answers are compressed if that saves bytes, and else passed on unchanged. */
export function compression(kind: EdgeKind): void {
  let bench: Bench;
  let edge: TestEdge;
  beforeEach(() => {
    bench = new Bench(kind);
  });
  afterEach(() => bench.close());

  async function replicaOf(handler: RequestListener): Promise<void> {
    const replica = await bench.replica(handler);
    edge = await bench.edge();
    await edge.apply(proxied([replica]));
  }

  it('compresses a large text, and sets Vary for caches', async () => {
    await replicaOf((_req, res) => {
      res.writeHead(200, { 'content-type': 'text/html; charset=utf-8', 'content-length': TEXT.length, etag: '"1"' });
      res.end(TEXT);
    });
    const answer = await ask(edge.port, '/', { headers: GZIP });
    expect(answer.headers).to.include({ 'content-encoding': 'gzip', vary: 'Accept-Encoding', etag: 'W/"1"' });
    expect(answer.body.length).to.be.lessThan(TEXT.length / 10);
    expect(gunzipSync(answer.body).toString()).to.equal(TEXT);
    if (answer.headers['content-length'] !== undefined) {
      expect(Number(answer.headers['content-length'])).to.equal(answer.body.length);
    }
    const plain = await ask(edge.port, '/');
    expect(plain).to.include({ status: 200, text: TEXT });
    expect(plain.headers.etag).to.equal('"1"');
  });

  it('leaves alone what is small, compressed, partial, forbidden or not asked for', async () => {
    const types: Record<string, Record<string, string>> = {
      '/image': { 'content-type': 'image/png' },
      '/small': {},
      '/encoded': { 'content-encoding': 'br' },
      '/untouched': { 'cache-control': 'public, no-transform' },
      '/events': { 'content-type': 'text/event-stream' },
      '/': {},
    };
    await replicaOf((req, res) => {
      const body = req.url === '/small' ? 'small' : TEXT;
      const headers = {
        'content-type': 'text/plain',
        'content-length': body.length,
        etag: '"1"',
        ...types[req.url ?? ''],
      };
      res.writeHead(req.headers.range ? 206 : 200, headers).end(req.method === 'HEAD' ? undefined : body);
    });
    const asked = Object.keys(types).map((path) => ({ path, headers: GZIP as Record<string, string>, method: 'GET' }));
    const cases = [
      ...asked.filter(({ path }) => path !== '/'),
      { path: '/', headers: {}, method: 'GET' },
      { path: '/', headers: { 'accept-encoding': 'gzip;q=0' }, method: 'GET' },
      { path: '/', headers: { ...GZIP, range: 'bytes=0-9' }, method: 'GET' },
      { path: '/', headers: GZIP, method: 'HEAD' },
    ];
    for (const { path, ...options } of cases) {
      const { headers, text } = await ask(edge.port, path, options);
      const what = `${options.method} ${path} ${JSON.stringify(options.headers)}`;
      expect(headers['content-encoding'], what).to.equal(path === '/encoded' ? 'br' : undefined);
      expect(headers.etag, what).to.be.oneOf(['"1"', 'W/"1"']);
      if (options.method === 'GET') expect(text, what).to.equal(path === '/small' ? 'small' : TEXT);
    }
  });

  it('sends on what is written, without waiting for more', async () => {
    let next: (text: string) => void = () => undefined;
    await replicaOf((_req, res) => {
      res.writeHead(200, { 'content-type': 'text/plain' });
      next = (text) => res.write(text);
      res.write(TEXT);
    });
    const outgoing = request({ port: edge.port, headers: { host: HOST, ...GZIP } }).end();
    const [response] = await once(outgoing, 'response');
    let text = '';
    // An edge that cannot compress a stream chunk by chunk may pass it on uncompressed.
    const plain = response.headers['content-encoding'] === 'gzip' ? response.pipe(createGunzip()) : response;
    plain.on('data', (chunk: Buffer) => (text += chunk));
    plain.on('error', () => undefined);
    while (text.length < TEXT.length) await once(plain, 'data');
    next('and on');
    while (!text.endsWith('and on')) await once(plain, 'data');
    outgoing.destroy();
  });

  it('holds a fast replica back behind a slow client, and loses nothing', async () => {
    const body = Buffer.from(Array.from({ length: 400_000 }, (_, i) => `${i * 7919} `).join(''));
    const head = { 'content-type': 'text/plain', 'content-length': body.length };
    await replicaOf((_req, res) => res.writeHead(200, head).end(body));
    const outgoing = request({ port: edge.port, headers: { host: HOST, ...GZIP } }).end();
    const [response] = await once(outgoing, 'response');
    const hash = createHash('sha256');
    for await (const chunk of response.pipe(createGunzip({ chunkSize: 4_096 }))) hash.update(chunk);
    expect(hash.digest('hex')).to.equal(createHash('sha256').update(body).digest('hex'));
  });

  it('compresses the files of static sites', async () => {
    const images = await mkdtemp(join(tmpdir(), 'ranvier-images-'));
    try {
      await mkdir(join(images, 'abc'));
      await writeFile(join(images, 'abc', 'index.html'), TEXT);
      edge = await bench.edge({ imagesDir: images });
      const target = {
        type: 'static',
        digest: 'abc',
        publishDirectory: '',
        fallback: null,
        cacheProfile: 'none',
      } as const;
      await edge.apply(tableWith({ target }));
      const answer = await ask(edge.port, '/', { headers: GZIP });
      expect(answer.headers['content-encoding']).to.equal('gzip');
      expect(gunzipSync(answer.body).toString()).to.equal(TEXT);
      const again = await ask(edge.port, '/', { headers: { ...GZIP, 'if-none-match': String(answer.headers.etag) } });
      expect(again).to.include({ status: 304, text: '' });
      const part = await ask(edge.port, '/', { headers: { ...GZIP, range: 'bytes=0-6' } });
      expect(part).to.include({ status: 206, text: 'ranvier' });
    } finally {
      await rm(images, { recursive: true, force: true });
    }
  });
}
