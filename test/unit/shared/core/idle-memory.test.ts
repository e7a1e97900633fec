import { expect } from 'chai';
import { IdleMemory } from '../../../../shared/core/idle-memory.js';

const MIB = 1024 * 1024;

describe('The memory of a process at rest', () => {
  const { gc } = globalThis;
  const { rss } = process.memoryUsage;
  const { eventLoopUtilization } = performance;
  let collections = 0;
  let held = 100;
  let utilization = 0;
  beforeEach(() => {
    collections = 0;
    held = 100;
    utilization = 0.01;
    globalThis.gc = (() => {
      collections += 1;
      held = 110;
    }) as typeof globalThis.gc;
    process.memoryUsage.rss = () => held * MIB;
    performance.eventLoopUtilization = () => ({ idle: 0, active: 0, utilization });
  });
  afterEach(() => {
    globalThis.gc = gc;
    process.memoryUsage.rss = rss;
    performance.eventLoopUtilization = eventLoopUtilization;
  });

  function look(memory: IdleMemory, mib: number): number {
    held = mib;
    memory.look();
    return collections;
  }

  it('is collected once it holds much more than at its least, and not again for what a collection leaves', () => {
    const memory = new IdleMemory(() => 0);
    expect(look(memory, 100)).to.equal(0);
    expect(look(memory, 140)).to.equal(0);
    expect(look(memory, 240)).to.equal(1);
    expect(look(memory, 150)).to.equal(1);
    expect(look(memory, 170)).to.equal(2);
  });

  it('is left alone while the event loop is busy', () => {
    const memory = new IdleMemory(() => 0);
    look(memory, 100);
    utilization = 0.5;
    expect(look(memory, 400)).to.equal(0);
    utilization = 0.01;
    expect(look(memory, 400)).to.equal(1);
  });

  it('is left alone while jobs run', () => {
    const memory = new IdleMemory(() => 1);
    look(memory, 100);
    expect(look(memory, 400)).to.equal(0);
  });
});
