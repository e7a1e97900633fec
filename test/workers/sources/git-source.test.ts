import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, readdir, readFile, rm, truncate, utimes, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect } from 'chai';
import { createLogger } from '../../../shared/core/log.js';
import { SourceError } from '../../../workers/failures/explained-errors.js';
import type { AddressPolicy } from '../../../workers/sources/checked-remote.js';
import { GitSource } from '../../../workers/sources/git-source.js';
import type { RepositorySource } from '../../../workers/sources/repository-source.js';
import { eventually } from '../../support/processes.js';
import {
  createRepository,
  type GitServer,
  hasGit,
  startGitServer,
  type TestRepository,
} from '../../support/repositories.js';

const run = promisify(execFile);
const log = createLogger('test', 'silent');
const never = new AbortController().signal;

async function failure(promise: Promise<unknown>): Promise<string> {
  try {
    await promise;
  } catch (error) {
    expect(error, String(error)).to.be.instanceOf(SourceError);
    return (error as Error).message;
  }
  throw new Error('it succeeded');
}

describe(`Repositories through git${hasGit ? '' : ': git is not installed'}`, () => {
  let root: string;
  let dataDir: string;
  let repository: TestRepository;
  let first: string;
  let source: RepositorySource;

  before(async function () {
    if (!hasGit) this.skip();
    root = await mkdtemp(join(tmpdir(), 'ranvier-sources-'));
    repository = await createRepository({ 'index.html': 'one', 'bin/run': { script: '#!/bin/sh\n' } }, 'Say one');
    first = await repository.git('rev-parse', 'HEAD');
  });
  after(async () => {
    await repository?.remove();
    if (root) await rm(root, { recursive: true, force: true });
  });
  beforeEach(async () => {
    dataDir = await mkdtemp(join(root, 'data-'));
    source = make({});
  });

  function make(options: {
    allowLocalRepositories?: boolean;
    policy?: AddressPolicy;
    buildEnvironment?: Record<string, string>;
  }): RepositorySource {
    const { allowLocalRepositories = true, buildEnvironment = {}, policy } = options;
    return new GitSource({
      config: { dataDir, allowLocalRepositories, buildEnvironment },
      log,
      ...(policy ? { policy } : {}),
    });
  }

  async function emptyFolder(): Promise<string> {
    return mkdtemp(join(root, 'checkout-'));
  }

  it('resolves a branch, a tag, an annotated tag and a commit to the commit and its subject', async () => {
    await repository.git('tag', '-f', 'v1', first);
    await repository.git('tag', '-f', '-a', '-m', 'noted', 'v1-noted', first);
    for (const ref of ['main', 'v1', 'v1-noted', first]) {
      expect(await source.resolve({ url: repository.url, ref, signal: never }), ref).to.deep.equal({
        sha: first,
        message: 'Say one',
      });
    }
  });

  it('checks out exactly the files of the commit, with links and executable bits and without .git', async () => {
    const sha = await repository.commit('Say two', { 'index.html': 'two', 'sub/link': { link: '../index.html' } });
    const older = await emptyFolder();
    await source.checkout({ url: repository.url, sha: first, directory: older, signal: never });
    expect((await readdir(older)).sort()).to.deep.equal(['bin', 'index.html']);
    expect(await readFile(join(older, 'index.html'), 'utf8')).to.equal('one');
    const newer = await emptyFolder();
    await source.checkout({ url: repository.url, sha, directory: newer, signal: never });
    expect(await readFile(join(newer, 'sub/link'), 'utf8')).to.equal('two');
    await run(join(newer, 'bin/run'));
    await repository.git('reset', '-q', '--hard', first);
  });

  it('reads one file of a commit, and no link, folder or file above the limit', async () => {
    const files = { 'ranvier.yaml': 'größer: 1\n', 'a.yaml/b': 'x', 'link.yaml': { link: 'index.html' } };
    const sha = await repository.commit('Say it in a file', files);
    const file = (path: string, maxBytes = 100, commit = sha) =>
      source.fileOf({ url: repository.url, sha: commit, path, maxBytes, signal: never });
    expect(await file('ranvier.yaml')).to.deep.equal({ type: 'found', text: 'größer: 1\n' });
    expect(await file('ranvier.yaml', 10)).to.deep.equal({ type: 'tooLarge' });
    for (const path of ['a.yaml', 'link.yaml', 'none.yaml', '*.yaml']) {
      expect(await file(path), path).to.deep.equal({ type: 'missing' });
    }
    expect(await file('ranvier.yaml', 100, first)).to.deep.equal({ type: 'missing' });
    await repository.git('reset', '-q', '--hard', first);
  });

  it('lists the branches if one is missing', async () => {
    await repository.git('branch', '-f', 'develop', first);
    const message = await failure(source.resolve({ url: repository.url, ref: 'nope', signal: never }));
    expect(message).to.equal(
      `branch or tag "nope" does not exist in ${repository.url}; it has develop, main; set branch to one of them`,
    );
    const missing = 'a'.repeat(40);
    expect(await failure(source.resolve({ url: repository.url, ref: missing, signal: never }))).to.match(/commit/);
    const nowhere = `file://${join(root, 'nowhere')}`;
    expect(await failure(source.resolve({ url: nowhere, ref: 'main', signal: never }))).to.contain('nowhere');
  });

  it('takes the default branch of a repository that has no main, and no other branch for another name', async () => {
    const older = await createRepository({ f: 'x' });
    try {
      await older.git('branch', '-m', 'main', 'master');
      const { sha, defaultBranch } = await source.resolve({ url: older.url, ref: 'main', signal: never });
      expect(defaultBranch).to.equal('master');
      expect(sha).to.equal((await source.resolve({ url: older.url, ref: 'master', signal: never })).sha);
      expect(await failure(source.resolve({ url: older.url, ref: 'trunk', signal: never }))).to.match(
        /it has master; set branch to one of them$/,
      );
      expect(await source.resolve({ url: older.url, ref: sha, signal: never })).to.not.have.property('defaultBranch');
    } finally {
      await older.remove();
    }
  });

  it('reads a local repository that belongs to another user', async function () {
    if (process.getuid?.() !== 0) this.skip();
    const foreign = await createRepository({ f: 'x' });
    await run('chown', ['-R', '54321:54321', foreign.folder]);
    try {
      const { sha } = await source.resolve({ url: foreign.url, ref: 'main', signal: never });
      const directory = await emptyFolder();
      await source.checkout({ url: foreign.url, sha, directory, signal: never });
      expect(await readFile(join(directory, 'f'), 'utf8')).to.equal('x');
    } finally {
      await foreign.remove();
    }
  });

  it('reads no repository out of the data folder of the platform', async () => {
    await source.resolve({ url: repository.url, ref: 'main', signal: never });
    const [mirror = ''] = (await readdir(join(dataDir, 'mirrors'))).filter((name) => /^[0-9a-f]{64}$/.test(name));
    const url = `file://${join(dataDir, 'mirrors', mirror)}`;
    expect(await failure(source.resolve({ url, ref: first, signal: never }))).to.match(/data folder/);
  });

  it('makes a damaged mirror again, and is not blocked by the lock files of a killed git', async () => {
    await source.resolve({ url: repository.url, ref: 'main', signal: never });
    const mirrors = join(dataDir, 'mirrors');
    const [name = ''] = (await readdir(mirrors)).filter((entry) => /^[0-9a-f]{64}$/.test(entry));
    const packs = join(mirrors, name, 'objects/pack');
    for (const pack of await readdir(packs)) await truncate(join(packs, pack), 20);
    await writeFile(join(mirrors, name, 'shallow.lock'), '');
    await writeFile(join(mirrors, `${name}.lock`), JSON.stringify({ pid: 999_999_999, startedAt: '1', id: 'dead' }));
    const directory = await emptyFolder();
    await source.checkout({ url: repository.url, sha: first, directory, signal: never });
    expect(existsSync(join(directory, 'index.html'))).to.equal(true);
    expect(existsSync(join(mirrors, `${name}.lock`))).to.equal(false);
  });

  it('removes mirrors that were not used for a month, and makes them again if needed', async () => {
    await source.resolve({ url: repository.url, ref: 'main', signal: never });
    const mirrors = join(dataDir, 'mirrors');
    expect(await source.sweep()).to.equal(0);
    for (const name of await readdir(mirrors)) await utimes(join(mirrors, name), 0, 0);
    await source.sweep();
    expect(await readdir(mirrors)).to.deep.equal([]);
    await source.resolve({ url: repository.url, ref: 'main', signal: never });
  });

  it('serves several callers at once from one mirror', async () => {
    const second = make({});
    const shas = await Promise.all(
      Array.from({ length: 6 }, async (_, i) => {
        const from = i % 2 === 0 ? source : second;
        const { sha } = await from.resolve({ url: repository.url, ref: 'main', signal: never });
        const directory = await emptyFolder();
        await from.checkout({ url: repository.url, sha, directory, signal: never });
        return (await readdir(directory)).length;
      }),
    );
    expect(shas).to.deep.equal([2, 2, 2, 2, 2, 2]);
    expect((await readdir(join(dataDir, 'mirrors'))).filter((name) => /lock|index/.test(name))).to.deep.equal([]);
  });

  it('refuses addresses that would run a command, read a file or use another protocol', async () => {
    const mark = join(root, 'PWNED');
    const closed = make({ allowLocalRepositories: false });
    const urls = [
      `--upload-pack=touch ${mark}`,
      `ext::sh -c touch% ${mark}`,
      `ssh://-oProxyCommand=touch%20${mark}/x`,
      'git@127.0.0.1:x/y',
      'git://127.0.0.1/x',
      repository.folder,
      repository.url,
      'http://127.0.0.1:1/x',
      'http://0x7f000001/x',
      'http://[::ffff:127.0.0.1]/x',
      'http://localhost/x',
      'ftp://example.test/x',
    ];
    for (const url of urls) await failure(closed.resolve({ url, ref: 'main', signal: never }));
    for (const ref of [`--upload-pack=touch ${mark}`, '-x', 'a..b', 'a b', '$(touch x)', 'x^{}', '', 'x:y', '+*']) {
      expect(await failure(source.resolve({ url: repository.url, ref, signal: never })), ref).to.match(/not a name/);
    }
    const directory = await emptyFolder();
    await failure(source.checkout({ url: repository.url, sha: '--help', directory, signal: never }));
    expect(existsSync(mark)).to.equal(false);
  });

  it('runs no hook, filter or submodule of a repository', async () => {
    const mark = join(root, 'RAN');
    const touch = { script: `#!/bin/sh\ntouch ${mark}\n` };
    const hostile = await createRepository({
      '.gitattributes': '* filter=evil\n',
      '.gitmodules': `[submodule "s"]\n\tpath = s\n\turl = ${repository.url}\n`,
      'hooks/post-checkout': touch,
      f: 'x',
    });
    try {
      await hostile.git('config', 'filter.evil.smudge', `touch ${mark}`);
      await hostile.git('config', 'uploadpack.packObjectsHook', `touch ${mark}; git`);
      await hostile.git('config', 'core.fsmonitor', `touch ${mark}`);
      const { sha } = await source.resolve({ url: hostile.url, ref: 'main', signal: never });
      const directory = await emptyFolder();
      await source.checkout({ url: hostile.url, sha, directory, signal: never });
      expect(await readFile(join(directory, 'f'), 'utf8')).to.equal('x');
      expect(existsSync(mark)).to.equal(false);
    } finally {
      await hostile.remove();
    }
  });

  it('refuses a commit that becomes too large when it is checked out', async () => {
    const large = await createRepository({ f: 'x' });
    try {
      await truncate(join(large.folder, 'f'), 0);
      await writeFile(join(large.folder, 'zeros'), Buffer.alloc(64 * 1024 ** 2));
      await large.git('add', '.');
      const blob = await large.git('rev-parse', ':zeros');
      const entries = Array.from({ length: 40 }, (_, i) => `100644 ${blob} 0\tzeros${i}`).join('\n');
      const listing = join(root, 'entries');
      await writeFile(listing, `${entries}\n`);
      await run('sh', [
        '-c',
        'git -c safe.directory="*" -C "$1" update-index --index-info <"$2"',
        'sh',
        large.folder,
        listing,
      ]);
      await large.git('commit', '-q', '-m', 'Bomb');
      const { sha } = await source.resolve({ url: large.url, ref: 'main', signal: never });
      const directory = await emptyFolder();
      const message = await failure(source.checkout({ url: large.url, sha, directory, signal: never }));
      expect(message).to.match(/2\.\d GiB/);
      expect(await readdir(directory)).to.deep.equal([]);
    } finally {
      await large.remove();
    }
  });

  describe('over HTTP', () => {
    let server: GitServer;
    let base: string;
    const credentials = `Basic ${Buffer.from('user:s3cret-token').toString('base64')}`;

    before(async function () {
      if (!hasGit) this.skip();
      const folder = await mkdtemp(join(root, 'served-'));
      await run('git', ['-c', 'safe.directory=*', 'clone', '-q', '--bare', repository.folder, join(folder, 'app.git')]);
      server = await startGitServer(folder, (req, res, url) => {
        const [, way = '', ...rest] = url.pathname.split('/');
        const reply = (status: number, headers: Record<string, string> = {}) => {
          res.writeHead(status, headers);
          res.end('an answer');
          return true;
        };
        if (way === 'moved') return reply(301, { location: `/${rest.join('/')}${url.search}` });
        if (way === 'loop') return reply(302, { location: `/loop/x${rest.join('/')}${url.search}` });
        if (way === 'elsewhere')
          return reply(302, { location: `http://localhost:${server.port}/${rest.join('/')}${url.search}` });
        if (way === 'file') return reply(302, { location: `file:///${rest.join('/')}${url.search}` });
        if (way === 'page') return reply(200);
        if (way === 'broken') return reply(502);
        if (way === 'private') {
          if (req.headers.authorization !== credentials) return reply(401, { 'www-authenticate': 'Basic realm="git"' });
          req.url = `/${rest.join('/')}${url.search}`;
          url.pathname = `/${rest.join('/')}`;
        }
        return false;
      });
      base = server.origin;
    });
    after(() => server?.close());

    it('resolves and checks out, and does not fetch again what the mirror has', async () => {
      const url = `${base}/app.git`;
      const { sha, message } = await source.resolve({ url, ref: 'main', signal: never });
      expect({ sha, message }).to.deep.equal({ sha: first, message: 'Say one' });
      const before = server.requests.length;
      await source.checkout({ url, sha, directory: await emptyFolder(), signal: never });
      await source.resolve({ url, ref: sha, signal: never });
      expect(server.requests.length).to.equal(before);
    });

    it('follows the redirect of a renamed repository, but no loop and no other protocol', async () => {
      expect((await source.resolve({ url: `${base}/moved/app.git`, ref: 'main', signal: never })).sha).to.equal(first);
      const thrice = `${base}/moved/moved/moved/app.git`;
      expect((await source.resolve({ url: thrice, ref: 'main', signal: never })).sha).to.equal(first);
      const loop = source.resolve({ url: `${base}/loop/app.git`, ref: 'main', signal: never });
      expect(await failure(loop)).to.match(/redirects more than 3 times/);
      const file = source.resolve({ url: `${base}/file/app.git`, ref: 'main', signal: never });
      expect(await failure(file)).to.match(/redirects to/);
    });

    it('uses a token without showing it, and never sends it to another host', async () => {
      const url = `${base.replace('//', '//user:s3cret-token@')}/private/app.git`;
      const { sha } = await source.resolve({ url, ref: 'main', signal: never });
      expect(sha).to.equal(first);
      const mirrors = join(dataDir, 'mirrors');
      const { stdout } = await run('sh', ['-c', 'grep -rl -e s3cret -e "$1" "$2" || true', 'sh', credentials, mirrors]);
      expect(stdout).to.equal('');
      const wrong = url.replace('s3cret-token', 'wr0ng-token');
      const refused = await failure(source.resolve({ url: wrong, ref: 'main', signal: never }));
      expect(refused)
        .to.match(/refuses the user and password/)
        .and.not.contain('wr0ng');
      const missing = await failure(source.resolve({ url, ref: 'nope', signal: never }));
      expect(missing).to.contain(`${base}/private/app.git; it has`).and.not.contain('s3cret');
      const away = url.replace('/private/', '/elsewhere/');
      server.requests.length = 0;
      await source.resolve({ url: away, ref: 'main', signal: never });
      const elsewhere = server.requests.filter(({ host }) => host.startsWith('localhost'));
      expect(elsewhere.length).to.be.greaterThan(0);
      expect(elsewhere.map(({ authorization }) => authorization).join('')).to.equal('');
    });

    it('does not serve a copy made with one password to a caller without it', async () => {
      const url = `${base.replace('//', '//user:s3cret-token@')}/private/app.git`;
      await source.resolve({ url, ref: first, signal: never });
      const without = source.resolve({ url: `${base}/private/app.git`, ref: first, signal: never });
      expect(await failure(without)).to.match(/needs credentials/);
    });

    it("explains the server's answers", async () => {
      const message = (path: string) => failure(source.resolve({ url: `${base}/${path}`, ref: 'main', signal: never }));
      expect(await message('nothing.git')).to.match(/does not exist/);
      expect(await message('private/app.git')).to.match(/does not exist or needs credentials/);
      expect(await message('broken/app.git')).to.match(/HTTP status 502/);
      expect(await message('page/app.git')).to.match(/no branch at all/);
      const closed = failure(source.resolve({ url: 'http://127.0.0.1:1/x.git', ref: 'main', signal: never }));
      expect(await closed).to.match(/not reachable: .*127\.0\.0\.1/);
    });

    it('checks the addresses of every name and every redirect, and connects only to those', async () => {
      const names: Record<string, string[]> = {
        'repo.test': ['127.0.0.1'],
        'inside.test': ['10.1.2.3'],
        'both.test': ['127.0.0.1', '169.254.169.254'],
      };
      const policy: AddressPolicy = {
        allowLocal: false,
        resolve: async (host) => names[host] ?? Promise.reject(new Error('no such name')),
        isPrivate: (address) => address !== '127.0.0.1',
      };
      const guarded = make({ policy });
      const at = (host: string, path = 'app.git') => `http://${host}:${server.port}/${path}`;
      const tried = (url: string) => guarded.resolve({ url, ref: 'main', signal: never });
      // Only the policy resolves the name, so git must have used the checked address.
      expect((await tried(at('repo.test'))).sha).to.equal(first);
      expect(await failure(tried(at('inside.test')))).to.match(/private address 10\.1\.2\.3/);
      expect(await failure(tried(at('both.test')))).to.match(/private address 169\.254\.169\.254/);
      expect(await failure(tried(at('unknown.test')))).to.match(/host unknown\.test cannot be found/);
      server.requests.length = 0;
      expect(await failure(tried(at('repo.test', 'elsewhere/app.git')))).to.match(/private address/);
      expect(server.requests.some(({ host }) => host.startsWith('localhost'))).to.equal(false);
    });

    it('ends git at once when it is aborted', async () => {
      const silent = createServer(() => undefined).listen(0, '127.0.0.1');
      await new Promise((resolve) => silent.once('listening', resolve));
      const { port } = silent.address() as { port: number };
      try {
        const controller = new AbortController();
        const asked = new Promise((resolve) => silent.once('request', resolve));
        const reason = new Error('cancelled');
        const resolving = source.resolve({
          url: `http://127.0.0.1:${port}/x.git`,
          ref: 'main',
          signal: controller.signal,
        });
        resolving.catch(() => undefined);
        await asked;
        controller.abort(reason);
        expect(await resolving.catch((error: unknown) => error)).to.equal(reason);
        await eventually('git has ended', async () => {
          const { stdout } = await run('sh', [
            '-c',
            'ps -eo args | grep -F "127.0.0.1:$1/" | grep -v grep || true',
            'sh',
            String(port),
          ]);
          return stdout === '';
        });
      } finally {
        silent.closeAllConnections();
        silent.close();
      }
    });
  });
});
