import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'chai';
import { openBuildFolder, removeDeadBuilds } from '../../../workers/builders/build-folder.js';
import { startTimeOf } from '../../../workers/sandbox/proc.js';

describe('The folder of a build', () => {
  let dataDir: string;

  beforeEach(async () => {
    dataDir = await mkdtemp(join(tmpdir(), 'ranvier-builds-'));
  });
  afterEach(() => rm(dataDir, { recursive: true, force: true }));

  const folders = () => readdir(join(dataDir, 'builds'));

  it('is left alone by the sweeps of other builds from its first moment on', async () => {
    let opening = true;
    const sweeping = [1, 2].map(async () => {
      while (opening) await removeDeadBuilds(dataDir);
    });
    for (let round = 0; round < 30; round++) {
      const folder = await openBuildFolder(dataDir, `build-${round}`);
      // A sweep that has taken it for nobody's removes it within moments.
      await delay(2);
      expect(await readdir(folder.path)).to.have.members(['app', 'owner']);
      await rm(folder.path, { recursive: true });
    }
    opening = false;
    await Promise.all(sweeping);
  });

  it('of a worker that died is removed, finished or not', async () => {
    const worker = spawn('sleep', ['60']);
    const startedAt = await startTimeOf(worker.pid ?? 0);
    const folder = await openBuildFolder(dataDir, 'mine');
    await mkdir(join(dataDir, 'builds', `new-${worker.pid}-${startedAt}-other`));
    await mkdir(join(dataDir, 'builds', 'nobodys'));
    await removeDeadBuilds(dataDir);
    expect(await folders()).to.have.members(['mine', `new-${worker.pid}-${startedAt}-other`]);
    worker.kill('SIGKILL');
    await once(worker, 'exit');
    await removeDeadBuilds(dataDir);
    expect(await folders()).to.deep.equal(['mine']);
    await folder.remove();
    expect(await folders()).to.deep.equal([]);
  });
});
