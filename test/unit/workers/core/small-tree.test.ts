import {
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { ownSmallTree, removeSmallTree } from '../../../../workers/core/small-tree.js';

const isRoot = process.getuid?.() === 0;

describe('A small tree', () => {
  let root: string;
  let tree: string;
  beforeEach(() => {
    root = mkdtempSync(join(tmpdir(), 'ranvier-small-'));
    tree = join(root, 'tree');
    mkdirSync(join(tree, 'a/b'), { recursive: true });
    writeFileSync(join(tree, 'a/b/file'), 'x');
    writeFileSync(join(root, 'outside'), 'stays');
    symlinkSync(join(root, 'outside'), join(tree, 'link'));
    symlinkSync(root, join(tree, 'a/folder-link'));
  });
  afterEach(() => rmSync(root, { recursive: true, force: true }));

  it('is removed with its links and not what they lead to', async () => {
    expect(await removeSmallTree(tree)).to.equal(true);
    expect(existsSync(tree)).to.equal(false);
    expect(readFileSync(join(root, 'outside'), 'utf8')).to.equal('stays');
    expect(await removeSmallTree(tree), 'nothing is there').to.equal(true);
  });

  it('is a file or a link too', async () => {
    expect(await removeSmallTree(join(tree, 'link'))).to.equal(true);
    expect(existsSync(join(root, 'outside'))).to.equal(true);
  });

  it('is left to a command if it is large or deep', async () => {
    mkdirSync(join(root, 'deep', ...Array.from({ length: 12 }, () => 'd')), { recursive: true });
    expect(await removeSmallTree(join(root, 'deep'))).to.equal(false);
    for (let i = 0; i < 70; i++) writeFileSync(join(tree, `file-${i}`), '');
    expect(await removeSmallTree(tree)).to.equal(false);
    expect(await ownSmallTree(tree, 1234, 1234)).to.equal(false);
    expect(existsSync(join(tree, 'a/b/file'))).to.equal(true);
  });

  it('is left to a command if somebody else could put a link in the place of a folder', async function () {
    if (!isRoot) this.skip();
    chownSync(join(tree, 'a'), 54_321, 54_321);
    expect(await removeSmallTree(tree)).to.equal(false);
    expect(await ownSmallTree(tree, 1234, 1234)).to.equal(false);
    expect(existsSync(join(tree, 'a/b/file'))).to.equal(true);
    expect(statSync(join(tree, 'a/b')).uid).to.equal(0);
  });

  it('gets another owner, and what its links lead to does not', async function () {
    if (!isRoot) this.skip();
    expect(await ownSmallTree(tree, 54_321, 54_322)).to.equal(true);
    const owners = ['', 'a', 'a/b', 'a/b/file'].map((path) => statSync(join(tree, path)));
    expect(owners.map(({ uid, gid }) => [uid, gid])).to.deep.equal(Array.from({ length: 4 }, () => [54_321, 54_322]));
    expect([statSync(root).uid, statSync(join(root, 'outside')).uid]).to.deep.equal([0, 0]);
  });
});
