import { expect } from 'chai';
import { serviceStatus } from '../../../../../api/resources/services/service-status.js';

describe('The status of a service', () => {
  const facts = { lifecycleStatus: 'active', liveDeploymentId: null, latestDeploymentState: null } as const;

  it('is that of its newest deployment while that runs', () => {
    for (const state of ['queued', 'building', 'releasing', 'switched'] as const) {
      expect(serviceStatus({ ...facts, liveDeploymentId: 'x', latestDeploymentState: state })).to.equal('deploying');
    }
  });

  it('is live while a release serves, whatever failed after it', () => {
    expect(serviceStatus({ ...facts, liveDeploymentId: 'x', latestDeploymentState: 'failed' })).to.equal('live');
    expect(serviceStatus({ ...facts, latestDeploymentState: 'failed' })).to.equal('failed');
    expect(serviceStatus({ ...facts, latestDeploymentState: 'cancelled' })).to.equal('not_deployed');
    expect(serviceStatus({ ...facts, lifecycleStatus: 'suspended', liveDeploymentId: 'x' })).to.equal('suspended');
  });

  it('is deleting from the request to the end', () => {
    for (const lifecycleStatus of ['deleting', 'deleted'] as const) {
      const deployed = { liveDeploymentId: 'x', latestDeploymentState: 'building' } as const;
      expect(serviceStatus({ ...deployed, lifecycleStatus })).to.equal('deleting');
    }
  });
});
