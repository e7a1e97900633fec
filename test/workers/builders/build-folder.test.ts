import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'chai';
import { createLogger } from '../../../shared/core/log.js';
import { identityOf } from '../../../shared/core/process-identity.js';
import { openBuildFolder, removeDeadBuilds, unfinishedName } from '../../../workers/builders/build-folder.js';
import { usedMb } from '../../../workers/builders/files/folder-size.js';

describe('The folder of a build', () => {
  const log = createLogger('test', 'silent');
  let dataDir: string;

  beforeEach(async () => {
    dataDir = await mkdtemp(join(tmpdir(), 'ranvier-builds-'));
  });
  afterEach(() => rm(dataDir, { recursive: true, force: true }));

  const folders = () => readdir(join(dataDir, 'builds'));

  it('is not removed by the sweeps of other builds, from its first moment on', async () => {
    let opening = true;
    const sweeping = [1, 2].map(async () => {
      while (opening) await removeDeadBuilds({ dataDir, log });
    });
    try {
      for (let round = 0; round < 30; round++) {
        const folder = await openBuildFolder(dataDir, `build-${round}`);
        // A sweep that takes the folder for a dead worker's would remove it at once.
        await delay(2);
        expect(await readdir(folder.path)).to.have.members(['app', 'owner']);
        await rm(folder.path, { recursive: true });
      }
    } finally {
      opening = false;
      await Promise.all(sweeping);
    }
  });

  it('is not kept between builds if it has too many files, however small', async () => {
    for (const name of ['a', 'b', 'c']) await writeFile(join(dataDir, name), '');
    expect(await usedMb(dataDir, 4)).to.equal(0);
    expect(await usedMb(dataDir, 3)).to.equal(null);
  });

  it('of a dead worker is removed, finished or not', async () => {
    const worker = spawn('sleep', ['60']);
    const pid = worker.pid ?? 0;
    const unfinished = unfinishedName(await identityOf(pid), 'other');
    const folder = await openBuildFolder(dataDir, 'mine');
    await mkdir(join(dataDir, 'builds', unfinished));
    await mkdir(join(dataDir, 'builds', 'nobodys'));
    await removeDeadBuilds({ dataDir, log });
    expect(await folders()).to.have.members(['mine', unfinished]);
    worker.kill('SIGKILL');
    await once(worker, 'exit');
    await removeDeadBuilds({ dataDir, log });
    expect(await folders()).to.deep.equal(['mine']);
    await folder.remove();
    expect(await folders()).to.deep.equal([]);
  });
});
