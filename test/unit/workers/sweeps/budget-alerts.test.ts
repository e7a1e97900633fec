import { expect } from 'chai';
import { budgetAlerts } from '../../../../workers/sweeps/budget-alerts.js';

const now = new Date('2026-11-21T12:00:00Z');
/** A starter service costs 7 USD a month. */
const services = (number: number) => [{ kind: 'web' as const, plan: 'starter', replicas: number }];
const workspace = (configuration: object) => ({
  id: 'w',
  name: 'Team',
  configuration: { notificationEmail: 'ops@example.com', timezone: 'UTC', ...configuration },
});
const thresholds = (budget: number, replicas: number) =>
  budgetAlerts(workspace({ budget }), services(replicas), now).map(({ threshold }) => threshold);

describe('The alerts that a budget calls for', () => {
  it('begin at 80 per cent, and at 100 there are two', () => {
    expect(thresholds(36, 4)).to.deep.equal([]);
    expect(thresholds(35, 4)).to.deep.equal([80]);
    expect(thresholds(29, 4)).to.deep.equal([80]);
    expect(thresholds(28, 4)).to.deep.equal([80, 100]);
    expect(thresholds(7, 4)).to.deep.equal([80, 100]);
  });

  it('are none without a budget', () => {
    expect(thresholds(0, 4)).to.deep.equal([]);
  });

  it('name the costs, the budget and what follows', () => {
    const mailOf = (allowOverages: boolean) =>
      budgetAlerts(workspace({ budget: 35, allowOverages }), services(4), now)[0]?.mail;
    const mail = mailOf(false);
    expect(mail).to.deep.include({ to: 'ops@example.com', subject: 'Team has reached 80 % of its budget' });
    expect(mail?.text).to.contain('28 USD').and.contain('80 % of its budget of 35 USD').and.contain('are refused');
    expect(mailOf(true)?.text).to.contain('allows overages').and.not.contain('are refused');
  });
});
