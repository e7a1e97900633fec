import { mkdir, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'chai';
import { findSitePath } from '../../../../../../workers/edge/proxy/sites/site-path.js';
import { useFolders } from '../../../../../support/folders.js';

describe('The file that a path names in a site', () => {
  const newFolder = useFolders();
  let folder: string;
  let root: string;

  before(async () => {
    folder = await newFolder();
    root = join(folder, 'site');
    await mkdir(join(root, 'docs/deep dir'), { recursive: true });
    await mkdir(join(root, '.well-known'));
    await mkdir(join(root, 'empty'));
    await mkdir(join(folder, 'site-secrets'));
    for (const name of [
      ...['index.html', 'a.txt', '.env', '.well-known/x', 'docs/index.html', 'docs/deep dir/index.html'],
    ]) {
      await writeFile(join(root, name), name);
    }
    await writeFile(join(folder, 'site-secrets/key'), 'secret');
    await symlink('../site-secrets/key', join(root, 'key.txt'));
    await symlink('../site-secrets', join(root, 'keys'));
    await symlink('a.txt', join(root, 'b.txt'));
    await symlink('loop', join(root, 'loop'));
  });

  const find = async (target: string) => {
    const found = await findSitePath(root, target);
    return found.type === 'file' ? found.path : found.type === 'redirect' ? `-> ${found.location}` : found.type;
  };

  it('is a file, or the index of a folder', async () => {
    expect(await find('/')).to.equal('index.html');
    expect(await find('/a.txt?x=1')).to.equal('a.txt');
    expect(await find('//a.txt')).to.equal('a.txt');
    expect(await find('/b.txt')).to.equal('b.txt');
    expect(await find('/docs/')).to.equal('docs/index.html');
    expect(await find('/.well-known/x')).to.equal('.well-known/x');
  });

  it('redirects a folder without its slash, with its query, and only to a path of this host', async () => {
    expect(await find('/docs')).to.equal('-> /docs/');
    expect(await find('/docs?a=b?c')).to.equal('-> /docs/?a=b?c');
    expect(await find('/docs?\xe9\n')).to.equal('-> /docs/?%e9%0a');
    expect(await find('/docs/deep%20dir')).to.equal('-> /docs/deep%20dir/');
    expect(await find('//docs')).to.equal('-> /docs/');
  });

  it('is missing for dotfiles, a folder without an index, a file with a slash, and what is not there', async () => {
    for (const target of [
      ...['/.env', '/empty', '/empty/', '/a.txt/', '/none', '/a.txt/b', '/loop', `/${'x'.repeat(300)}`],
    ]) {
      expect(await find(target), target).to.equal('missing');
    }
  });

  it('is never outside of the folder', async () => {
    for (const target of ['/key.txt', '/keys/key', '/keys/', '/keys'])
      expect(await find(target), target).to.equal('missing');
    const tricks = ['/../site-secrets/key', '/%2e%2e/site-secrets/key', '/docs/..%2f..%2fsite-secrets/key'];
    for (const target of [...tricks, '/..%5csite-secrets', '/a%00.txt', '/%', '/%c0%ae%c0%ae/key']) {
      expect(await find(target), target).to.be.oneOf(['invalid', 'missing']);
    }
    expect(await find('/%2e%2e/a.txt')).to.equal('invalid');
    expect(await find('/%252e%252e/a.txt')).to.equal('missing');
  });
});
