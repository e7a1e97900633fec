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
});
