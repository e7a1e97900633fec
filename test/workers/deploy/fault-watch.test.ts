import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'chai';
import { FaultWatch } from '../../../workers/deploy/fault-watch.js';
import { eventually } from '../../support/processes.js';

const WATCH = new URL('../../../workers/deploy/fault-watch.js', import.meta.url).href;
const TICK_MS = 20;
/** Half a second, because a busy machine may stall a process for a moment. */
const LIMIT_MS = 500;

describe('The watch over a worker', () => {
  let dataDir: string;
  const children: ChildProcess[] = [];

  beforeEach(async () => {
    dataDir = await mkdtemp(join(tmpdir(), 'ranvier-faults-'));
  });
  afterEach(async () => {
    for (const child of children.splice(0)) child.kill('SIGKILL');
    await rm(dataDir, { recursive: true, force: true });
  });

  async function worker(code: string, { between = '', fence = 3 } = {}): Promise<ChildProcess> {
    const script = `
      const { FaultWatch } = await import(${JSON.stringify(WATCH)});
      const watch = new FaultWatch(${JSON.stringify(dataDir)});
      await watch.start({ tickMs: ${TICK_MS}, ticks: ${LIMIT_MS / TICK_MS}, idleMs: 1 });
      const end = watch.begin({ id: 'other', fence: 1 });
      ${between}
      watch.begin({ id: 'run', fence: ${fence} });
      end();
      setInterval(() => {}, 1000);
      setTimeout(() => { setInterval(() => console.log('runs'), 20); setTimeout(() => { ${code} }, 100); }, 300);
    `;
    const made = spawn(process.execPath, ['--input-type=module', '-e', script], {
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    children.push(made);
    if (made.stdout) await once(made.stdout, 'data');
    return made;
  }

  const notes = () => readdir(join(dataDir, 'faults'));

  it('notes what runs when the event loop stands still', async () => {
    await worker('for (;;);');
    await eventually('it is noted', async () => (await notes()).length > 0);
    expect(await notes()).to.deep.equal(['run.3']);
    const watch = new FaultWatch(dataDir);
    expect(await watch.isNoted({ id: 'run', fence: 3 })).to.equal(true);
    expect(await watch.isNoted({ id: 'run', fence: 2 })).to.equal(false);
    await watch.forget({ id: 'run', fence: 3 });
    expect(await watch.isNoted({ id: 'run', fence: 3 })).to.equal(false);
  });

  it('watches again after a time in which nothing ran', async () => {
    await worker('for (;;);', { between: 'end(); await new Promise((resolve) => setTimeout(resolve, 300));' });
    await eventually('it is noted', async () => (await notes()).length > 0);
    expect(await notes()).to.deep.equal(['run.3']);
  });

  it('notes what runs when an exception ends the process', async () => {
    const crashed = await worker(`throw new Error('crash')`);
    await once(crashed, 'exit');
    expect(await notes()).to.deep.equal(['run.3']);
  });

  it('notes nothing if the process is stopped or killed from outside', async () => {
    const stopped = await worker('');
    let printed = 0;
    stopped.stdout?.on('data', () => printed++);
    stopped.kill('SIGSTOP');
    // Waits as long as a hung process needs until it is noted.
    await worker('for (;;);', { fence: 4 });
    await eventually('the other one is noted', async () => (await notes()).includes('run.4'));
    stopped.kill('SIGCONT');
    const before = printed;
    // Its event loop and its watch have both gone on.
    await eventually('it runs again', () => printed > before + 5);
    const exit = once(stopped, 'exit');
    stopped.kill('SIGKILL');
    await exit;
    expect(await notes()).to.deep.equal(['run.4']);
  });

  it('runs suspects one after the other', async () => {
    const watch = new FaultWatch(dataDir);
    const { signal } = new AbortController();
    const order: string[] = [];
    const suspect = (name: string) =>
      watch.alone(signal, async () => {
        order.push(`${name} begins`);
        await delay(5);
        order.push(`${name} ends`);
        if (name === 'b') throw new Error('b failed');
      });
    await Promise.allSettled([suspect('a'), suspect('b'), suspect('c')]);
    expect(order).to.deep.equal(['a begins', 'a ends', 'b begins', 'b ends', 'c begins', 'c ends']);
  });
});
