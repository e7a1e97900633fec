import { mkdir, mkdtemp, readdir, readFile, realpath, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { DependencyCopy } from '../../../../workers/builders/dependencies/dependency-copy.js';

describe('The copy of dependencies', () => {
  const { signal } = new AbortController();
  let root: string;
  let app: string;
  let copy: DependencyCopy;

  beforeEach(async () => {
    root = await realpath(await mkdtemp(join(tmpdir(), 'ranvier-copy-')));
    app = join(root, 'app');
    await mkdir(join(root, 'kept'));
    copy = new DependencyCopy(join(root, 'kept/service.copy'));
    await write('app/web/node_modules/ms/index.js', 'ms');
    await write('elsewhere/node_modules/secret.js', 'secret');
  });
  afterEach(() => rm(root, { recursive: true, force: true }));

  async function write(path: string, text: string): Promise<void> {
    await mkdir(join(root, path, '..'), { recursive: true });
    await writeFile(join(root, path), text);
  }

  it('is found for its key only, and replaced by the next one', async () => {
    await copy.keep('one', app, 'web/node_modules', signal);
    const found = await copy.find('one');
    expect(await readFile(join(found ?? '', 'ms/index.js'), 'utf8')).to.equal('ms');
    await write('app/web/node_modules/ms/index.js', 'other');
    await copy.keep('two', app, 'web/node_modules', signal);
    expect(await copy.find('one')).to.equal(null);
    expect(await readFile(join((await copy.find('two')) ?? '', 'ms/index.js'), 'utf8')).to.equal('other');
    await copy.forget();
    expect(await readdir(join(root, 'kept'))).to.deep.equal([]);
  });

  it('is not made of what a link leads to, and the earlier copy is removed', async () => {
    await copy.keep('one', app, 'web/node_modules', signal);
    await symlink('../elsewhere', join(app, 'link'));
    await copy.keep('two', app, 'link/node_modules', signal);
    expect([await copy.find('one'), await copy.find('two')]).to.deep.equal([null, null]);
    await mkdir(join(app, 'own'));
    await symlink('../../elsewhere/node_modules', join(app, 'own/node_modules'));
    await copy.keep('three', app, 'own/node_modules', signal);
    expect(await copy.find('three')).to.equal(null);
    expect(await readdir(join(root, 'kept'))).to.deep.equal([]);
  });

  it('that a killed worker has begun is removed with the next one', async () => {
    await write('kept/service.copy-unfinished/node_modules/a.js', '');
    await write('kept/other.copy/key', 'theirs');
    await copy.keep('one', app, 'web/node_modules', signal);
    expect((await readdir(join(root, 'kept'))).sort()).to.deep.equal(['other.copy', 'service.copy']);
  });
});
