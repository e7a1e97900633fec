import { execFileSync } from 'node:child_process';
import { access, chmod, mkdir, mkdtemp, readdir, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import type { createLogger } from '../../../shared/core/log.js';
import { discardTree, emptyTrash, removeTree } from '../../../workers/core/remove-folders.js';

function makeDeep(folder: string): void {
  const script = 'for i in $(seq 40); do mkdir "$1" && cd -P "$1" || exit 1; done; touch file';
  execFileSync('/bin/sh', ['-c', script, 'sh', 'd'.repeat(200)], { cwd: folder });
}

describe('Removing folders of tenants', () => {
  let folder: string;
  const there = (path: string) =>
    access(path).then(
      () => true,
      () => false,
    );

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'ranvier-folders-'));
  });
  afterEach(() => removeTree(folder));

  it('removes folders of any depth, odd names and folders without permissions', async () => {
    const tree = join(folder, '-rf *');
    await mkdir(tree);
    makeDeep(tree);
    await mkdir(Buffer.concat([Buffer.from(`${tree}/`), Buffer.from([0xff, 0x0a, 0xfe])]));
    await mkdir(join(tree, 'closed', 'inside'), { recursive: true });
    await writeFile(join(tree, 'closed', 'inside', 'file'), 'x');
    await chmod(join(tree, 'closed'), 0);
    await removeTree(tree);
    expect(await there(tree)).to.equal(false);
    await removeTree(tree);
  });

  it('follows no link', async () => {
    const [tree, other] = [join(folder, 'tree'), join(folder, 'other')];
    await mkdir(tree);
    await mkdir(other);
    await writeFile(join(other, 'kept'), 'x');
    await symlink(other, join(tree, 'link'));
    await removeTree(tree);
    await symlink(other, tree);
    await removeTree(tree);
    expect(await readdir(folder)).to.deep.equal(['other']);
    expect(await readdir(other)).to.deep.equal(['kept']);
  });

  it('ends with the signal and at its time limit', async () => {
    await mkdir(join(folder, 'tree'));
    const reason = new Error('cancelled');
    const cancelled = removeTree(join(folder, 'tree'), { signal: AbortSignal.abort(reason) });
    expect(await cancelled.catch((error: unknown) => error)).to.equal(reason);
    const late = await removeTree(join(folder, 'tree'), { timeoutMs: 0 }).catch((error: Error) => error.message);
    expect(late).to.match(/could not be removed: it took too long|^undefined$/);
  });

  it('moves what cannot be removed to the trash, logs it once, and removes it later', async function () {
    if (process.platform !== 'linux' || process.getuid?.() !== 0) this.skip();
    const lines: string[] = [];
    const log = { warn: (_: object, line: string) => void lines.push(line) } as unknown as ReturnType<
      typeof createLogger
    >;
    const tree = join(folder, 'work', 'tree');
    await mkdir(join(tree, 'mounted'), { recursive: true });
    try {
      execFileSync('mount', ['-t', 'tmpfs', 'none', join(tree, 'mounted')]);
    } catch {
      this.skip();
    }
    const [aside] = await (async () => {
      await writeFile(join(tree, 'mounted', 'kept'), 'x');
      await discardTree({ dataDir: folder, log }, tree);
      return readdir(join(folder, 'trash'));
    })();
    expect(await there(tree), 'its place is free').to.equal(false);
    const mounted = join(folder, 'trash', aside ?? '', 'mounted');
    expect(await readdir(mounted), 'another file system is left alone').to.deep.equal(['kept']);
    expect(await emptyTrash({ dataDir: folder, log })).to.equal(0);
    expect(await emptyTrash({ dataDir: folder, log })).to.equal(0);
    expect(lines).to.have.length(2);
    execFileSync('umount', [mounted]);
    await rm(mounted, { recursive: true });
    expect(await readdir(join(folder, 'trash'))).to.have.length(1);
  });
});
