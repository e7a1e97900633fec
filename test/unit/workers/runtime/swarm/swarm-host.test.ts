import { expect } from 'chai';
import type { Service } from 'dockerode';
import { LABELS } from '../../../../../workers/runtime/swarm/service-spec.js';
import { isForgotten } from '../../../../../workers/runtime/swarm/swarm-host.js';

const NOW = Date.parse('2026-01-01T00:00:00Z');
const HOUR_MS = 60 * 60_000;

function service(labels: Record<string, string>, ageMs = 0): Service {
  return { ID: 'x', CreatedAt: new Date(NOW - ageMs).toISOString(), Spec: { Labels: labels } } as unknown as Service;
}

describe('A Swarm service that a sweep removes', () => {
  it('is one of a replica that has no row, however old', () => {
    const replica = service({ [LABELS.replica]: 'one' }, 24 * HOUR_MS);
    expect(isForgotten(replica, new Set(['one']), NOW)).to.equal(false);
    expect(isForgotten(replica, new Set(['other']), NOW)).to.equal(true);
  });

  it('is one of a command that is older than an hour', () => {
    const command = (ageMs: number) => isForgotten(service({ [LABELS.command]: 'c' }, ageMs), new Set(), NOW);
    expect(command(HOUR_MS)).to.equal(false);
    expect(command(HOUR_MS + 1)).to.equal(true);
  });

  it('is none that has neither label', () => {
    expect(isForgotten(service({}, 24 * HOUR_MS), new Set(), NOW)).to.equal(false);
  });
});
