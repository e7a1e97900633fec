import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import type { Rule, SiteRules } from '../../../../shared/rules/model.js';
import { hashPassword, QUICK } from '../../../../shared/secrets/password.js';
import type { Route } from '../../../../workers/edge/route-table.js';
import { compileRules } from '../../../../workers/edge/rules/rule-set.js';
import { type Answer, ask, Bench, type EdgeKind, HOST, proxied, type TestEdge, tableWith } from '../support.js';

const basic = (name: string, password: string) => ({
  authorization: `Basic ${Buffer.from(`${name}:${password}`).toString('base64')}`,
});

/** Tests the rules of a service, in front of a replica and of a site. */
export function rules(kind: EdgeKind): void {
  let bench: Bench;
  let edge: TestEdge;
  let images: string;
  beforeEach(() => {
    bench = new Bench(kind);
  });
  afterEach(() => bench.close());
  before(async () => {
    images = await mkdtemp(join(tmpdir(), 'ranvier-images-'));
    const files = [
      'index.html',
      'about.html',
      'docs/index.html',
      'en/404.html',
      'gone.html',
      'app.js',
      '_redirects',
      '_headers',
    ];
    await mkdir(join(images, 'abc', 'docs'), { recursive: true });
    await mkdir(join(images, 'abc', 'en'), { recursive: true });
    for (const file of files) await writeFile(join(images, 'abc', file), file);
  });
  after(() => rm(images, { recursive: true, force: true }));

  const ruled = (given: Rule[], site: SiteRules | null = null): Partial<Route> => ({
    rules: compileRules({ rulesKey: 'test', rules: given, site }),
  });
  const get = (path: string, headers: Record<string, string> = {}): Promise<Answer> =>
    ask(edge.port, path, { headers });

  async function application(given: Rule[], overrides: Partial<Route> = {}): Promise<void> {
    const replica = await bench.replica((req, res) => {
      res.setHeader('Server', 'app');
      res.setHeader('X-App', 'yes');
      res.end(`${req.method} ${req.url}`);
    });
    edge = await bench.edge();
    await edge.apply(proxied([replica], { ...ruled(given), ...overrides }));
  }

  async function site(given: Rule[], files: Partial<SiteRules> = {}): Promise<void> {
    edge = await bench.edge({ imagesDir: images });
    const target = {
      type: 'static',
      digest: 'abc',
      publishDirectory: '',
      fallback: null,
      cacheProfile: 'none',
    } as const;
    await edge.apply(tableWith({ target, ...ruled(given, { moves: [], headers: [], auth: [], ...files }) }));
  }
  const move = (from: string, to: string, status: number, force = false) => ({ from, to, status, force, query: {} });

  it('redirect, with the parameters of the request, and rewrite', async () => {
    await application([
      { type: 'redirect', from: '/old/:page', to: '/new/:page', status: 308 },
      { type: 'redirect', from: '/shop', to: 'https://shop.example.com/' },
      { type: 'rewrite', from: '/api/*', to: '/v2/:splat' },
      { type: 'redirect', from: '/v2/*', to: '/never' },
    ]);
    const old = await get('/old/a%20b?x=1');
    expect(old.status).to.equal(308);
    expect(old.headers.location).to.equal('/new/a%20b?x=1');
    expect((await get('/shop')).headers.location).to.equal('https://shop.example.com/');
    expect((await get('/api/users/5?x=1')).text).to.equal('GET /v2/users/5?x=1');
    expect((await ask(edge.port, '/api/x', { method: 'POST', body: 'b' })).text).to.equal('POST /v2/x');
    expect((await get('/other')).text).to.equal('GET /other');
  });

  it('set and remove headers of answers, a later rule last', async () => {
    await application([
      { type: 'headers', for: '/*', set: { 'X-Frame-Options': 'DENY', 'X-App': 'no' }, remove: ['Server'] },
      { type: 'headers', for: '/a/*', set: { 'x-frame-options': 'SAMEORIGIN' } },
    ]);
    const { headers } = await get('/');
    expect(headers).to.include({ 'x-frame-options': 'DENY', 'x-app': 'no' });
    expect((await get('/a/b')).headers['x-frame-options']).to.equal('SAMEORIGIN');
    if (kind.name === 'node edge') expect(headers).to.not.have.property('server');
  });

  it('ask for a password, also if the path is spelled in another way or reached by a rewrite', async () => {
    const hash = await hashPassword('correct horse', QUICK);
    const users = [{ name: 'anna', hash }];
    await application([
      { type: 'rewrite', from: '/door/*', to: '/admin/:splat' },
      { type: 'basicAuth', for: '/admin/*', users, realm: 'Admins' },
    ]);
    const refused = await get('/admin/x');
    expect(refused.status).to.equal(401);
    expect(refused.headers['www-authenticate']).to.equal('Basic realm="Admins", charset="UTF-8"');
    for (const path of ['/admin', '/%61dmin/x', '//admin//x', '/door/x', '/x/../admin/y', '/admin%2fx', '/admin%5Cx']) {
      expect((await get(path)).status, path).to.equal(401);
    }
    expect((await get('/open')).text).to.equal('GET /open');
    for (const wrong of [basic('anna', 'wrong'), basic('bert', 'correct horse'), { authorization: 'Bearer x' }]) {
      expect((await get('/admin/x', wrong)).status).to.equal(401);
    }
    for (let i = 0; i < 2; i++) {
      expect((await get('/door/x', basic('anna', 'correct horse'))).text).to.equal('GET /admin/x');
    }
    const posted = { method: 'POST', body: 'body', headers: basic('anna', 'correct horse') };
    expect((await ask(edge.port, '/admin/x', posted)).text).to.equal('POST /admin/x');
  });

  it('limit the requests of an address', async () => {
    await application([{ type: 'rateLimit', for: '/login', requests: 2, perSeconds: 60 }]);
    const statuses = [];
    for (let i = 0; i < 3; i++) statuses.push((await get('/login')).status);
    expect(statuses).to.deep.equal([200, 200, 429]);
    expect(Number((await get('/login')).headers['retry-after'])).to.be.within(1, 60);
    expect((await get('/')).status).to.equal(200);
  });

  it('show a page of maintenance for some paths, whose message is no markup', async () => {
    await application([{ type: 'maintenance', for: '/shop/*', message: 'Back at <9>' }]);
    const page = await get('/shop/x', { accept: 'text/html' });
    expect(page.status).to.equal(503);
    expect(page.text).to.contain('Back at &#60;9&#62;');
    expect(Number(page.headers['retry-after'])).to.be.at.least(1);
    expect((await get('/')).status).to.equal(200);
  });

  it('act in their order', async () => {
    const users = [{ name: 'anna', hash: await hashPassword('x', QUICK) }];
    await application([
      { type: 'redirect', from: '/a', to: '/b' },
      { type: 'basicAuth', for: '/*', users },
      { type: 'redirect', from: '/c', to: '/d' },
    ]);
    expect((await get('/a')).status).to.equal(301);
    expect((await get('/c')).status).to.equal(401);
    expect((await get('/c', basic('anna', 'x'))).status).to.equal(301);
  });

  it('redirect a host to another one, on the same port', async () => {
    await application([], { redirectTo: 'www.example.com' });
    const { status, headers } = await ask(edge.port, '/a?b=c', { host: `${HOST}:8080` });
    expect(status).to.equal(301);
    expect(headers.location).to.equal('http://www.example.com:8080/a?b=c');
  });

  it('of a site act where it has no file, or if they are forced', async () => {
    await site([], {
      moves: [
        move('/about', '/index.html', 302),
        move('/app.js', '/index.html', 302, true),
        move('/nothing', '/docs', 302),
        move('/docs2', '/docs', 200),
        move('/en/*', '/en/404.html', 404),
        move('/old', '/gone.html', 410),
        move('/lost/*', '/not-there.html', 200),
        move('/*', '/index.html', 200),
      ],
    });
    expect((await get('/about')).text).to.equal('about.html');
    expect((await get('/app.js')).headers.location).to.equal('/index.html');
    const { status, headers } = await ask(edge.port, '/nothing', { method: 'POST' });
    expect([status, headers.location]).to.deep.equal([302, '/docs']);
    expect(await get('/docs2')).to.include({ status: 200, text: 'docs/index.html' });
    expect(await get('/en/x')).to.include({ status: 404, text: 'en/404.html' });
    expect(await get('/old')).to.include({ status: 410, text: 'gone.html' });
    expect((await get('/lost/x')).status).to.equal(404);
    expect(await get('/missing.js')).to.include({ status: 200, text: 'index.html' });
    expect((await ask(edge.port, '/missing.js', { method: 'POST' })).status).to.equal(405);
    expect((await get('/_redirects')).text).to.equal('index.html');
  });

  it('of a site come after those of the service, and set headers of its files', async () => {
    await site(
      [
        { type: 'redirect', from: '/x', to: '/docs/' },
        { type: 'headers', for: '/about', set: { 'X-B': 'rule' } },
      ],
      {
        moves: [move('/x', '/about', 301), move('/admin', '/about', 200)],
        headers: [
          { for: '/*', values: { 'X-A': 'file', 'X-B': 'file', 'Cache-Control': 'public, max-age=60' } },
          { for: '/about', values: { 'Content-Type': 'text/plain' } },
        ],
      },
    );
    expect((await get('/x')).headers.location).to.equal('/docs/');
    const about = await get('/about');
    expect(about.headers).to.include({ 'x-a': 'file', 'x-b': 'rule', 'cache-control': 'public, max-age=60' });
    expect(about.headers['content-type']).to.equal('text/plain');
    expect((await ask(edge.port, '/about', { method: 'HEAD' })).headers['x-b']).to.equal('rule');
    const etag = about.headers.etag ?? '';
    const same = await get('/about', { 'if-none-match': etag });
    expect([same.status, same.headers['x-a']]).to.deep.equal([304, 'file']);
    expect((await get('/_headers')).status).to.equal(404);
  });

  it('of a site ask for the passwords of its file', async () => {
    const users = [{ name: 'anna', hash: await hashPassword('x', QUICK) }];
    await site([], { auth: [{ for: '/docs/*', users }], moves: [move('/open/*', '/docs/:splat', 200)] });
    for (const path of ['/docs/', '/DOCS/', '/open/']) expect((await get(path)).status, path).to.equal(401);
    expect((await get('/docs/', basic('anna', 'x'))).text).to.equal('docs/index.html');
    expect((await get('/about')).status).to.equal(200);
  });

  it('guard what a site’s own rewrite leads to', async () => {
    const users = [{ name: 'anna', hash: await hashPassword('x', QUICK) }];
    await site([{ type: 'basicAuth', for: '/docs/*', users }], { moves: [move('/open/*', '/docs/:splat', 200)] });
    expect((await get('/open/')).status).to.equal(401);
    expect((await get('/open/', basic('anna', 'x'))).text).to.equal('docs/index.html');
  });
}
