import { expect } from 'chai';
import fc from 'fast-check';
import {
  decideScaling,
  forgotten,
  NO_MEMORY,
  type ScalingFacts,
  type ScalingMemory,
  scalingMessage,
  type Usage,
} from '../../../../workers/scaling/model.js';

const MINUTE = 60_000;
const FACTS: ScalingFacts = {
  now: 1_000_000_000,
  replicas: 2,
  measured: [],
  minReplicas: 1,
  maxReplicas: 20,
  targetCpu: 70,
  targetMemory: 80,
  quietMs: 5 * MINUTE,
  memory: NO_MEMORY,
};

const all = (replicas: number, cpu: number, memory = 10): Usage[] =>
  Array.from({ length: replicas }, () => ({ cpu, memory }));

function decide(replicas: number, measured: Usage[], facts: Partial<ScalingFacts> = {}) {
  return decideScaling({ ...FACTS, replicas, measured, ...facts });
}

interface Moment {
  at: number;
  before: number;
  after: number;
}

/** Simulates decisions every 15 s. The replicas share the load, which is in per cent of one replica. */
function simulate(
  loads: readonly number[],
  facts: Partial<ScalingFacts> = {},
  warmUpMs = 30_000,
): { moments: Moment[]; replicas: number } {
  let replicas = facts.replicas ?? 1;
  let memory: ScalingMemory = NO_MEMORY;
  let readyAt: number[] = new Array(replicas).fill(0);
  const moments: Moment[] = [];
  for (const [tick, load] of loads.entries()) {
    const now = FACTS.now + tick * 15_000;
    const counted = readyAt.filter((at) => now - at >= warmUpMs).length;
    const measured = all(counted, Math.min(100, load / replicas));
    const decision = decideScaling({ ...FACTS, ...facts, now, replicas, measured, memory });
    memory = decision.memory;
    if (decision.replicas !== replicas) moments.push({ at: now, before: replicas, after: decision.replicas });
    readyAt = Array.from({ length: decision.replicas }, (_, index) => readyAt[index] ?? now);
    replicas = decision.replicas;
  }
  return { moments, replicas };
}

describe('Automatic scaling', () => {
  it('adds at once what the usage asks for, and lets the larger wish win', () => {
    expect(decide(2, all(2, 100)).replicas).to.equal(3);
    expect(decide(4, all(4, 100)).replicas).to.equal(6);
    expect(decide(2, all(2, 10, 100)).replicas).to.equal(3);
    expect(decide(2, all(2, 100, 10)).replicas).to.equal(3);
  });

  it('leaves a usage within a tenth of the target alone', () => {
    for (const cpu of [63, 70, 77]) expect(decide(3, all(3, cpu)).wish).to.equal(3);
    expect(decide(3, all(3, 78)).wish).to.equal(4);
  });

  it('at most doubles in a minute, or adds four', () => {
    const eager = { targetCpu: 5, maxReplicas: 100 };
    expect(decide(1, all(1, 100), eager).replicas).to.equal(5);
    expect(decide(10, all(10, 100), eager).replicas).to.equal(20);
    const memory = decide(1, all(1, 100), eager).memory;
    expect(decide(5, all(5, 100), { ...eager, memory, now: FACTS.now + 15_000 }).replicas).to.equal(5);
    expect(decide(5, all(5, 100), { ...eager, memory, now: FACTS.now + MINUTE }).replicas).to.equal(10);
  });

  it('takes one away each minute, after five quiet minutes', () => {
    const { moments } = simulate(new Array(60).fill(5), { replicas: 4 });
    expect(moments.map(({ before, after }) => [before, after])).to.deep.equal([
      [4, 3],
      [3, 2],
      [2, 1],
    ]);
    expect((moments[0]?.at ?? 0) - FACTS.now).to.be.within(5 * MINUTE, 5 * MINUTE + 15_000);
    expect((moments[1]?.at ?? 0) - (moments[0]?.at ?? 0)).to.be.at.least(MINUTE);
  });

  it('takes none away before it has looked for five minutes', () => {
    const since = (minutes: number): ScalingMemory => ({
      wishes: [
        { at: FACTS.now - minutes * MINUTE, replicas: 3 },
        { at: FACTS.now - 15_000, replicas: 1 },
      ],
      changes: [],
    });
    expect(decide(5, all(5, 1), { memory: since(1) }).replicas).to.equal(5);
    expect(decide(5, all(5, 1), { memory: since(5) }).replicas).to.equal(4);
  });

  it('takes none away as long as one moment of the last five minutes needed them', () => {
    const loads = Array.from({ length: 80 }, (_, tick) => (tick % 16 === 0 ? 200 : 20));
    expect(simulate(loads, { replicas: 3 }).moments).to.deep.equal([]);
  });

  it('counts replicas without a sample as idle for adding and as busy for removing', () => {
    // Two of four replicas are measured at full use. With the others idle, the average is 50 %.
    expect(decide(4, all(2, 100)).wish).to.equal(4);
    // Two of four replicas are idle. With the others busy, the average is 50 %.
    expect(decide(4, all(2, 0)).wish).to.equal(3);
    expect(decide(4, []).wish).to.equal(4);
  });

  it('follows the bounds at once, also downwards', () => {
    expect(decide(1, [], { minReplicas: 3 }).replicas).to.equal(3);
    expect(decide(9, all(9, 100), { maxReplicas: 4 }).replicas).to.equal(4);
  });

  it('begins its quiet time anew after a deployment, and after a time in which nobody looked', () => {
    const memory: ScalingMemory = { wishes: [{ at: FACTS.now - 10 * MINUTE, replicas: 1 }], changes: [] };
    expect(decide(2, all(2, 1), { memory }).replicas).to.equal(2);
    const seen = Array.from({ length: 30 }, (_, n) => ({ at: FACTS.now - (30 - n) * 15_000, replicas: 1 }));
    expect(decide(2, all(2, 1), { memory: { wishes: seen, changes: [] } }).replicas).to.equal(1);
    expect(decide(2, all(2, 1), { memory: forgotten({ wishes: seen, changes: [] }) }).replicas).to.equal(2);
  });

  it('says why with its figures', () => {
    const facts = { ...FACTS, measured: all(1, 98.4, 12) };
    const decision = decideScaling(facts);
    expect(scalingMessage(facts, { ...decision, replicas: 3 })).to.equal(
      'Scales from 2 to 3 replicas: processor 98 % of the plan (target 70 %), memory 12 % (target 80 %), averaged over 1 of 2 replicas; wanted are 2, between 1 and 20',
    );
  });
});

describe('Automatic scaling, whatever the load', () => {
  const bounds = fc.record({ minReplicas: fc.integer({ min: 1, max: 6 }), extra: fc.integer({ min: 0, max: 20 }) });
  const target = fc.integer({ min: 5, max: 100 });

  it('stays within its bounds and its speeds', () => {
    fc.assert(
      fc.property(
        fc.array(fc.integer({ min: 0, max: 4000 }), { minLength: 1, maxLength: 200 }),
        bounds,
        target,
        (loads, { minReplicas, extra }, targetCpu) => {
          const maxReplicas = minReplicas + extra;
          const { moments } = simulate(loads, { replicas: minReplicas, minReplicas, maxReplicas, targetCpu });
          for (const [index, { at, before, after }] of moments.entries()) {
            expect(after).to.be.within(minReplicas, maxReplicas);
            const removals = moments.slice(0, index).filter((moment) => moment.after < moment.before);
            if (after < before) {
              expect(before - after).to.equal(1);
              for (const other of removals) expect(at - other.at).to.be.at.least(MINUTE);
              // No replica that came in the last five minutes is removed.
              for (const other of moments.slice(0, index)) {
                if (other.after > other.before) expect(at - other.at).to.be.at.least(5 * MINUTE);
              }
            } else {
              const recent = moments.slice(0, index).filter((moment) => at - moment.at < MINUTE);
              const base = before - recent.reduce((sum, moment) => sum + moment.after - moment.before, 0);
              expect(after).to.be.at.most(Math.max(2 * base, base + 4, before));
            }
          }
        },
      ),
    );
  });

  it('never flaps: a steady load is reached from one side and then nothing changes any more', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 0, max: 2000 }),
        fc.integer({ min: 1, max: 20 }),
        target,
        (load, replicas, targetCpu) => {
          const { moments } = simulate(new Array(400).fill(load), { replicas, targetCpu, maxReplicas: 20 });
          const directions = new Set(moments.map(({ before, after }) => Math.sign(after - before)));
          expect(directions.size).to.be.at.most(1);
          const last = moments.at(-1)?.at ?? 0;
          expect(last).to.be.below(FACTS.now + 350 * 15_000);
        },
      ),
    );
  });
});
