import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { isRoot, ownDirectory, uidOf } from '../../../workers/sandbox/service-users.js';
import { usersInUse } from '../../../workers/sandbox/users-in-use.js';

describe('Users with something on this host', function () {
  this.timeout(20_000);
  let dataDir: string;

  before(async function () {
    if (process.platform !== 'linux' || !isRoot()) this.skip();
    dataDir = await mkdtemp(join(tmpdir(), 'ranvier-users-'));
  });
  after(async () => {
    if (dataDir) await rm(dataDir, { recursive: true });
  });

  it('are found by a file, wherever the platform keeps files of users', async () => {
    const places = ['caches/a', 'volumes/a/data', 'sandboxes/a/home', 'trash/a/old/data'];
    for (const [i, place] of places.entries()) {
      await mkdir(join(dataDir, place), { recursive: true });
      await writeFile(join(dataDir, place, 'file'), '');
      await ownDirectory(join(dataDir, place), 130_000 + i);
    }
    const found = await usersInUse(dataDir);
    expect(found).to.include.members([130_000, 130_001, 130_002, 130_003]);
    await rm(join(dataDir, 'caches'), { recursive: true });
    expect(await usersInUse(dataDir)).to.not.include(130_000);
  });

  it('are found by a process, also by one that hides its owner', async () => {
    const uid = uidOf(130_010);
    const hide = `syscall(${process.arch === 'x64' ? 157 : 167}, 4, 0, 0, 0, 0) == 0 or die; $| = 1; print "hidden\\n"; sleep 60`;
    const child = spawn('setpriv', [`--reuid=${uid}`, `--regid=${uid}`, '--clear-groups', '--', 'perl', '-e', hide]);
    try {
      await once(child.stdout, 'data');
      expect(await usersInUse(dataDir)).to.include(130_010);
    } finally {
      child.kill('SIGKILL');
      await once(child, 'exit');
    }
    expect(await usersInUse(dataDir)).to.not.include(130_010);
  });
});
