import { expect } from 'chai';
import { limitsOf } from '../../../../shared/services/plan-catalog.js';
import { sampleOf } from '../../../../workers/runtime/usage-sampler.js';
import type { MeasurableReplica } from '../../../../workers/runtime/usage-store.js';

const REPLICA: MeasurableReplica = {
  id: 'r',
  restarts: 3,
  service_id: 's',
  task_id: null,
  kind: 'web',
  plan: 'standard',
};
const MEGABYTE = 1024 * 1024;

describe('A sample of a replica', () => {
  const reading = (at: number, cpuSeconds: number) => ({ at, cpuSeconds, memoryBytes: 512 * MEGABYTE, attempt: 3 });

  it('is what it used between two readings, in per cent of its plan', () => {
    expect(limitsOf('web', 'standard')).to.include({ cpu: 2, memoryMb: 2048 });
    expect(sampleOf(REPLICA, reading(1_000, 10), reading(11_000, 15))).to.deep.equal({
      replicaId: 'r',
      serviceId: 's',
      attempt: 3,
      cpu: 25,
      memory: 25,
    });
  });

  it('is none if no time has passed or the counter began anew', () => {
    expect(sampleOf(REPLICA, reading(1_000, 10), reading(1_000, 10))).to.equal(null);
    expect(sampleOf(REPLICA, reading(1_000, 10), reading(2_000, 1))).to.equal(null);
  });

  it('of a database is in per cent of the plans of databases, also if its plan is no longer in the catalog', () => {
    for (const plan of ['free', 'gone']) {
      expect(limitsOf('postgres', plan)).to.include({ cpu: 0.25, memoryMb: 256 });
      const sample = sampleOf({ ...REPLICA, kind: 'postgres', plan }, reading(1_000, 10), reading(11_000, 11));
      expect(sample, plan).to.include({ cpu: 40, memory: 200 });
    }
  });
});
