import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { expect } from 'chai';
import { identityOf, isRunning, processStart, statFields } from '../../../../shared/core/process-identity.js';
import { signalGroup, signalProcess } from '../../../../shared/core/signal-process.js';

describe('The identity of a process', () => {
  it('stays the same while the process lives, and contains the id of the boot', async function () {
    const start = await processStart(process.pid);
    expect(start)
      .to.be.a('string')
      .and.to.equal(await processStart(process.pid));
    if (process.platform !== 'linux') this.skip();
    const boot = (await readFile('/proc/sys/kernel/random/boot_id', 'latin1')).trim();
    expect(start).to.match(new RegExp(`^${boot}:\\d+$`));
  });

  it('is null when the process has ended, and a signal to it is no error', async () => {
    const child = spawn('sleep', ['60'], { detached: true, stdio: 'ignore' });
    const pid = child.pid ?? 0;
    expect(await processStart(pid)).to.be.a('string');
    const exit = once(child, 'exit');
    expect(signalProcess(pid, 'SIGKILL')).to.equal(true);
    await exit;
    expect(await processStart(pid)).to.equal(null);
    expect(signalProcess(pid, 'SIGKILL')).to.equal(false);
    expect(signalGroup(pid, 'SIGKILL')).to.equal(false);
  });

  it('names a process that runs, and no other one with its pid', async () => {
    const own = await identityOf(process.pid);
    expect(await isRunning(own)).to.equal(true);
    expect(await isRunning({ ...own, startedAt: `${own.startedAt}0` })).to.equal(false);
  });

  it('reads the fields behind a name that contains parentheses and spaces', () => {
    expect(statFields('12 (a) S (b) R 7 12').slice(0, 3)).to.eql(['R', '7', '12']);
  });
});
