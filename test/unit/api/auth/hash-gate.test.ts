import { expect } from 'chai';
import { HashGate } from '../../../../api/auth/hash-gate.js';
import { AppError } from '../../../../shared/core/error-registry.js';
import { codeOf } from '../../../support/outcomes.js';

describe('The gate of password hashing', () => {
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

  const stranger = (client: string) => ({ client, account: null });
  const settled = () => new Promise((resolve) => setImmediate(resolve));

  it('lets two run at once, eight of one client wait, and refuses more with rate_limited', async () => {
    const gate = new HashGate();
    const { work, running, most } = works();
    const outcomes = Array.from({ length: 15 }, () => codeOf(gate.run(stranger('one'), work)));
    const other = gate.run(stranger('another'), work).then(() => 'done');
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
    const outcomes = Array.from({ length: 70 }, (_, i) => codeOf(gate.run(stranger(`client ${i}`), work)));
    await settled();
    while (running.size > 0) {
      for (const end of [...running]) end();
      await settled();
    }
    const found = await Promise.all(outcomes);
    expect(found.filter((outcome) => outcome === 'rate_limited')).to.have.length(4);
  });

  it('lets a client in whose site waits for less than others: those with the most lose their newest place', async () => {
    const gate = new HashGate();
    const { work, running } = works();
    const order: string[] = [];
    const ask = (client: string, account: string | null = null) =>
      gate.run({ client, account }, async () => {
        order.push(client);
        await work();
      });
    const refused: unknown[] = [];
    // 256 networks of one site, and eight requests from each of eight addresses.
    for (let i = 0; i < 256; i++)
      ask(`2001:db8:1:${i.toString(16)}::/64`).catch((error: unknown) => refused.push(error));
    for (let i = 0; i < 64; i++) ask(`192.0.2.${i % 8}`).catch((error: unknown) => refused.push(error));
    await settled();
    expect(refused, 'a full queue answers at once').to.have.length(254);
    const others = [ask('198.51.100.1'), ask('2001:db8:2:1::/64'), ask('198.51.100.1')];
    const known = ask('192.0.2.1', 'owner@example.com');
    await settled();
    expect(order.at(-1), 'who is known waits for no stranger').to.equal('192.0.2.1');
    while (running.size > 0) {
      for (const end of [...running]) end();
      await settled();
    }
    await Promise.all([...others, known]);
    expect(order.indexOf('198.51.100.1'), order.join(' ')).to.be.below(16);
    expect(refused).to.have.length(257);
  });

  it('goes on after a failure', async () => {
    const gate = new HashGate();
    const failing = () => Promise.reject(new AppError('unauthenticated'));
    for (let i = 0; i < 5; i++) {
      const error = await gate.run(stranger('one'), failing).catch((caught: unknown) => caught);
      expect(error).to.be.instanceOf(AppError);
    }
    expect(await gate.run(stranger('one'), async () => 'done')).to.equal('done');
  });
});
