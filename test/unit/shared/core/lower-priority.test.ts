import { spawn } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { constants, getPriority } from 'node:os';
import { expect } from 'chai';
import { lowerPriority } from '../../../../shared/core/lower-priority.js';

describe('lowerPriority', () => {
  it('lowers that of a process and of its session, and not that of its parent', async () => {
    const own = getPriority();
    const child = spawn('sleep', ['60'], { detached: true, stdio: 'ignore' });
    try {
      lowerPriority(child.pid);
      expect(getPriority(child.pid)).to.equal(constants.priority.PRIORITY_BELOW_NORMAL);
      expect(getPriority()).to.equal(own);
      const session = await readFile(`/proc/${child.pid}/autogroup`, 'utf8').catch(() => null);
      // Some kernels have no autogroups, and limit how often an ordinary user may change one.
      if (session !== null && process.getuid?.() === 0) expect(session).to.match(/nice 10\n$/);
    } finally {
      child.kill('SIGKILL');
    }
  });

  it('does nothing if there is no such process', () => {
    const own = getPriority();
    for (const pid of [undefined, 2 ** 22 + 1]) expect(() => lowerPriority(pid)).to.not.throw();
    expect(getPriority()).to.equal(own);
  });
});
