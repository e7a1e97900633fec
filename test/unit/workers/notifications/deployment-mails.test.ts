import { expect } from 'chai';
import { DEFAULT_CONFIGURATION } from '../../../../shared/services/configuration.js';
import { deploymentMail, isLastTry } from '../../../../workers/notifications/deployment-mails.js';
import type { DeploymentEnd } from '../../../../workers/notifications/store.js';

const config = { edgeDomain: 'example.com', edgePort: 8080, edgeTls: null };

const end = (more: Partial<DeploymentEnd> = {}): DeploymentEnd => ({
  deployment_id: 'the-id',
  tries: 1,
  status: 'live',
  error: '',
  branch: 'main',
  commit_sha: 'abc',
  actor: 'anna',
  finished_at: new Date('2026-11-21T12:00:00Z'),
  service_name: 'Shop',
  is_preview: false,
  service_slug: 'shop',
  service_configuration: DEFAULT_CONFIGURATION,
  workspace_name: 'Team',
  workspace_configuration: { notificationEmail: 'team@example.com', deployNotifications: 'all', timezone: 'UTC' },
  ...more,
});

describe('The mail about a deployment', () => {
  it('tells what ended, how, when and at which address it is served', () => {
    const mail = deploymentMail(end(), config);
    expect(mail?.to).to.equal('team@example.com');
    expect(mail?.subject).to.equal('The deployment of Shop is live');
    expect(mail?.text).to.contain('Address: http://shop.example.com:8080').and.contain('Commit: abc');
    expect(mail?.text).to.match(/^Ended: .*\(UTC\)$/m);
  });

  it('of a failure tells the cause and no address', () => {
    const mail = deploymentMail(end({ status: 'failed', error: 'npm ci: exit code 1' }), config);
    expect(mail?.subject).to.equal('The deployment of Shop failed');
    expect(mail?.text).to.contain('npm ci: exit code 1').and.not.contain('Address');
  });

  it('is not sent if the settings ask for none', () => {
    const workspace = { notificationEmail: 'team@example.com', deployNotifications: 'failure' as const };
    expect(deploymentMail(end({ workspace_configuration: workspace }), config)).to.equal(null);
    expect(deploymentMail(end({ workspace_configuration: { deployNotifications: 'all' } }), config)).to.equal(null);
  });

  it('is tried thirty times', () => {
    expect([1, 29, 30, 31].map(isLastTry)).to.deep.equal([false, false, true, true]);
  });
});
