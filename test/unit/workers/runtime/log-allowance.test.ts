import { mock } from 'node:test';
import { expect } from 'chai';
import { HostAllowance, LogAllowance } from '../../../../workers/runtime/log-allowance.js';

describe('Log allowance', () => {
  it('bounds lines as well as bytes', () => {
    const allowance = new LogAllowance();
    let taken = 0;
    while (allowance.open && taken < 1_000_000) {
      allowance.take(1000, 1000);
      taken += 1000;
    }
    expect(taken).to.be.within(35_000, 60_000);
    expect(allowance.waitMs()).to.be.within(1, 5000);
    const wide = new LogAllowance();
    let bytes = 0;
    while (wide.open && bytes < 1024 ** 3) {
      wide.take(1024 ** 2, 1);
      bytes += 1024 ** 2;
    }
    expect(bytes).to.be.within(32 * 1024 ** 2, 40 * 1024 ** 2);
  });

  it('lets many that print too much share what the host has, and an ordinary one pass beside them', () => {
    const host = new HostAllowance();
    const flooding = Array.from({ length: 50 }, () => new LogAllowance(host));
    let taken = 0;
    for (const allowance of flooding) {
      while (allowance.open && taken < 10_000_000) {
        allowance.take(1000, 1000);
        taken += 1000;
      }
    }
    expect(taken).to.be.below(50 * 6000 + 80_000);
    expect(new LogAllowance(host).open).to.equal(true);
  });

  it('fills again with the time, up to its burst', () => {
    mock.timers.enable({ apis: ['Date'], now: 0 });
    try {
      const allowance = new LogAllowance();
      allowance.take(0, 40_000);
      expect(allowance.open).to.equal(false);
      expect(allowance.waitMs(), 'for 200 lines at 1000 a second').to.equal(200);
      mock.timers.tick(10_000);
      expect(allowance.lines()).to.equal(10_000);
      mock.timers.tick(3_600_000);
      expect(allowance.lines()).to.equal(40_000);
      allowance.take(32 * 1024 ** 2, 1);
      expect(allowance.lines(), 'no bytes are left').to.equal(0);
      mock.timers.tick(1_000);
      expect(allowance.lines()).to.equal(40_000);
    } finally {
      mock.timers.reset();
    }
  });
});
