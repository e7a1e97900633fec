import { expect } from 'chai';
import { createLogger } from '../../../../shared/core/log.js';
import type { Mail } from '../../../../shared/core/mail.js';
import { alertsOfMonth } from '../../../../shared/workspaces/budget-alert-store.js';
import type { WorkspaceConfiguration, WorkspaceRow } from '../../../../shared/workspaces/model.js';
import { sendBudgetAlerts } from '../../../../workers/sweeps/budget-alerts.js';
import { makeService, makeWorkspace } from '../../../support/factories.js';
import { useTestDatabase } from '../../../support/postgres.js';

describe('Budget alerts', () => {
  const database = useTestDatabase();
  let mails: Mail[];
  let server: 'takes' | 'refuses' | 'is not configured';

  beforeEach(async () => {
    mails = [];
    server = 'takes';
    await database.db('workspaces').delete();
  });

  const mailer = {
    async send(mail: Mail) {
      if (server === 'refuses') throw new Error('450 busy');
      if (server === 'takes') mails.push(mail);
      return server === 'takes';
    },
    close: () => undefined,
  };
  const sweep = () => sendBudgetAlerts({ db: database.db, mailer, log: createLogger('test', 'silent') });
  const workspaceWith = (settings: Partial<WorkspaceConfiguration>) =>
    makeWorkspace(database.db, { notificationEmail: 'ops@example.com', ...settings });
  const thresholds = async (workspace: WorkspaceRow) =>
    (await alertsOfMonth(database.db, workspace.id)).map(({ threshold, sent_at }) => [threshold, sent_at !== null]);
  const dueNow = () => database.db('budget_alerts').update({ due_at: new Date(0) });

  it('are sent at 80 and at 100 per cent, once each', async () => {
    const workspace = await workspaceWith({ budget: 31, timezone: 'Asia/Tokyo' });
    await makeService(database.db, workspace, { plan: 'starter' });
    expect(await sweep(), 'at 23 %').to.deep.equal([]);
    await makeService(database.db, workspace, { plan: 'starter', replicas: 3 });
    expect(await sweep(), 'at 90 %').to.have.length(1);
    expect(mails[0]?.to).to.equal('ops@example.com');
    expect(mails[0]?.subject).to.contain('80 %');
    expect(mails[0]?.text)
      .to.contain('28 USD')
      .and.contain('90.3 %')
      .and.contain('budget of 31 USD')
      .and.contain('(Asia/Tokyo)');
    await makeService(database.db, workspace, { plan: 'starter' });
    await sweep();
    await dueNow();
    await sweep();
    expect(mails.map(({ subject }) => subject.match(/\d+ %/)?.[0])).to.deep.equal(['80 %', '100 %']);
    expect(await thresholds(workspace)).to.deep.equal([
      [80, true],
      [100, true],
    ]);
  });

  it('are sent again in the next month', async () => {
    const workspace = await workspaceWith({ budget: 7 });
    await makeService(database.db, workspace, { plan: 'starter' });
    await sweep();
    await database.db.raw(`update budget_alerts set month = month - interval '1 month'`);
    expect(await thresholds(workspace)).to.deep.equal([]);
    await sweep();
    expect(mails).to.have.length(4);
  });

  it('are not sent where nobody wants them, or no budget is set', async () => {
    for (const settings of [{ budget: 0 }, { budget: 7, budgetAlerts: false }, { budget: 7, notificationEmail: '' }]) {
      await makeService(database.db, await workspaceWith(settings), { plan: 'starter' });
    }
    expect(await sweep()).to.deep.equal([]);
    expect(await database.db('budget_alerts')).to.deep.equal([]);
  });

  it('a mail server that refuses delays an alert and loses none', async () => {
    const workspace = await workspaceWith({ budget: 8 });
    await makeService(database.db, workspace, { plan: 'starter' });
    server = 'refuses';
    await sweep();
    expect(await thresholds(workspace)).to.deep.equal([[80, false]]);
    server = 'takes';
    expect(await sweep(), 'it is not due yet').to.deep.equal([]);
    await dueNow();
    expect(await sweep()).to.have.length(1);
    expect(await thresholds(workspace)).to.deep.equal([[80, true]]);
  });

  it('are not shown as sent where no mail server is configured', async () => {
    const workspace = await workspaceWith({ budget: 8 });
    await makeService(database.db, workspace, { plan: 'starter' });
    server = 'is not configured';
    expect(await sweep()).to.deep.equal([]);
    expect(await thresholds(workspace)).to.deep.equal([[80, false]]);
  });

  it('two sweeps at once send it once', async () => {
    const workspace = await workspaceWith({ budget: 8 });
    await makeService(database.db, workspace, { plan: 'starter' });
    await Promise.all([sweep(), sweep(), sweep()]);
    expect(mails).to.have.length(1);
  });
});
