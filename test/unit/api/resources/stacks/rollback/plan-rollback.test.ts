import { expect } from 'chai';
import { planRollback, type ServiceReleases } from '../../../../../../api/resources/stacks/rollback/plan-rollback.js';

const service = (changes: Partial<ServiceReleases> = {}): ServiceReleases => ({
  id: 'id',
  name: 'web',
  kind: 'web',
  archived: false,
  lifecycle: 'active',
  hasVolumes: false,
  isLive: true,
  thenId: 'then',
  isSame: false,
  imageKept: true,
  ...changes,
});
const problems = (changes: Partial<ServiceReleases>) => planRollback([service(changes)]).problems;
const NOTHING = { steps: [], warnings: [], problems: [] };

describe('A rollback of a stack', () => {
  it('brings each service back to the release of then', () => {
    const step = { op: 'service.rollback', serviceId: 'id', name: 'web', deploymentId: 'then' };
    expect(planRollback([service()])).to.deep.equal({ ...NOTHING, steps: [step] });
    expect(planRollback([service({ kind: 'cron' }), service({ kind: 'worker' })]).steps).to.have.length(2);
  });

  it('leaves what is live as it was then, and what was not live then', () => {
    expect(planRollback([service({ isSame: true, archived: true, imageKept: false })])).to.deep.equal(NOTHING);
    expect(planRollback([service({ thenId: null, isLive: false })])).to.deep.equal(NOTHING);
    const warnings = ['web was not live then; its release stays'];
    expect(planRollback([service({ thenId: null })])).to.deep.equal({ ...NOTHING, warnings });
  });

  it('leaves databases, and says so', () => {
    const warnings = ['web is a database, whose release stays'];
    expect(planRollback([service({ kind: 'postgres', hasVolumes: true })])).to.deep.equal({ ...NOTHING, warnings });
  });

  it('is refused with the reason if a service cannot go back', () => {
    expect(problems({ imageKept: false })).to.deep.equal(['web has no image of that release any more']);
    expect(problems({ archived: true })).to.deep.equal(['web is archived: restore it first']);
    expect(problems({ lifecycle: 'suspended' })).to.deep.equal(['web is suspended: resume it first']);
    expect(problems({ lifecycle: 'deleted', imageKept: false })).to.deep.equal(['web was deleted since']);
    expect(problems({ hasVolumes: true })[0]).to.match(/^web has a volume, /);
  });
});
