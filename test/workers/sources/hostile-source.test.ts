import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import type { ChildLimits } from '../../../shared/core/limited-child.js';
import { createLogger } from '../../../shared/core/log.js';
import { SourceError } from '../../../workers/failures/explained-errors.js';
import type { AddressPolicy } from '../../../workers/sources/checked-remote.js';
import { GitSource } from '../../../workers/sources/git-source.js';
import { deltaBomb, idOf, packed, packOf, pktLine, TYPE } from '../../support/packs.js';
import { createRepository, type TestRepository } from '../../support/repositories.js';

const never = new AbortController().signal;

async function failure(promise: Promise<unknown>): Promise<string> {
  const error = await promise.then(
    () => expect.fail('it succeeded'),
    (fault: unknown) => fault,
  );
  expect(error, String(error)).to.be.instanceOf(SourceError);
  return (error as Error).message;
}

const TREE = Buffer.alloc(0);
const COMMIT = Buffer.from(
  `tree ${idOf('tree', TREE).toString('hex')}\nauthor a <a@b.c> 1 +0000\ncommitter a <a@b.c> 1 +0000\n\nBomb\n`,
);

/** Starts a git server that answers each fetch with a commit and these objects. `packs` counts the fetches. */
async function serveBomb(bomb: Buffer[]): Promise<{ url: string; packs: () => number; server: Server }> {
  const sha = idOf('commit', COMMIT).toString('hex');
  const pack = packOf([packed(TYPE.commit, COMMIT), packed(TYPE.tree, TREE), ...bomb]);
  let packs = 0;
  const server = createServer(async (request, response) => {
    if (request.method === 'GET') {
      const able = 'shallow no-progress allow-tip-sha1-in-want allow-reachable-sha1-in-want';
      response.setHeader('content-type', 'application/x-git-upload-pack-advertisement');
      const refs = `${pktLine(`${sha} HEAD\0${able}\n`)}${pktLine(`${sha} refs/heads/main\n`)}0000`;
      response.end(`${pktLine('# service=git-upload-pack\n')}0000${refs}`);
      return;
    }
    let asked = '';
    for await (const chunk of request) asked += chunk;
    response.setHeader('content-type', 'application/x-git-upload-pack-result');
    response.write(`${pktLine(`shallow ${sha}`)}0000`);
    if (!asked.includes('done')) return response.end();
    packs += 1;
    response.write(pktLine('NAK\n'));
    response.end(pack);
  }).listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}/x.git`, packs: () => packs, server };
}

describe('A hostile repository', function () {
  this.timeout(120_000);
  let root: string;
  const opened: { server?: Server; repository?: TestRepository }[] = [];

  before(async () => {
    root = await mkdtemp(join(tmpdir(), 'ranvier-hostile-'));
  });
  afterEach(async () => {
    for (const { server, repository } of opened.splice(0)) {
      server?.close();
      await repository?.remove();
    }
  });
  after(() => rm(root, { recursive: true, force: true }));

  async function source(options: { limits?: Partial<ChildLimits>; policy?: AddressPolicy } = {}) {
    const dataDir = await mkdtemp(join(root, 'data-'));
    const config = { dataDir, allowLocalRepositories: true, buildEnvironment: {} };
    return new GitSource({ config, log: createLogger('test', 'silent'), ...options });
  }

  it('whose pack stands for very much takes no memory of the host, and is fetched once', async () => {
    const bomb = await serveBomb(deltaBomb(1, 200));
    opened.push(bomb);
    const resolving = (await source()).resolve({ url: bomb.url, ref: 'main', signal: never });
    expect(await failure(resolving)).to.match(/takes git more than 1 GiB of memory/);
    expect(bomb.packs()).to.equal(1);
  });

  it('whose pack takes very long to read ends with its processor time, and is fetched once', async () => {
    const bomb = await serveBomb(deltaBomb(1000, 4));
    opened.push(bomb);
    const limits = { processorSeconds: 2 };
    const resolving = (await source({ limits })).resolve({ url: bomb.url, ref: 'main', signal: never });
    expect(await failure(resolving)).to.match(/takes git more than 2 s of processor time/);
    expect(bomb.packs()).to.equal(1);
  });

  it('with folders that stand for billions of folders ends with its processor time', async () => {
    const trees = [Buffer.alloc(0)];
    for (let depth = 0; depth < 12; depth++) {
      const inner = idOf('tree', trees.at(-1) ?? TREE);
      const entries = Array.from({ length: 16 }, (_, i) => [
        Buffer.from(`40000 ${String.fromCharCode(97 + i)}\0`),
        inner,
      ]);
      trees.push(Buffer.concat(entries.flat()));
    }
    const top = idOf('tree', trees.at(-1) ?? TREE).toString('hex');
    const commit = Buffer.from(COMMIT.toString().replace(/tree \w+/, `tree ${top}`));
    const repository = await createRepository({ f: 'f' });
    opened.push({ repository });
    const pack = join(repository.folder, '.git', 'objects', 'pack', 'pack-deep.pack');
    await writeFile(pack, packOf([...trees.map((tree) => packed(TYPE.tree, tree)), packed(TYPE.commit, commit)]));
    await repository.git('index-pack', pack);
    const sha = idOf('commit', commit).toString('hex');
    await repository.git('update-ref', 'refs/heads/deep', sha);
    const reader = await source({ limits: { processorSeconds: 2 } });
    const directory = await mkdtemp(join(root, 'checkout-'));
    const checkout = reader.checkout({ url: repository.url, sha, directory, signal: never });
    expect(await failure(checkout)).to.match(/takes git more than 2 s of processor time/);
  });

  it('with attributes that change its files is written as it was committed', async () => {
    const text = '$Id$\n'.repeat(1000);
    const repository = await createRepository({
      text,
      wide: text,
      pointer: 'version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n',
    });
    opened.push({ repository });
    const attributes = '* text eol=crlf ident export-subst filter=lfs\nwide working-tree-encoding=UTF-32\n';
    await writeFile(join(repository.folder, '.gitattributes'), attributes);
    await repository.git('add', '.gitattributes');
    await repository.git('commit', '-q', '-m', 'Attributes');
    const sha = await repository.git('rev-parse', 'HEAD');
    const directory = await mkdtemp(join(root, 'checkout-'));
    await (await source()).checkout({ url: repository.url, sha, directory, signal: never });
    expect(await readFile(join(directory, 'text'), 'utf8')).to.equal(text);
    expect(await readFile(join(directory, 'wide'), 'utf8')).to.equal(text);
    expect(await readFile(join(directory, 'pointer'), 'utf8')).to.match(/^version https:\/\/git-lfs/);
  });

  it('whose .lfsconfig, filters and submodules lead to other places runs and reaches nothing', async () => {
    let requests = 0;
    const server = createServer((_, response) => {
      requests += 1;
      response.end();
    }).listen(0, '127.0.0.1');
    await new Promise((resolve) => server.once('listening', resolve));
    const at = `http://127.0.0.1:${(server.address() as AddressInfo).port}/x.git`;
    const ran = join(root, 'ran');
    const repository = await createRepository({
      pointer: 'version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n',
      '.lfsconfig': `[lfs]\n\turl = ${at}\n\tfetchexclude = ""\n[filter "lfs"]\n\tsmudge = touch ${ran}\n`,
      '.gitattributes': '* filter=lfs diff=lfs merge=lfs\n',
      '.gitmodules': `[submodule "s"]\n\tpath = s\n\turl = ${at}\n`,
    });
    opened.push({ server, repository });
    await repository.git('update-index', '--add', '--cacheinfo', `160000,${'1'.repeat(40)},s`);
    const checkOut = async (): Promise<string> => {
      await repository.git('commit', '-q', '--allow-empty', '-m', 'Modules');
      const sha = await repository.git('rev-parse', 'HEAD');
      const directory = await mkdtemp(join(root, 'checkout-'));
      await (await source()).checkout({ url: repository.url, sha, directory, signal: never });
      return directory;
    };
    expect(await readFile(join(await checkOut(), 'pointer'), 'utf8')).to.match(/^version https:\/\/git-lfs/);
    const settings = [
      'url = ssh://-oProxyCommand=x/y',
      'url = --upload-pack=x',
      `path = -x\n\turl = ${at}`,
      `url = ext::touch ${ran}`,
      `url = ${at}\n\tupdate = !touch ${ran}`,
    ];
    for (const setting of settings) {
      await writeFile(join(repository.folder, '.gitmodules'), `[submodule "s"]\n\tpath = s\n\t${setting}\n`);
      await repository.git('add', '.gitmodules');
      // git may refuse to fetch such a file.
      await checkOut().catch((error: unknown) => expect(error).to.be.instanceOf(SourceError));
    }
    expect(existsSync(ran)).to.equal(false);
    expect(requests).to.equal(0);
  });

  it('at a name that is an option of its resolver, or that resolves anew, is reached at the checked address only', async () => {
    const bomb = await serveBomb([]);
    opened.push(bomb);
    const { port } = new URL(bomb.url);
    const policy: AddressPolicy = {
      allowLocal: false,
      resolve: async () => ['127.0.0.1'],
      isPrivate: (address) => address !== '127.0.0.1',
    };
    const reader = await source({ policy });
    const at = (host: string) => reader.resolve({ url: `http://${host}:${port}/x.git`, ref: 'main', signal: never });
    // Only the policy knows these names.
    for (const host of ['known.test', 'known.test.', 'KNOWN.test', 'a_b.test'])
      expect((await at(host)).message).to.equal('Bomb');
    for (const host of ['+known.test', '-known.test', '*', '!x']) expect(await failure(at(host))).to.match(/host name/);
  });
});
