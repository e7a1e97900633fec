import { expect } from 'chai';
import { HashGate } from '../../../../api/auth/hash-gate.js';
import { AppError } from '../../../../shared/core/errors.js';

describe('The gate of password hashing', () => {
  /** Work that ends when it is told to, and counts what runs. */
  function works() {
    const running = new Set<() => void>();
    let most = 0;
    const work = () =>
      new Promise<void>((resolve) => {
        const end = () => {
          running.delete(end);
          resolve();
        };
        running.add(end);
        most = Math.max(most, running.size);
      });
    return { work, running, most: () => most };
  }

  const settled = () => new Promise((resolve) => setImmediate(resolve));

  it('lets two run at once, eight of one client wait, and refuses more with rate_limited', async () => {
    const gate = new HashGate();
    const { work, running, most } = works();
    const outcomes = Array.from({ length: 15 }, () =>
      gate.run('one', work).then(
        () => 'done',
        (error: unknown) => (error as AppError).code,
      ),
    );
    const other = gate.run('another', work).then(() => 'done');
    for (let left = 11; left > 0; left--) {
      await settled();
      expect(running.size).to.equal(Math.min(2, left));
      for (const end of [...running].slice(0, 1)) end();
    }
    expect(await Promise.all(outcomes)).to.deep.equal([...Array(10).fill('done'), ...Array(5).fill('rate_limited')]);
    expect(await other).to.equal('done');
    expect(most()).to.equal(2);
  });

  it('has a bounded queue for all clients together', async () => {
    const gate = new HashGate();
    const { work, running } = works();
    const outcomes = Array.from({ length: 70 }, (_, i) =>
      gate.run(`client ${i}`, work).then(
        () => 'done',
        (error: unknown) => (error as AppError).code,
      ),
    );
    while (running.size > 0) {
      for (const end of [...running]) end();
      await settled();
    }
    const found = await Promise.all(outcomes);
    expect(found.filter((outcome) => outcome === 'rate_limited')).to.have.length(4);
  });

  it('goes on after a failure', async () => {
    const gate = new HashGate();
    const failing = () => Promise.reject(new AppError('unauthenticated'));
    for (let i = 0; i < 5; i++) {
      const error = await gate.run('one', failing).catch((caught: unknown) => caught);
      expect(error).to.be.instanceOf(AppError);
    }
    expect(await gate.run('one', async () => 'done')).to.equal('done');
  });
});
