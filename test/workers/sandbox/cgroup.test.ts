import { execFile, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { access, mkdir, readFile, rmdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect } from 'chai';
import {
  type CgroupRoots,
  detectCgroups,
  firstUsable,
  prepareCgroup,
  removeCgroup,
  usageOf,
} from '../../../workers/sandbox/cgroup.js';
import { LEVELS } from './support.js';

const IMPOSSIBLE: CgroupRoots = {
  version: 1,
  memory: '/dev/null/nowhere',
  cpu: '/dev/null/nowhere',
  accounting: null,
  sockets: null,
  maxCpu: 1,
  runtimePath: '',
  all: [],
};

describe('control groups of sandboxes (skipped if the host does not allow any)', () => {
  const name = `ranvier-test-${randomUUID()}`;
  let roots: CgroupRoots | null = null;
  const reasons: string[] = [];
  const explain = (why: string) => void reasons.push(why);

  before(async function () {
    roots = await detectCgroups(name, () => undefined);
    if (roots === null) this.skip();
  });

  beforeEach(() => reasons.splice(0));

  after(async () => {
    if (roots === null) return;
    const { memory, cpu, accounting, sockets } = roots;
    for (const folder of new Set([memory, cpu, accounting, sockets])) {
      if (folder !== null) await rmdir(folder).catch(() => undefined);
    }
  });

  it('are found by every one of the workers of a host that start together', async () => {
    const found = await Promise.all(Array.from({ length: 12 }, () => detectCgroups(name, explain)));
    expect(found).to.deep.equal(Array.from({ length: 12 }, () => roots));
    expect(reasons).to.deep.equal([]);
  });

  it('count the memory of sockets', async function () {
    if (roots?.version !== 1) this.skip();
    const id = 'sockets-test';
    await prepareCgroup(roots, id, { memoryMb: 64, cpu: 1, pids: 10 });
    const limit = await readFile(join(roots.memory, id, 'memory.kmem.tcp.limit_in_bytes'), 'utf8');
    await removeCgroup(roots, id);
    expect(Number(limit)).to.equal(64 * 1024 ** 2);
  });

  it('are made in the next place if the first does not allow them, without a message', async () => {
    expect(await firstUsable([IMPOSSIBLE, ...(roots === null ? [] : [roots])], explain)).to.deep.equal(roots);
    expect(reasons).to.deep.equal([]);
  });

  it('are explained if no place allows them', async () => {
    expect(await firstUsable([IMPOSSIBLE], explain)).to.equal(null);
    expect(reasons).to.have.lengthOf(1);
    expect(reasons[0]).to.contain('/dev/null/nowhere');
  });

  it('count what the processes of a sandbox use', async function () {
    if (roots === null || roots.accounting === null) return this.skip();
    const id = `replica-${randomUUID()}`;
    // A runtime prepares new groups of other hierarchies for processes.
    const folders = new Set([roots.memory, roots.accounting].map((folder) => join(folder, id)));
    for (const folder of folders) await mkdir(folder, { recursive: true });
    const procsFiles = [...folders].map((folder) => join(folder, 'cgroup.procs'));
    const program = `
      for (const file of ${JSON.stringify(procsFiles)}) require('node:fs').writeFileSync(file, String(process.pid));
      const kept = Buffer.alloc(32e6, 1);
      for (const until = Date.now() + 500; Date.now() < until; );
      process.stdout.write('used');
      setInterval(() => kept, 1000);`;
    const child = spawn(process.execPath, ['-e', program], { stdio: ['ignore', 'pipe', 'ignore'] });
    try {
      await once(child.stdout, 'data');
      const usage = await usageOf(roots, id);
      expect(usage?.cpuSeconds).to.be.within(0.02, 10);
      expect(usage?.memoryBytes).to.be.within(30e6, 256 * 1024 * 1024);
    } finally {
      child.kill('SIGKILL');
      await once(child, 'exit');
      await removeCgroup(roots, id);
    }
    expect(await usageOf(roots, id)).to.equal(null);
  });

  it('give a container no more cores than the platform has itself', async function () {
    if (roots?.version !== 1 || LEVELS[0] !== 'root') return this.skip();
    const folder = join(dirname(roots.cpu), `ranvier-quota-${randomUUID()}`);
    await mkdir(folder);
    await writeFile(join(folder, 'cpu.cfs_quota_us'), '150000');
    const support = fileURLToPath(new URL('./support.js', import.meta.url));
    const program = `
      import { writeFileSync } from 'node:fs';
      import { SandboxFixture } from ${JSON.stringify(support)};
      writeFileSync(${JSON.stringify(join(folder, 'cgroup.procs'))}, String(process.pid));
      const fixture = await SandboxFixture.create('root');
      const { outcome } = await fixture.run('true', { limits: { memoryMb: 256, cpu: 2, pids: 64 } });
      await fixture.destroy();
      console.log(JSON.stringify(outcome));`;
    try {
      const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', program]);
      expect(JSON.parse(stdout)).to.deep.equal({ reason: 'exited', exitCode: 0 });
    } finally {
      await rmdir(folder);
    }
  });

  it('leave no folder behind in a place that was tried in vain', async () => {
    if (roots === null) return;
    // The first folder can be made, and the next one cannot.
    const half = `${roots.memory}-half`;
    expect(await firstUsable([{ ...IMPOSSIBLE, memory: half }], explain)).to.equal(null);
    expect(
      await access(half).then(
        () => true,
        () => false,
      ),
    ).to.equal(false);
  });
});
