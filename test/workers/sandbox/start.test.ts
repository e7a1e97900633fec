import { spawnSync } from 'node:child_process';
import { mkdir, readFile, rmdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'chai';
import type { DetachedProcess, SandboxSpec } from '../../../workers/sandbox/sandbox.js';
import { eventually } from '../../support/processes.js';
import { LEVELS, SandboxFixture } from './support.js';

for (const level of LEVELS) {
  describe(`Sandbox start, level ${level}`, () => {
    let fixture: SandboxFixture;
    before(async () => {
      fixture = await SandboxFixture.create(level);
    });
    after(() => fixture.destroy());

    async function start(command: string): Promise<{ spec: SandboxSpec; running: DetachedProcess; files: Files }> {
      const spec = await fixture.spec(command);
      const files = new Files(fixture.dataDir, spec.id);
      const running = await fixture.sandbox.start(spec, { logFile: files.log, exitFile: files.exit });
      return { spec, running, files };
    }

    async function ended(running: DetachedProcess): Promise<void> {
      while (await fixture.sandbox.isAlive(running)) await sleep(20);
    }

    it('appends output to the file and writes down the exit code', async () => {
      const { running, files } = await start('echo one; echo two >&2; exit 5');
      await ended(running);
      expect(await readFile(files.log, 'utf8')).to.equal('one\ntwo\n');
      expect(await readFile(files.exit, 'utf8')).to.equal('5\n');
    });

    it('mounts nothing on the host', async function () {
      if (process.platform !== 'linux') this.skip();
      let isStarting = true;
      const found = new Set<string>();
      const starts = Promise.all(Array.from({ length: 8 }, () => start('exit 0'))).finally(() => {
        isStarting = false;
      });
      while (isStarting) {
        const lines = (await readFile('/proc/self/mountinfo', 'utf8')).split('\n');
        for (const line of lines) if (line.includes(fixture.dataDir)) found.add(line);
      }
      for (const { running } of await starts) await ended(running);
      expect([...found]).to.deep.equal([]);
    });

    it('writes down the signal, and that memory was used up', async () => {
      const killed = await start('kill -9 $$');
      await ended(killed.running);
      expect(await readFile(killed.files.exit, 'utf8')).to.equal('signal SIGKILL\n');
      const hog = await start(`exec node -e 'const kept = []; for (;;) kept.push(Buffer.alloc(1e7, 1))'`);
      await ended(hog.running);
      // Without control groups, Node.js runs out of memory and ends itself.
      expect(await readFile(hog.files.exit, 'utf8')).to.equal(level === 'root' ? 'out-of-memory\n' : '1\n');
    });

    it('empties an output file that no worker reads', async function () {
      if (process.platform !== 'linux' || level !== LEVELS.at(-1)) this.skip();
      this.timeout(300_000);
      const within = 120_000;
      const { spec, running, files } = await start(
        'head -c 1100000000 /dev/zero; while :; do echo goes-on; sleep 0.1; done',
      );
      await eventually('it was large', async () => (await stat(files.log)).blocks * 512 > 1_050_000_000, within);
      await eventually('it is small', async () => (await stat(files.log)).blocks * 512 < 1_000_000, within);
      await eventually('the output goes on', async () => (await readFile(files.log, 'utf8')).startsWith('goes-on\n'));
      await fixture.sandbox.stop(spec.id, running, 0);
    });

    it('calls back when the process ends', async () => {
      const spec = await fixture.spec('exit 0');
      const files = new Files(fixture.dataDir, spec.id);
      await new Promise<void>((resolve, reject) => {
        const options = { logFile: files.log, exitFile: files.exit, onExit: resolve };
        fixture.sandbox.start(spec, options).catch(reject);
      });
      expect((await readFile(files.exit, 'utf8')).trim()).to.match(/^0\b/);
    });

    it('stop lets the command finish and leaves nothing', async () => {
      const { spec, running, files } = await start(
        `trap 'echo bye; exit 0' TERM; (sleep 300 &) ; setsid sleep 300 & echo ready; sleep 300 & wait`,
      );
      await said(files, 'ready');
      await fixture.sandbox.stop(spec.id, running, 5_000);
      expect(await readFile(files.log, 'utf8')).to.equal('ready\nbye\n');
      expect(await fixture.left()).to.deep.equal([]);
      expect(await fixture.sandbox.isAlive(running)).to.equal(false);
    });

    it('stop waits for a process whose shell has gone already', async () => {
      const { spec, running, files } = await start(
        `node -e "process.on('SIGTERM', () => setTimeout(() => { console.log('bye'); process.exit(0); }, 300)); setInterval(() => {}, 1e3); console.log('ready')"; true`,
      );
      await said(files, 'ready');
      await fixture.sandbox.stop(spec.id, running, 5_000);
      expect(await readFile(files.log, 'utf8')).to.equal('ready\nbye\n');
    });

    it('stop kills what ignores TERM', async () => {
      const { spec, running, files } = await start(`trap '' TERM; echo ready; while :; do sleep 1; done`);
      await said(files, 'ready');
      await fixture.sandbox.stop(spec.id, running, 200);
      expect(await fixture.left()).to.deep.equal([]);
    });

    it('a pid that another process got since is not taken for it', async () => {
      expect(await fixture.sandbox.isAlive({ pid: process.pid, startedAt: '1' })).to.equal(false);
    });

    it('names the ports on which it listens', async () => {
      const { spec, running, files } = await start(
        `node -e "const s = require('net').createServer().listen(0, '127.0.0.1', () => console.log('port ' + s.address().port))"`,
      );
      const port = Number((await said(files, 'port ')).split(' ')[1]);
      expect(await fixture.sandbox.listeningPorts(spec.id, running)).to.deep.equal([port]);
      await fixture.sandbox.stop(spec.id, running, 0);
    });

    it('sweep ends only what is not wanted, and nothing of another platform', async () => {
      const other = await SandboxFixture.create(level);
      const kept = await start('sleep 300');
      const lost = await start('setsid sleep 300 & (sleep 300 &) ; sleep 300');
      try {
        expect(await other.sandbox.sweep(async () => () => false)).to.equal(0);
        expect(await fixture.sandbox.sweep(async () => (id) => id === kept.spec.id)).to.be.greaterThan(0);
        expect(await fixture.sandbox.isAlive(kept.running)).to.equal(true);
        expect(await fixture.sandbox.isAlive(lost.running)).to.equal(false);
        expect(await fixture.left(lost.spec.id)).to.deep.equal([]);
      } finally {
        await fixture.sandbox.stop(kept.spec.id, kept.running, 0);
        await other.destroy();
      }
    });

    it('sweep ends the others if one cannot be ended', async function () {
      if (level !== 'root') this.skip();
      const [first, second] = [await start('sleep 300'), await start('sleep 300')];
      // Nested groups make the removal of the groups of the first sandbox fail.
      const groups = await fixture.cgroupsOf(first.spec.id);
      expect(groups.length).to.be.greaterThan(0);
      for (const group of groups) await mkdir(join(group, 'below', 'deep'), { recursive: true });
      try {
        await fixture.sandbox.sweep(async () => () => false);
        expect(await fixture.left()).to.deep.equal([]);
        expect(await fixture.cgroupsOf(second.spec.id)).to.deep.equal([]);
      } finally {
        for (const group of groups) for (const path of ['below/deep', 'below']) await rmdir(join(group, path));
      }
      await fixture.sandbox.sweep(async () => () => false);
      expect(await fixture.cgroupsOf(first.spec.id)).to.deep.equal([]);
    });

    it('sweep asks what is wanted after it has listed what there is', async () => {
      const known = await start('sleep 300');
      const asked: string[] = [];
      let later: Awaited<ReturnType<typeof start>> | undefined;
      await fixture.sandbox.sweep(async () => {
        later = await start('sleep 300');
        return (id) => asked.push(id) > 0;
      });
      expect(asked).to.include(known.spec.id).and.not.include(later?.spec.id);
      for (const { spec, running } of [known, ...(later ? [later] : [])])
        await fixture.sandbox.stop(spec.id, running, 0);
    });

    it('a mark that a command gives its processes leads to no folder of the platform', async function () {
      if (level === 'none') this.skip();
      const precious = join(fixture.dataDir, 'images', 'of-another-tenant');
      await mkdir(precious, { recursive: true });
      const { spec, running, files } = await start(
        `RANVIER_SANDBOX="$(echo "$RANVIER_SANDBOX" | cut -d: -f1):test-x/../../images" sleep 300 & echo ready; wait`,
      );
      await said(files, 'ready');
      await fixture.sandbox.sweep(async () => (id) => id === spec.id);
      expect((await stat(precious)).isDirectory()).to.equal(true);
      await fixture.sandbox.stop(spec.id, running, 0);
    });

    it('ends a process whose first thread has ended before the others', async function () {
      if (level === 'none' || spawnSync('python3', ['--version']).status !== 0) this.skip();
      const program = [
        'import ctypes, threading, time',
        'threading.Thread(target=lambda: [print("ready", flush=True), time.sleep(300)]).start()',
        'ctypes.CDLL(None).pthread_exit(None)',
      ].join('\n');
      const { spec, running, files } = await start(`exec python3 -c '${program}'`);
      await said(files, 'ready');
      await fixture.sandbox.stop(spec.id, running, 0);
      expect(await fixture.left()).to.deep.equal([]);
    });
  });
}

class Files {
  readonly log: string;
  readonly exit: string;
  constructor(dataDir: string, id: string) {
    this.log = join(dataDir, `${id}.log`);
    this.exit = join(dataDir, `${id}.exit`);
  }
}

async function said(files: Files, start: string): Promise<string> {
  for (;;) {
    const line = (await readFile(files.log, 'utf8')).split('\n').find((text) => text.startsWith(start));
    if (line !== undefined) return line;
    await sleep(20);
  }
}
