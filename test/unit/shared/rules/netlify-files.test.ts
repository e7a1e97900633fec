import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'chai';
import { compileMove, matchMove } from '../../../../shared/rules/moves.js';
import { matchPath, rulePath } from '../../../../shared/rules/path-pattern.js';
import { readSiteRules } from '../../../../workers/builders/result/site-rules.js';
import { changedHeaders } from '../../../../workers/edge/rules/header-changes.js';
import { compileRules } from '../../../../workers/edge/rules/rule-set.js';
import { useFolders } from '../../../support/folders.js';

/** The text of `_redirects`, a request, and the answer: status, `!` and target; null if no rule matches. */
const REDIRECTS: [string, string, string | null][] = [
  ['/home /', '/home', '301 /'],
  ['/home / 302', '/home', '302 /'],
  ['/home / 303', '/home', '303 /'],
  ['/home / 307', '/home', '307 /'],
  ['/home / 308', '/home', '308 /'],
  ['/ecommerce /store-closed 404', '/ecommerce', '404 /store-closed'],
  ['/gone /gone.html 410', '/gone', '410 /gone.html'],
  ['/pass-through /index.html 200', '/pass-through', '200 /index.html'],
  ['/app/* /app/index.html 200!', '/app/x', '200! /app/index.html'],
  ['/x https://example.com/y 301!', '/x', '301! https://example.com/y'],
  ['/a /b\n/a /c', '/a', '301 /b'],
  ['/a/* /all 302\n/a/b /one', '/a/b', '302 /all'],
  ['# /a /b\n/a /c', '/a', '301 /c'],
  ['\n\n  /a   /b   301   # why', '/a', '301 /b'],
  ['/a /b#part', '/a', '301 /b#part'],
  ['/a\t/b\t302', '/a', '302 /b'],
  ['/a /b\r\n/c /d\r\n', '/c', '301 /d'],
  ['/a', '/a', null],
  ['/a b 301', '/a', null],
  ['/blog/title /blog', '/blog/title/', '301 /blog'],
  ['/blog/title/ /blog', '/blog/title', '301 /blog'],
  ['/blog /x', '/Blog', null],
  ['/blog /x', '/blog/post', null],
  ['/ /home', '/', '301 /home'],
  ['/a /b', '//a', '301 /b'],
  ['/news/* /blog/:splat', '/news/2004/01/10/my-story', '301 /blog/2004/01/10/my-story'],
  ['/news/* /blog/:splat', '/news/', '301 /blog/'],
  ['/news/* /blog/:splat', '/news', '301 /blog/'],
  ['/news/* /blog/:splat', '/news/x/y/', '301 /blog/x/y/'],
  ['/news/* /blog/:splat', '/newsletter', null],
  ['/* /index.html 200', '/', '200 /index.html'],
  ['/* /index.html 200', '/a/b/c', '200 /index.html'],
  ['/* 200', '/x/y', '200 /x/y'],
  ['/admin/* 200!', '/admin/x', '200! /admin/x'],
  ['/articles/* /posts/:splat/end', '/articles/x', '301 /posts/x/end'],
  ['/foo/*/bar /baz/:splat', '/foo/x/y/bar', '301 /baz/x/y'],
  ['/foo/*/bar /baz/:splat', '/foo/x', null],
  ['/foo* /baz/:splat', '/foobar', '301 /baz/bar'],
  ['/x/* /y?path=:splat', '/x/foo/bar', '301 /y?path=foo/bar'],
  ['/go/* /:splat', '/go//example.com', '301 /example.com'],
  ['/go/:name/* /:splat/:name', '/go/example.com', '301 /example.com'],
  [
    '/news/:month/:date/:year/:slug /blog/:year/:month/:date/:slug',
    '/news/02/12/2004/my-story',
    '301 /blog/2004/02/12/my-story',
  ],
  ['/news/:year/:slug /blog/:slug', '/news/2004', null],
  ['/news/:year/:slug /blog/:slug', '/news/2004/a/b', null],
  ['/x/:id/* /y/:splat/:id', '/x/1/2/3', '301 /y/2/3/1'],
  ['/a/:id /x/:id.html', '/a/5', '301 /x/5.html'],
  ['/a/:id/:idx /x/:idx/:id', '/a/5/6', '301 /x/6/5'],
  ['/a /b/:nope', '/a', '301 /b/:nope'],
  ['/x/:a /y/:a', '/x/b%20c', '301 /y/b%20c'],
  ['/x/:a /y/:a', '/x/b%2Fc', '301 /y/b%2Fc'],
  ['/authors/c%C3%A9line /authors/about-c%C3%A9line', '/authors/c%C3%A9line', '301 /authors/about-c%C3%A9line'],
  ['/caf%c3%a9 /coffee', '/caf%C3%A9', '301 /coffee'],
  ['/@user /u', '/%40user', '301 /u'],
  ['/(x) /y', '/(x)', '301 /y'],
  ['/a.b /y', '/aXb', null],
  ['/store id=:id /blog/:id 301', '/store?id=my-blog-post', '301 /blog/my-blog-post'],
  ['/store id=:id /blog/:id 301', '/store', null],
  ['/store id=:id /blog/:id 301', '/store?name=x', null],
  ['/store id=:id /blog/:id', '/store?id=5&from=mail', '301 /blog/5?from=mail'],
  ['/articles id=:id tag=:tag /posts/:tag/:id 301', '/articles?tag=a&id=b', '301 /posts/a/b'],
  ['/articles id=:id tag=:tag /posts/:tag/:id 301', '/articles?id=b', null],
  ['/articles id=:id tag=:tag /posts/:tag/:id\n/articles id=:id /posts/:id', '/articles?id=b', '301 /posts/b'],
  ['/ page=news /news', '/?page=news', '301 /news'],
  ['/ page=news /news', '/?page=other', null],
  ['/path/* param1=:value1 /otherpath/:value1/:splat 301', '/path/z?param1=q', '301 /otherpath/q/z'],
  ['/x a=:a /y?b=:a', '/x?a=1&c=2', '301 /y?b=1'],
  ['/x a=:a /y/:a', '/x?a=b%20c', '301 /y/b%20c'],
  ['/x a=:a /:a', '/x?a=//example.com', '301 /example.com'],
  ['/x /y', '/x?b=2&c=3', '301 /y?b=2&c=3'],
  ['/x /y?a=1', '/x?b=2', '301 /y?a=1'],
  ['/x https://example.com/y', '/x?b=2', '301 https://example.com/y?b=2'],
  ['/x /y#part', '/x?b=2', '301 /y?b=2#part'],
  [
    'http://blog.example.com/* https://www.example.com/blog/:splat 301!',
    'http://blog.example.com/a',
    '301! https://www.example.com/blog/a',
  ],
  ['http://blog.example.com/* https://www.example.com/blog/:splat', 'https://blog.example.com/a', null],
  ['http://blog.example.com/* https://www.example.com/blog/:splat', 'http://shop.example.com/a', null],
  ['https://blog.example.com https://www.example.com/', 'https://blog.example.com/', '301 https://www.example.com/'],
  // These lines are ignored, with a note.
  ['/ /anz 302 Country=au,nz\n/ /x', '/', '301 /x'],
  ['/ /de 302 Language=de', '/', null],
  ['/admin/* /admin/:splat 200 Role=admin', '/admin/x', null],
  ['/api/* https://api.example.com/:splat 200', '/api/x', null],
  ['/x /y 418', '/x', null],
  ['/x https://:host/y', '/x', null],
  ['/.netlify/x /y', '/.netlify/x', null],
];

/** The text of `_headers`, a path, and the headers of its answer. */
const HEADERS: [string, string, Record<string, string>][] = [
  ['/*\n  X-Frame-Options: DENY', '/', { 'X-Frame-Options': 'DENY' }],
  ['/*\n  X-Frame-Options: DENY', '/a/b.html', { 'X-Frame-Options': 'DENY' }],
  ['/templates/index.html\n  X-A: 1', '/templates/index.html', { 'X-A': '1' }],
  ['/templates/index.html\n  X-A: 1', '/templates/index2.html', {}],
  ['/a\n  X-A: 1\n/a\n  X-B: 2', '/a', { 'X-A': '1', 'X-B': '2' }],
  ['/*\n  X-A: 1\n/b\n  X-A: 2', '/b', { 'X-A': '2' }],
  ['/*\n  X-A: 1\n/b\n  x-a: 2', '/b', { 'x-a': '2' }],
  [
    '/*\n  cache-control: max-age=0\n  cache-control: no-cache\n  cache-control: must-revalidate',
    '/',
    { 'cache-control': 'max-age=0, no-cache, must-revalidate' },
  ],
  ['/*\n  cache-control: max-age=0,no-cache', '/', { 'cache-control': 'max-age=0, no-cache' }],
  ['# a comment\n/a\n  # another: one\n  X-A: 1', '/a', { 'X-A': '1' }],
  ['/a\n\n  X-A: 1', '/a', { 'X-A': '1' }],
  ['/a\nX-A: 1', '/a', { 'X-A': '1' }],
  ['/a\r\n  X-A: 1\r\n', '/a', { 'X-A': '1' }],
  ['/a\n  Link: <https://example.com/x>; rel=preload', '/a', { Link: '<https://example.com/x>; rel=preload' }],
  ['/a/\n  X-A: 1', '/a', { 'X-A': '1' }],
  ['/a\n  X-A: 1', '/a/', { 'X-A': '1' }],
  ['/a\n  X-A: 1', '/A', { 'X-A': '1' }],
  ['/docs/:page\n  X-A: 1', '/docs/intro', { 'X-A': '1' }],
  ['/docs/:page\n  X-A: 1', '/docs/a/b', {}],
  ['/docs/:page\n  X-A: 1', '/docs', {}],
  ['/assets/*\n  X-A: 1', '/assets', { 'X-A': '1' }],
  ['/assets/*\n  X-A: 1', '/assets/a/b.js', { 'X-A': '1' }],
  ['/*.js\n  X-A: 1', '/a/b.js', { 'X-A': '1' }],
  ['/*.js\n  X-A: 1', '/a/b.css', {}],
  ['/a*c/*.js\n  X-A: 1', '/abc/x.js', { 'X-A': '1' }],
  ['/*/a\n  X-A: 1', '/x/y/a', { 'X-A': '1' }],
  ['  X-A: 1\n/a\n  X-B: 2', '/a', { 'X-B': '2' }],
  ['/a\n  X-A:\n  X-B: 2', '/a', { 'X-B': '2' }],
  ['/a\n  Content-Length: 5\n  Set-Cookie: a=b\n  X-B: 2', '/a', { 'X-B': '2' }],
];

describe("a site's rules, as Netlify documents them", () => {
  const newFolder = useFolders();
  let folder: string;
  before(async () => {
    folder = await newFolder();
  });

  async function read(redirects: string, headers: string) {
    await writeFile(join(folder, '_redirects'), redirects);
    await writeFile(join(folder, '_headers'), headers);
    return readSiteRules(folder);
  }

  async function redirected(text: string, asked: string): Promise<string | null> {
    const { rules } = await read(text, '');
    const url = new URL(asked.startsWith('/') ? `http://site.test${asked}` : asked);
    const [pathname = '/', query = ''] = asked.startsWith('/') ? asked.split('?') : [url.pathname, ''];
    for (const move of (rules?.moves ?? []).map(compileMove)) {
      const target = matchMove(move, { path: rulePath(pathname), query, origin: url.origin });
      if (target === null) continue;
      const { status, force } = move.rule;
      const suffix = `${target.query === '' ? '' : `?${target.query}`}${target.fragment}`;
      return `${status}${force ? '!' : ''} ${target.origin}${target.path}${suffix}`;
    }
    return null;
  }

  for (const [text, asked, expected] of REDIRECTS) {
    it(`_redirects: ${JSON.stringify(text)} at ${asked}`, async () => {
      expect(await redirected(text, asked)).to.equal(expected);
    });
  }

  for (const [text, path, expected] of HEADERS) {
    it(`_headers: ${JSON.stringify(text)} at ${path}`, async () => {
      const { rules: site } = await read('', text);
      const { headers } = compileRules({ rulesKey: 'x', rules: [], site }).site;
      const mine = headers.filter(({ pattern }) => matchPath(pattern, rulePath(path)) !== null);
      const flat = changedHeaders(
        [],
        mine.map(({ change }) => change),
      );
      const pairs = flat.flatMap((name, at) => (at % 2 === 0 ? [[name, flat[at + 1]]] : []));
      expect(Object.fromEntries(pairs)).to.deep.equal(expected);
    });
  }

  it('takes the passwords of Basic-Auth, and never sends them', async () => {
    const { rules, notes } = await read('', '/admin/*\n  Basic-Auth: anna:secret-word bert:other-word\n  X-A: 1');
    expect(rules?.headers).to.deep.equal([{ for: '/admin/*', values: { 'X-A': '1' } }]);
    expect(rules?.auth[0]?.users.map(({ name }) => name)).to.deep.equal(['anna', 'bert']);
    expect(JSON.stringify([rules, notes])).to.not.contain('word');
    expect((await read('', '/*/:x\n  Basic-Auth: a:b')).rules?.auth[0]?.for).to.equal('/*');
  });

  it('notes what is ignored and why, and does not read a file that is too large', async () => {
    const redirects = '/api/* https://api.example.com/:splat 200\n/ /de 302 Language=de\nnothing\n/x /y 418';
    const { notes } = await read(redirects, '/a\n  Host: x\n/*/:x\n  X-A: 1');
    expect(notes.join('\n')).to.contain('the rule for /api/* is ignored: a rewrite to another host');
    expect(notes.join('\n')).to.contain('the condition Language is not supported');
    expect(notes.join('\n')).to.contain('Could not parse redirect line 3');
    expect(notes.join('\n')).to.contain('must be one of 200, 301');
    expect(notes.join('\n')).to.contain('the header Host for /a is ignored: it belongs to the edge');
    expect(notes.join('\n')).to.contain('the headers for /*/:x are ignored');
    expect((await read(`/a /b\n${'# '.repeat(70_000)}`, '')).rules).to.equal(null);
  });
});
