import { expect } from 'chai';
import { createLogger } from '../../shared/core/log.js';
import { createMailer, type Mailer } from '../../shared/core/mail.js';
import { Sensitive } from '../../shared/core/sensitive.js';
import type { DeploymentRow } from '../../shared/deployments/rows.js';
import { cancelOpenDeployments } from '../../shared/deployments/store.js';
import type { ServiceConfiguration } from '../../shared/services/configuration.js';
import type { ServiceRow } from '../../shared/services/rows.js';
import type { WorkspaceConfiguration } from '../../shared/workspaces/model.js';
import { sendDeploymentMails } from '../../workers/notifications/deployment-mails.js';
import { claimNotifications } from '../../workers/notifications/store.js';
import { nodeServer } from '../support/apps.js';
import { createService, ended, queueDeploy } from '../support/deployments.js';
import { makeDeployment, makeService, makeWorker, makeWorkspace } from '../support/factories.js';
import { startPlatform } from '../support/platform.js';
import { createTestDatabase, type TestDatabase } from '../support/postgres.js';
import { eventually } from '../support/processes.js';
import { applyEvent, claimDeployment } from '../support/records.js';
import { createPlatformRepository } from '../support/repositories.js';
import { startSmtp, type TestSmtp } from '../support/smtp.js';

const log = createLogger('test', 'silent');
const config = { edgeDomain: 'localhost', edgePort: 8080, edgeTls: null };
const TEAM = 'team@example.com';

describe('Deploy notifications', () => {
  let database: TestDatabase;
  let smtp: TestSmtp;
  let mailer: Mailer;

  before(async () => {
    database = await createTestDatabase();
    smtp = await startSmtp();
    mailer = createMailer({ smtpUrl: new Sensitive(smtp.url), from: 'Ranvier <ranvier@example.com>' }, log);
  });
  beforeEach(async () => {
    await database.db('notifications').delete();
    smtp.refuse(false);
    smtp.mails.length = 0;
  });
  after(async () => {
    mailer.close();
    await smtp.close();
    await database.drop();
  });

  const sweep = (by = mailer) => sendDeploymentMails({ db: database.db, mailer: by, log, config });
  const waiting = async () => (await database.db('notifications').select('*')).length;

  async function newService(
    workspaceSettings: Partial<WorkspaceConfiguration>,
    serviceSettings: Partial<ServiceConfiguration> = {},
  ): Promise<ServiceRow> {
    const workspace = await makeWorkspace(database.db, { notificationEmail: TEAM, ...workspaceSettings });
    return makeService(database.db, workspace, serviceSettings);
  }

  async function claimed(
    service: ServiceRow,
  ): Promise<{ deployment: DeploymentRow; claim: { id: string; fence: number } }> {
    const { db } = database;
    const { id } = await makeDeployment(db, service);
    await db('deployments').where({ id }).update({ admitted_at: db.fn.now(), status: 'releasing' });
    const deployment = await claimDeployment(db, id, await makeWorker(db, 1));
    if (!deployment) throw new Error('not claimed');
    return { deployment, claim: { id, fence: deployment.fence } };
  }

  async function end(service: ServiceRow, how: 'live' | 'failed' | 'cancelled'): Promise<string> {
    const { claim } = await claimed(service);
    if (how === 'live') {
      await applyEvent(database.db, claim, 'releasing', { type: 'routeSwitched' });
      await applyEvent(database.db, claim, 'switched', { type: 'edgesConfirmed' });
    } else if (how === 'failed') {
      await applyEvent(database.db, claim, 'releasing', { type: 'failed', error: 'build: exit code 9' });
    } else await applyEvent(database.db, claim, 'releasing', { type: 'cancelled' });
    return claim.id;
  }

  it('a failure is mailed to the notificationEmail, with the cause and what it was', async () => {
    const service = await newService({ deployNotifications: 'failure' });
    const id = await end(service, 'failed');
    await sweep();
    expect(smtp.mails).to.have.length(1);
    const [mail] = smtp.mails;
    expect(mail?.to).to.deep.equal([TEAM]);
    expect(mail?.from).to.equal('ranvier@example.com');
    expect(mail?.subject).to.equal('The deployment of Service failed');
    expect(mail?.text).to.contain('build: exit code 9').and.contain(id);
    expect(mail?.text, 'times are the workspace’s').to.match(/^Ended: .+ \(Africa\/Lagos\)$/m);
    expect(await waiting()).to.equal(0);
  });

  const cases: [Partial<WorkspaceConfiguration>, Partial<ServiceConfiguration>, string[]][] = [
    [{ deployNotifications: 'all' }, {}, ['live', 'failed', 'cancelled']],
    [{ deployNotifications: 'failure' }, {}, ['failed']],
    [{}, {}, ['failed']],
    [{ deployNotifications: 'none' }, {}, []],
    [{ deployNotifications: 'none' }, { notifications: 'all' }, ['live', 'failed', 'cancelled']],
    [{ deployNotifications: 'all' }, { notifications: 'failure' }, ['failed']],
    [{ deployNotifications: 'all' }, { notifications: 'none' }, []],
    [{ deployNotifications: 'all', notificationEmail: '' }, {}, []],
  ];
  for (const [workspaceSettings, serviceSettings, wanted] of cases) {
    const name = JSON.stringify({ ...workspaceSettings, ...serviceSettings });
    it(`${name} tells of ${wanted.join(', ') || 'nothing'}`, async () => {
      for (const how of ['live', 'failed', 'cancelled'] as const) {
        const before = smtp.mails.length;
        await end(await newService(workspaceSettings, serviceSettings), how);
        await sweep();
        expect(smtp.mails.length - before, how).to.equal(wanted.includes(how) ? 1 : 0);
        expect(await waiting()).to.equal(0);
      }
    });
  }

  it('previewNotifications tells of every end of a deployment of another branch too', async () => {
    const settings = { deployNotifications: 'none', previewNotifications: true } as const;
    const service = await newService(settings);
    for (const how of ['live', 'failed', 'cancelled'] as const) await end(service, how);
    await sweep();
    expect(smtp.mails).to.deep.equal([]);
    await database
      .db('services')
      .where({ id: service.id })
      .update({
        configuration: { ...service.configuration, branch: 'another' },
      });
    for (const how of ['live', 'failed', 'cancelled'] as const) await end(service, how);
    await sweep();
    expect(smtp.mails).to.have.length(3);
  });

  it('a deployment that was cancelled before any worker held it is an end too, one that runs is not yet', async () => {
    const service = await newService({ deployNotifications: 'all' });
    await makeDeployment(database.db, service);
    await claimed(service);
    await database.db.transaction((trx) => cancelOpenDeployments(trx, { serviceId: service.id }));
    expect(await waiting()).to.equal(1);
  });

  it('an end that is not ours to write notes nothing', async () => {
    const { claim } = await claimed(await newService({}));
    const stale = { ...claim, fence: claim.fence - 1 };
    const failed = { type: 'failed', error: 'x' } as const;
    expect(await applyEvent(database.db, stale, 'releasing', failed)).to.equal(undefined);
    expect(await waiting()).to.equal(0);
  });

  it('a route that has moved notes nothing before the edges serve it', async () => {
    const { claim } = await claimed(await newService({}));
    expect(await applyEvent(database.db, claim, 'switched', { type: 'edgesConfirmed' })).to.equal(undefined);
    await applyEvent(database.db, claim, 'releasing', { type: 'routeSwitched' });
    expect(await waiting()).to.equal(0);
  });

  it('a mail server that refuses delays the mail and loses none', async () => {
    await end(await newService({}), 'failed');
    smtp.refuse(true);
    await sweep();
    expect(await waiting()).to.equal(1);
    smtp.refuse(false);
    await sweep();
    expect(smtp.mails, 'not before the pause is over').to.have.length(0);
    await database.db('notifications').update({ due_at: database.db.fn.now() });
    await sweep();
    expect(smtp.mails).to.have.length(1);
    expect(await waiting()).to.equal(0);
  });

  it('a mail whose sender died is sent by the next; two senders at once send it once', async () => {
    await end(await newService({}), 'failed');
    expect(await claimNotifications(database.db, 10)).to.have.length(1);
    await database.db('notifications').update({ due_at: database.db.fn.now() });
    await Promise.all([sweep(), sweep()]);
    expect(smtp.mails).to.have.length(1);
  });

  it('without a mail server nothing waits', async () => {
    await end(await newService({}), 'failed');
    await sweep(createMailer(null, log));
    expect(await waiting()).to.equal(0);
  });

  it('a worker mails by itself, and no mail server holds a deployment up', async function () {
    this.timeout(240_000);
    const env = { SMTP_URL: smtp.url, MAIL_FROM: 'ranvier@example.com' };
    const platform = await startPlatform({ engine: 'postgres', env });
    const repository = await createPlatformRepository(nodeServer('notified'));
    try {
      const settings = { deployNotifications: 'all', notificationEmail: TEAM };
      await platform.database.db('workspaces').update({ configuration: JSON.stringify(settings) });
      smtp.refuse(true);
      const service = await createService(platform.client, {
        name: 'notified',
        configuration: { repository: repository.url },
      });
      const queued = await queueDeploy(platform.client, service.id);
      const deployment = await ended(platform.client, service.id, queued.id, 120_000);
      expect(deployment.status, deployment.error).to.equal('live');
      const { db } = platform.database;
      await eventually('a mail was tried', async () => (await db('notifications').first())?.tries > 0);
      smtp.refuse(false);
      await db('notifications').update({ due_at: db.fn.now() });
      await eventually('the mail arrives', () => smtp.mails.length > 0);
      expect(smtp.mails[0]?.subject).to.equal('The deployment of notified is live');
    } finally {
      await platform.stop();
      await repository.remove();
    }
  });
});
