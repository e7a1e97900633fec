import { spawn } from 'node:child_process';
import { stat } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { expect } from 'chai';
import { endChild, spawnLimited } from '../../../../shared/core/limited-child.js';
import { type CommandFailed, resultOf, runLimited } from '../../../../shared/core/run-limited.js';
import { useFolders } from '../../../support/folders.js';
import { failureOf } from '../../../support/outcomes.js';
import { eventually, processesWith } from '../../../support/processes.js';

const MIB = 1024 ** 2;
const sh = (script: string, ...args: string[]) => ['-c', script, 'sh', ...args];
const unique = () => `mark-${process.pid}-${Math.random().toString(36).slice(2)}`;

describe('A child process with limits', function () {
  const newFolder = useFolders();
  // Two tests use up seconds of processor time, which a busy machine gives slowly.
  this.timeout(240_000);

  it('is refused memory beyond its bound', async () => {
    const limits = { memoryBytes: 64 * MIB };
    const { code, stderr } = await resultOf(process.execPath, ['-e', 'Buffer.alloc(1e9)'], { limits });
    expect(code, stderr).to.not.equal(0);
    // `tail` keeps in memory what it may have to print.
    const held = 'head -c 200000000 /dev/zero | tail -c 150000000 | wc -c';
    expect((await resultOf('sh', sh(held), { limits })).stdout).to.not.contain('150000000');
    expect((await resultOf('sh', sh(held))).stdout.trim()).to.equal('150000000');
  });

  it('is ended when its processor time is used up, and so is what it started', async () => {
    const limits = { processorSeconds: 1 };
    expect(await resultOf('sh', sh('while :; do :; done'), { limits })).to.include({ killedBy: 'SIGXCPU', cut: null });
    const inner = await resultOf('sh', sh('sh -c "while :; do :; done"; echo "inner $?"'), { limits });
    expect(inner.stdout).to.equal('inner 152\n');
  });

  it('is bounded in files, output and time', async () => {
    const folder = await newFolder();
    const large = join(folder, 'large');
    const limits = { fileBytes: MIB };
    await failureOf(runLimited('dd', ['if=/dev/zero', `of=${large}`, 'bs=1M', 'count=5'], { limits }));
    expect((await stat(large)).size).to.equal(MIB);
    const { stdout } = await runLimited('sh', sh('ulimit -n; ulimit -c'), { limits: { openFiles: 50 } });
    expect(stdout).to.equal('50\n0\n');
    expect(await resultOf('yes', [], { maxBuffer: 1000 })).to.include({ cut: 'output' });
    const late = await failureOf<CommandFailed>(runLimited('sleep', ['600'], { timeout: 50 }));
    expect(late).to.include({ killed: true });
  });

  it('passes on its exit code, a missing command and an abort, and nothing of the platform', async () => {
    process.env.RANVIER_TEST_SECRET = 'secret';
    expect((await runLimited('env', [])).stdout).to.not.contain('secret');
    delete process.env.RANVIER_TEST_SECRET;
    expect(await failureOf(runLimited('sh', sh('echo no >&2; exit 3')))).to.include({
      code: 3,
      stderr: 'no\n',
      killed: false,
    });
    expect(await failureOf(runLimited('no-such-command', []))).to.include({ code: 'ENOENT' });
    const controller = new AbortController();
    const reason = new Error('cancelled');
    const running = failureOf(runLimited('sleep', ['600'], { signal: controller.signal }));
    controller.abort(reason);
    expect(await running).to.equal(reason);
  });

  it('ends with all that it started when it ends or is ended', async () => {
    const left = unique();
    await runLimited('sh', sh(`(trap "" TERM; sleep 600; : ${left}) >/dev/null 2>&1 & exit 0`));
    await eventually('nothing is left', async () => (await processesWith(left)) === '');
    const ended = unique();
    const child = spawnLimited(['sh', ...sh(`sleep 600; : ${ended}`)], { stdio: ['ignore', 'ignore', 'ignore'] });
    endChild(child);
    await eventually('nothing is left', async () => (await processesWith(ended)) === '');
  });

  it('ends with all that it started when the process is killed that asked for it', async () => {
    const mark = unique();
    const module = resolve(import.meta.dirname, '../../../../shared/core/limited-child.js');
    const program = `import(${JSON.stringify(module)}).then(({ spawnLimited }) =>
      spawnLimited(['sh', '-c', 'sh -c "sleep 600; : ${mark}"; :'], { stdio: ['ignore', 'ignore', 'ignore'] }))`;
    const parent = spawn(process.execPath, ['-e', program], { stdio: 'ignore' });
    try {
      await eventually('the commands run', async () =>
        (await processesWith(mark)).includes(`sh -c sleep 600; : ${mark}`),
      );
    } finally {
      parent.kill('SIGKILL');
    }
    await eventually('nothing is left', async () => (await processesWith(mark)) === '');
  });
});
