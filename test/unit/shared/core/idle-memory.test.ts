import { expect } from 'chai';
import { IdleMemory } from '../../../../shared/core/idle-memory.js';

const MIB = 1024 * 1024;

describe('The memory of a process at rest', () => {
  const { gc } = globalThis;
  const { rss } = process.memoryUsage;
  let collections = 0;
  let held = 100;
  beforeEach(() => {
    collections = 0;
    held = 100;
    globalThis.gc = (() => {
      collections += 1;
      held = 110;
    }) as typeof globalThis.gc;
    process.memoryUsage.rss = () => held * MIB;
  });
  afterEach(() => {
    globalThis.gc = gc;
    process.memoryUsage.rss = rss;
  });

  async function look(memory: IdleMemory, mib: number): Promise<number> {
    held = mib;
    // The event loop is idle in between.
    await new Promise((resolve) => setTimeout(resolve, 50));
    memory.look();
    return collections;
  }

  it('is collected once it holds much more than at its least, and not again for what a collection leaves', async () => {
    const memory = new IdleMemory(() => 0);
    expect(await look(memory, 100)).to.equal(0);
    expect(await look(memory, 140)).to.equal(0);
    expect(await look(memory, 240)).to.equal(1);
    expect(await look(memory, 150)).to.equal(1);
    expect(await look(memory, 170)).to.equal(2);
  });

  it('is left alone while jobs run', async () => {
    const memory = new IdleMemory(() => 1);
    await look(memory, 100);
    expect(await look(memory, 400)).to.equal(0);
  });
});
