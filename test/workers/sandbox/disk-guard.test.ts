import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, realpath, rm, statfs, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect } from 'chai';
import { createLogger } from '../../../shared/core/log.js';
import { DEFAULT_CONFIGURATION } from '../../../shared/services/configuration.js';
import { assertRoom } from '../../../workers/backups/work-folders.js';
import type { BuildRequest } from '../../../workers/builders/builder.js';
import { createRepositoryBuilder } from '../../../workers/builders/repository-builder.js';
import { FolderImageStore } from '../../../workers/builders/result/folder-image-store.js';
import { createToolchains } from '../../../workers/builders/toolchains/toolchain-store.js';
import { createSandbox } from '../../../workers/sandbox/create-sandbox.js';
import { DiskGuard, diskProblem } from '../../../workers/sandbox/disk-guard.js';
import { isRoot } from '../../../workers/sandbox/service-users.js';
import { GitSource } from '../../../workers/sources/git-source.js';
import { eventually } from '../../support/processes.js';
import { SandboxFixture } from './support.js';

const run = promisify(execFile);
const log = createLogger('test', 'silent');

/** Programs that repeatedly write 1 MB or create 20 files, and never end, even if the disk is full. */
const FILLERS = {
  bytes: 'i=0; while :; do i=$((i+1)); head -c 1000000 /dev/zero >"$HOME/$i"; sleep 0.05; done 2>/dev/null',
  files:
    'i=0; while :; do i=$((i+1)); for j in 1 2 3 4 5 6 7 8 9 10; do true >"$TMPDIR/$i-$j"; done; sleep 0.05; done 2>/dev/null',
};

for (const level of ['root', 'none'] as const) {
  describe(`Disk guard, level ${level}`, () => {
    let fixture: SandboxFixture;
    let guard: DiskGuard;
    before(async function () {
      if (!isRoot() || process.platform !== 'linux') return this.skip();
      const dataDir = await realpath(await mkdtemp(join(tmpdir(), 'ranvier-disk-')));
      await run('mount', ['-t', 'tmpfs', '-o', 'size=96m,nr_inodes=1500,mode=711', 'disk', dataDir]);
      fixture = new SandboxFixture(dataDir, await createSandbox({ log, dataDir, level }));
    });
    beforeEach(() => {
      guard = new DiskGuard({ dataDir: fixture.dataDir, log, end: (id) => fixture.sandbox.endForRoom(id) });
      guard.start(50);
    });
    afterEach(() => guard.close());
    after(async () => {
      if (fixture === undefined) return;
      await fixture.sandbox.sweep(async () => () => false);
      await run('umount', ['-l', fixture.dataDir]);
      await rm(fixture.dataDir, { recursive: true });
    });

    it('is not begun by builds and restores while the disk is full', async () => {
      const { dataDir, sandbox } = fixture;
      const config = { dataDir, allowLocalRepositories: true, buildEnvironment: {} };
      const images = new FolderImageStore({ dataDir, log });
      const parts = {
        images,
        source: new GitSource({ config, log }),
        toolchains: createToolchains({ ...config, log }),
      };
      const builder = createRepositoryBuilder({ config, log, sandbox, ...parts });
      const request: BuildRequest = {
        ...{ id: 'build', workspaceId: 'w', serviceId: 's', environmentId: null, userNumber: 7000, kind: 'web' },
        ...{ configuration: DEFAULT_CONFIGURATION, repository: 'file:///none', commitSha: '1'.repeat(40) },
        ...{ clearCache: false, environment: {} },
      };
      const context = { signal: new AbortController().signal, log: async () => undefined };
      const begun = async () => {
        const work = [builder.build(request, context), assertRoom(dataDir, 0, 'a restore')];
        const ends = await Promise.allSettled(work);
        return ends.map((end) => (end.status === 'rejected' ? String(end.reason) : ''));
      };
      expect((await begun())[0]).to.contain('SourceError');
      const free = (await statfs(dataDir)).ffree;
      await writeFile(join(dataDir, 'full'), Buffer.alloc(94 * 1024 ** 2));
      const [build, restore] = await begun();
      expect(build).to.contain('almost no space left, so nothing is built');
      expect(restore).to.contain('the disk of DATA_DIR is too full');
      await rm(join(dataDir, 'full'));
      await mkdir(join(dataDir, 'names'));
      for (let i = 0; i < free - 20; i++) await writeFile(join(dataDir, 'names', String(i)), '');
      for (const problem of await begun()) expect(problem).to.match(/almost no inodes left/);
      await rm(join(dataDir, 'names'), { recursive: true });
    });

    for (const [what, command] of Object.entries(FILLERS)) {
      it(`ends the command that fills the disk with ${what}, and no other`, async () => {
        const done = new AbortController();
        const quiet = fixture.run(
          'echo mine >"$HOME/file"; sleep 300',
          {},
          { signal: done.signal, timeoutMs: 120_000 },
        );
        const { outcome } = await fixture.run(command, {}, { timeoutMs: 60_000 });
        expect(outcome).to.deep.equal({ reason: 'disk' });
        // The files of the command are removed, and builds begin again.
        await eventually('room is made', async () => (await diskProblem(fixture.dataDir)) === null);
        expect((await statfs(fixture.dataDir)).bavail).to.be.greaterThan(0);
        done.abort();
        expect((await quiet).outcome).to.deep.equal({ reason: 'aborted' });
      });
    }
  });
}
