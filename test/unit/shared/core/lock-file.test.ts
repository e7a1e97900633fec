import { createHash } from 'node:crypto';
import { readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'chai';
import { tryLockFile } from '../../../../shared/core/lock-file.js';
import { useFolders } from '../../../support/folders.js';

describe('A lock file', () => {
  const newFolder = useFolders();
  let folder: string;
  let path: string;

  beforeEach(async () => {
    folder = await newFolder();
    path = join(folder, 'lock');
  });

  async function attempt(name: string, living: readonly string[]) {
    const own = join(folder, `lock.${name}`);
    await writeFile(own, name);
    const attempted = await tryLockFile(path, own, async (text) => (living.includes(text) ? text : null));
    await rm(own);
    return attempted;
  }

  it('is taken if nobody holds it, and names its holder if somebody does', async () => {
    expect(await attempt('a', ['a'])).to.deep.equal({ taken: true });
    expect(await attempt('b', ['a', 'b'])).to.deep.equal({ taken: false, holder: 'a' });
    expect(await readFile(path, 'utf8')).to.equal('a');
  });

  it('of a dead holder is taken over, and nothing else is left in the folder', async () => {
    await attempt('a', []);
    expect(await attempt('b', ['b'])).to.deep.equal({ taken: true });
    expect(await readFile(path, 'utf8')).to.equal('b');
    expect(await readdir(folder)).to.deep.equal(['lock']);
  });

  it('goes to one of many that try at once, also if they find a stale one', async () => {
    for (let round = 0; round < 60; round++) {
      await rm(path, { force: true });
      if (round % 3 > 0) await writeFile(path, 'dead');
      const names = Array.from({ length: 20 }, (_, i) => `n${i}`);
      const attempts = await Promise.all(names.map((name) => attempt(name, names)));
      const winners = names.filter((_, i) => attempts[i]?.taken);
      expect(winners, `round ${round}`).to.have.length(1);
      expect(await readFile(path, 'utf8')).to.equal(winners[0]);
    }
    expect(await readdir(folder)).to.deep.equal(['lock']);
  });

  it('of a dead holder is taken over also if another process died while it removed it', async () => {
    await writeFile(path, 'dead');
    const right = `lock.${createHash('sha256').update('dead').digest('hex').slice(0, 16)}`;
    await writeFile(join(folder, right), 'dead too');
    expect(await attempt('b', ['b'])).to.deep.equal({ taken: true });
    expect(await readdir(folder)).to.deep.equal(['lock']);
  });
});
