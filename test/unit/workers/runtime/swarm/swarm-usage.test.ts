import { expect } from 'chai';
import type { Engine } from '../../../../../workers/docker/docker-engine.js';
import { type ContainerStats, SwarmUsage, usageFrom } from '../../../../../workers/runtime/swarm/swarm-usage.js';
import type { MeasurableReplica } from '../../../../../workers/runtime/usage-store.js';

const MEGABYTE = 1024 * 1024;

function stats(memory: ContainerStats['memory_stats']): ContainerStats {
  return { cpu_stats: { cpu_usage: { total_usage: 2.5e9 } }, memory_stats: memory };
}

function replica(task_id: string | null): MeasurableReplica {
  return { id: 'r', restarts: 0, service_id: 's', task_id, kind: 'web', plan: 'free' };
}

describe('What a container of a swarm uses', () => {
  it('is its processor time, and its memory without caches that are not in use', () => {
    const v1 = stats({ usage: 50 * MEGABYTE, stats: { total_inactive_file: 20 * MEGABYTE } });
    expect(usageFrom(v1)).to.deep.equal({ cpuSeconds: 2.5, memoryBytes: 30 * MEGABYTE });
    const v2 = stats({ usage: 50 * MEGABYTE, stats: { inactive_file: 10 * MEGABYTE } });
    expect(usageFrom(v2)).to.deep.equal({ cpuSeconds: 2.5, memoryBytes: 40 * MEGABYTE });
  });

  it('is unknown for one that has ended', () => {
    expect(usageFrom(stats({}))).to.equal(null);
    expect(usageFrom({ cpu_stats: {}, memory_stats: { usage: 1 } })).to.equal(null);
  });

  it('is asked only of containers on this engine', async () => {
    const asked: string[] = [];
    const calls = {
      listContainers: async () => [{ Id: 'c1', Labels: { 'com.docker.swarm.task.id': 't1' } }],
      getContainer: (id: string) => ({
        stats: async () => {
          asked.push(id);
          return stats({ usage: MEGABYTE });
        },
      }),
    };
    const usage = new SwarmUsage({ calls } as unknown as Engine);
    expect(await usage.usageOf(replica('t1'))).to.equal(null);
    await usage.refresh();
    expect(await usage.usageOf(replica('t1'))).to.deep.equal({ cpuSeconds: 2.5, memoryBytes: MEGABYTE });
    expect(await usage.usageOf(replica('t2'))).to.equal(null);
    expect(await usage.usageOf(replica(null))).to.equal(null);
    expect(asked).to.deep.equal(['c1']);
  });
});
