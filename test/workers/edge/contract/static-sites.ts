import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import type { Target } from '../../../../workers/edge/route-table.js';
import { type Answer, type AskOptions, ask, Bench, type EdgeKind, type TestEdge, tableWith } from '../support.js';

const SECRET = 'not for the world';

/** Tests static sites, which are served from a folder of an image. */
export function staticSites(kind: EdgeKind): void {
  const bench = new Bench(kind);
  let images: string;
  let edge: TestEdge;

  const get = (path: string, options?: AskOptions): Promise<Answer> => ask(edge.port, path, options);
  const serve = (overrides: Partial<Extract<Target, { type: 'static' }>> = {}) =>
    edge.apply(
      tableWith({
        target: {
          type: 'static',
          digest: 'abc',
          publishDirectory: 'dist',
          fallback: null,
          cacheProfile: 'none',
          ...overrides,
        },
      }),
    );

  before(async () => {
    images = await mkdtemp(join(tmpdir(), 'ranvier-images-'));
    const site = join(images, 'abc', 'dist');
    await mkdir(join(site, 'docs'), { recursive: true });
    await mkdir(join(site, 'empty'));
    await mkdir(join(site, '.well-known'));
    await mkdir(join(site, '.git'));
    await mkdir(join(images, 'abc-other'));
    await writeFile(join(site, 'index.html'), '<h1>home</h1>');
    await writeFile(join(site, 'docs', 'index.html'), '<h1>docs</h1>');
    await writeFile(join(site, 'app-3f2a91bc.js'), 'let a = 1;');
    await writeFile(join(site, 'data.json'), '{"a":"0123456789"}');
    await writeFile(join(site, 'naïve file.txt'), 'spaced');
    await writeFile(join(site, '.well-known', 'security.txt'), 'Contact: us');
    await writeFile(join(site, '.env'), SECRET);
    await writeFile(join(site, '.git', 'config'), SECRET);
    await writeFile(join(images, 'abc', 'secret.txt'), SECRET);
    await writeFile(join(images, 'abc-other', 'secret.txt'), SECRET);
    await symlink('../secret.txt', join(site, 'link-out.txt'));
    await symlink('/etc', join(site, 'folder-out'));
    await symlink('../../abc-other', join(site, 'sibling-out'));
    await symlink('data.json', join(site, 'link-in.json'));
    await symlink('loop', join(site, 'loop'));
    edge = await bench.edge({ imagesDir: images });
  });
  after(async () => {
    await bench.close();
    await rm(images, { recursive: true, force: true });
  });
  beforeEach(() => serve());

  it('answers below the path at which the pages of a site expect it', async () => {
    await serve({ base: '/shop', fallback: 'index.html' });
    expect(await get('/?a=1')).to.include({ status: 302 });
    expect((await get('/?a=1')).headers.location).to.equal('/shop/?a=1');
    expect(await get('/shop/')).to.include({ status: 200, text: '<h1>home</h1>' });
    expect(await get('/shop/data.json')).to.include({ status: 200 });
    expect(await get('/data.json')).to.include({ status: 200 });
    expect((await get('/shop/docs')).headers.location).to.equal('/shop/docs/');
    expect(await get('/shop/any/where')).to.include({ status: 200, text: '<h1>home</h1>' });
    expect((await get('/shop/..%2fsecret.txt')).status).to.be.oneOf([400, 404]);
    expect((await get('/shop/.env')).text).not.to.contain(SECRET);
  });

  it('gives files with their types', async () => {
    const home = await get('/');
    expect(home).to.include({ status: 200, text: '<h1>home</h1>' });
    expect(home.headers['content-type']).to.equal('text/html; charset=utf-8');
    expect(home.headers['x-request-id']).to.be.a('string');
    expect((await get('/app-3f2a91bc.js')).headers['content-type']).to.equal('text/javascript; charset=utf-8');
    expect((await get('/data.json?x=1')).headers['content-type']).to.equal('application/json; charset=utf-8');
    expect((await get('/na%C3%AFve%20file.txt')).text).to.equal('spaced');
    expect((await get('/link-in.json')).status).to.equal(200);
  });

  it('gives the index of a folder and leads there without the slash', async () => {
    expect((await get('/docs/')).text).to.equal('<h1>docs</h1>');
    const redirect = await get('/docs?a=1');
    expect(redirect.status).to.equal(301);
    expect(redirect.headers.location).to.equal('/docs/?a=1');
    expect((await get('//docs')).headers.location).to.equal('/docs/');
    expect((await get('/empty/')).status).to.equal(404);
    expect((await get('/empty')).status).to.equal(404);
    expect((await get('/data.json/')).status).to.equal(404);
  });

  it('answers HEAD without a body, and nothing but reading', async () => {
    const head = await get('/data.json', { method: 'HEAD' });
    expect(head).to.include({ status: 200, text: '' });
    expect(head.headers['content-length']).to.equal('18');
    const post = await get('/data.json', { method: 'POST', body: 'x' });
    expect(post.status).to.equal(405);
    expect(post.headers.allow).to.equal('GET, HEAD');
  });

  it('answers conditions and ranges', async () => {
    const { headers } = await get('/data.json');
    expect(headers['accept-ranges']).to.equal('bytes');
    const etag = String(headers.etag);
    const unchanged = await get('/data.json', { headers: { 'if-none-match': etag } });
    expect(unchanged).to.include({ status: 304, text: '' });
    const since = String(headers['last-modified']);
    expect((await get('/data.json', { headers: { 'if-modified-since': since } })).status).to.equal(304);
    expect((await get('/data.json', { headers: { 'if-none-match': '"other"' } })).status).to.equal(200);
    expect((await get('/data.json', { headers: { 'if-match': '"other"' } })).status).to.equal(412);
    const part = await get('/data.json', { headers: { range: 'bytes=6-9' } });
    expect(part).to.include({ status: 206, text: '0123' });
    expect(part.headers['content-range']).to.equal('bytes 6-9/18');
    const beyond = await get('/data.json', { headers: { range: 'bytes=100-' } });
    expect(beyond.status).to.equal(416);
    expect(beyond.headers['content-range']).to.equal('bytes */18');
  });

  it('serves no file outside of the folder', async () => {
    const attempts = [
      '/../secret.txt',
      '/docs/../../secret.txt',
      '/..%2fsecret.txt',
      '/%2e%2e/secret.txt',
      '/%2e%2e%2fsecret.txt',
      '/..%5csecret.txt',
      '/..%00/secret.txt',
      '/index.html%00.txt',
      '/%252e%252e/secret.txt',
      '/link-out.txt',
      '/folder-out/passwd',
      '/sibling-out/secret.txt',
      '//etc/passwd',
      '/.env',
      '/.git/config',
      '/loop',
      '/%',
      `/${'x'.repeat(5000)}`,
    ];
    for (const path of attempts) {
      const answer = await get(path);
      expect([400, 404], `${path} → ${answer.status}`).to.include(answer.status);
      expect(answer.text).not.to.include(SECRET);
      expect(answer.text).not.to.include('root:');
    }
    expect((await get('/.well-known/security.txt')).text).to.equal('Contact: us');
  });

  it('publishes nothing from outside the image', async () => {
    for (const publishDirectory of ['../abc-other', 'dist/folder-out', 'dist/sibling-out', 'nowhere']) {
      await serve({ publishDirectory });
      expect((await get('/secret.txt')).status).to.equal(502);
    }
    await serve({ publishDirectory: '' });
    expect((await get('/secret.txt')).text).to.equal(SECRET);
  });

  it("sets Cache-Control by the service's cache profile", async () => {
    const caching = async (path: string) => (await get(path)).headers['cache-control'];
    expect(await caching('/app-3f2a91bc.js')).to.equal('no-cache');
    await serve({ cacheProfile: 'static' });
    expect(await caching('/app-3f2a91bc.js')).to.equal('public, max-age=31536000, immutable');
    expect(await caching('/')).to.equal('no-cache');
    await serve({ cacheProfile: 'all' });
    expect(await caching('/data.json')).to.match(/^public, max-age=\d+$/);
  });

  it("shows the site's own 404 page if it has one", async () => {
    expect(JSON.parse((await get('/nothing')).text).error.code).to.equal('not_found');
    const page = join(images, 'abc', 'dist', '404.html');
    await writeFile(page, '<h1>lost</h1>');
    try {
      const answer = await get('/nothing', { headers: { range: 'bytes=0-1', 'if-none-match': '*' } });
      expect(answer).to.include({ status: 404, text: '<h1>lost</h1>' });
      expect(answer.headers['cache-control']).to.equal('no-cache');
    } finally {
      await rm(page);
    }
  });
}
