import { mkdir, mkdtemp, realpath, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import {
  fileInside,
  folderInside,
  MISSING,
  OUTSIDE,
  resolveInside,
} from '../../../../workers/builders/files/project-files.js';

describe('Paths inside a repository', () => {
  let root: string;
  let outside: string;

  before(async () => {
    const base = await realpath(await mkdtemp(join(tmpdir(), 'ranvier-inside-')));
    root = join(base, 'app');
    outside = join(base, 'host');
    await mkdir(join(root, 'a/b'), { recursive: true });
    await mkdir(outside);
    await writeFile(join(outside, 'there'), 'x');
    await writeFile(join(root, 'a/file'), 'x');
    for (const [name, target] of [
      ['to-b', 'a/b'],
      ['a/up', '..'],
      ['absolute', join(root, 'a')],
      ['out', '../host'],
      ['out-absolute', outside],
      ['loop', 'loop'],
      ['a/climb', '../../host/there'],
      ['chain', 'to-out'],
      ['to-out', 'out/there'],
      ['dangling', 'a/none'],
    ] as const) {
      await symlink(target, join(root, name));
    }
  });
  after(() => rm(join(root, '..'), { recursive: true, force: true }));

  it('are resolved, and links within the folder are followed', async () => {
    for (const [path, real] of [
      ['', '.'],
      ['.', '.'],
      ['a//b/.', 'a/b'],
      ['to-b', 'a/b'],
      ['to-b/../file', 'a/file'],
      ['a/up/a/up/to-b', 'a/b'],
      ['absolute/b', 'a/b'],
    ] as const) {
      expect(await resolveInside(root, path), path).to.equal(join(root, real));
    }
    expect(await resolveInside(root, 'dangling')).to.equal(MISSING);
    expect(await resolveInside(root, 'loop')).to.equal(MISSING);
    expect(await resolveInside(root, `a${'/b'.repeat(5000)}`)).to.equal(MISSING);
  });

  it('that lead out get the same answer whether or not the host has a file there', async () => {
    for (const way of ['out', 'out-absolute', '..', '../host', 'a/../../host', '\n/../../host', 'a/climb', 'chain']) {
      for (const rest of ['', '/there', '/not-there', '/there/deeper']) {
        const path = way + rest;
        const expected = path.startsWith('\n') ? MISSING : OUTSIDE;
        expect(await resolveInside(root, path), JSON.stringify(path)).to.equal(expected);
      }
    }
    const refusal = (path: string, inside: typeof folderInside) =>
      inside(root, path, 'rootDirectory').then(
        () => expect.fail(`${path} is accepted`),
        (error: Error) => error.message.replace(path, ''),
      );
    for (const inside of [folderInside, fileInside]) {
      expect(await refusal('out/there', inside)).to.equal(await refusal('out/not-there', inside));
    }
  });
});
