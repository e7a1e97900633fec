import { expect } from 'chai';
import { v7 as uuidv7 } from 'uuid';
import type { Db } from '../../../../shared/core/database/database-client.js';
import type { RunRow } from '../../../../shared/runs/model.js';
import type { ServiceRow } from '../../../../shared/services/rows.js';
import { MAX_WAITING, type WebhookEvent } from '../../../../shared/webhooks/model.js';
import {
  deleteOldDeliveries,
  recordTry,
  storeDeliveries,
  storeDelivery,
  takeDeliveries,
  workspacesWithBudgetWebhooks,
} from '../../../../shared/webhooks/store.js';
import { makeRun, makeService, makeWorkspace } from '../../../support/factories.js';
import { useTestDatabase } from '../../../support/postgres.js';
import { newDeployment } from '../../../support/records.js';

describe('Deliveries of webhooks', () => {
  const database = useTestDatabase();
  let db: Db;
  let service: ServiceRow;
  beforeEach(async () => {
    db = database.db;
    await db.raw('truncate workspaces cascade');
    service = await makeService(db);
  });

  async function webhook(events: WebhookEvent[], workspaceId = service.workspace_id): Promise<string> {
    const id = uuidv7();
    const sealed = { sealed_url: Buffer.from('u'), sealed_secret: Buffer.from('s') };
    const made = { created_at: db.raw(`now() - interval '1 hour'`), scanned_at: db.raw(`now() - interval '1 hour'`) };
    await db('webhooks').insert({
      id,
      workspace_id: workspaceId,
      url: 'https://x.example',
      events,
      ...sealed,
      ...made,
    });
    return id;
  }
  const deliveries = () =>
    db('webhook_deliveries').orderBy('event').select('id', 'webhook_id', 'event', 'subject', 'tries', 'due_at');
  const run = async (status: RunRow['status']) =>
    makeRun(db, service, await newDeployment(db, service.id), { status, finished_at: new Date() });
  const backup = (status: string) =>
    db('backups').insert({
      id: uuidv7(),
      workspace_id: service.workspace_id,
      service_id: service.id,
      trigger: 'manual',
      status,
      finished_at: new Date(),
    });

  it('are stored for the events that a webhook of the workspace wants, once however many look', async () => {
    const [all, live] = [
      await webhook(['deployment.live', 'deployment.failed', 'run.failed', 'backup.failed']),
      await webhook(['deployment.live']),
    ];
    await webhook(['deployment.live'], (await makeWorkspace(db)).id);
    const deployed = await newDeployment(db, service.id, { status: 'live' });
    for (const status of ['failed', 'cancelled', 'queued']) await newDeployment(db, service.id, { status });
    for (const status of ['failed', 'succeeded'] as const) await run(status);
    for (const status of ['failed', 'succeeded']) await backup(status);
    await Promise.all([storeDeliveries(db), storeDeliveries(db)]);
    await storeDeliveries(db);
    const found = await deliveries();
    expect(found.filter(({ webhook_id }) => webhook_id === all).map(({ event }) => event)).to.deep.equal([
      'backup.failed',
      'deployment.failed',
      'deployment.live',
      'run.failed',
    ]);
    const ofLive = found.filter(({ webhook_id }) => webhook_id !== all);
    expect(ofLive).to.have.lengthOf(1);
    expect(ofLive[0]).to.include({ webhook_id: live, event: 'deployment.live', subject: deployed });
  });

  it('are not stored for what ended before the webhook was made, and for what was looked at', async () => {
    const id = await webhook(['deployment.live']);
    const old = (minutes: number) => ({ finished_at: db.raw('now() - make_interval(mins => ?)', [minutes]) });
    await newDeployment(db, service.id, { status: 'live', ...old(70) });
    const late = await newDeployment(db, service.id, { status: 'live', ...old(30) });
    await storeDeliveries(db);
    expect((await deliveries()).map(({ subject }) => subject)).to.deep.equal([late]);
    await newDeployment(db, service.id, { status: 'live', ...old(5) });
    const recent = await newDeployment(db, service.id, { status: 'live', ...old(1) });
    await storeDeliveries(db);
    expect((await deliveries()).map(({ subject }) => subject)).to.have.members([late, recent]);
    expect((await db('webhooks').where({ id }).first()).scanned_at.getTime()).to.be.above(Date.now() - 60_000);
  });

  it('do not pile up for a receiver that takes none', async () => {
    const id = await webhook(['deployment.live']);
    await db.raw(
      `insert into webhook_deliveries (id, webhook_id, event, subject, data, happened_at)
       select gen_random_uuid(), ?, 'deployment.live', n::text, '{}', now() from generate_series(1, ${MAX_WAITING}) n`,
      [id],
    );
    await newDeployment(db, service.id, { status: 'live' });
    await storeDeliveries(db);
    expect(await deliveries()).to.have.lengthOf(MAX_WAITING);
    await db('webhook_deliveries').where({ subject: '1' }).update({ due_at: null });
    await storeDeliveries(db);
    expect(await deliveries()).to.have.lengthOf(MAX_WAITING + 1);
  });

  describe('of an alert', () => {
    const TEN = { most: 10, mostOfWorkspace: 10 };
    const alert = (subject: string) =>
      storeDelivery(db, { workspaceId: service.workspace_id, event: 'budget.alert', subject, data: { threshold: 80 } });

    it('are stored once for each subject', async () => {
      await webhook(['budget.alert']);
      await webhook(['run.failed']);
      await webhook(['budget.alert'], (await makeWorkspace(db)).id);
      await alert('2026-11 80');
      await alert('2026-11 80');
      await alert('2026-11 100');
      expect((await deliveries()).map(({ subject }) => subject)).to.have.members(['2026-11 80', '2026-11 100']);
      expect(await workspacesWithBudgetWebhooks(db)).to.have.lengthOf(2);
    });

    it('are taken by one process, and again if it died', async () => {
      await webhook(['budget.alert']);
      await alert('a');
      const taken = await Promise.all([takeDeliveries(db, TEN), takeDeliveries(db, TEN)]);
      expect(taken.flat().map(({ tries }) => tries)).to.deep.equal([1]);
      expect(await takeDeliveries(db, TEN)).to.deep.equal([]);
      await db('webhook_deliveries').update({ due_at: db.raw(`due_at - interval '2 minutes'`) });
      expect((await takeDeliveries(db, TEN)).map(({ tries }) => tries)).to.deep.equal([2]);
    });

    it('are taken in turns of the workspaces, however many wait in one', async () => {
      const other = await makeWorkspace(db);
      await webhook(['budget.alert']);
      for (const subject of ['1', '2', '3', '4']) await alert(subject);
      await webhook(['budget.alert'], other.id);
      await storeDelivery(db, {
        workspaceId: other.id,
        event: 'budget.alert',
        subject: 'other',
        data: { threshold: 80 },
      });
      await db('webhook_deliveries').update({ due_at: db.raw(`now() - interval '1 minute'`) });
      await db('webhook_deliveries')
        .where({ subject: 'other' })
        .update({ due_at: db.raw('now()') });
      const taken = await takeDeliveries(db, { most: 10, mostOfWorkspace: 2 });
      expect(taken.map(({ workspace_id }) => workspace_id)).to.have.members([
        service.workspace_id,
        service.workspace_id,
        other.id,
      ]);
    });

    it('are tried again after a pause, or never', async () => {
      const id = await webhook(['budget.alert']);
      await alert('a');
      const [taken] = await takeDeliveries(db, TEN);
      if (!taken) throw new Error('nothing was due');
      await recordTry(db, taken, { outcome: 'answered with 500', againMs: 60_000 });
      expect((await deliveries())[0].due_at.getTime()).to.be.within(Date.now() + 50_000, Date.now() + 61_000);
      await recordTry(db, taken, { outcome: 'answered with 410', againMs: null });
      expect((await deliveries())[0]).to.include({ due_at: null });
      expect(await db('webhooks').where({ id }).first()).to.include({ outcome: 'answered with 410' });
    });

    it('are deleted after a week', async () => {
      await webhook(['budget.alert']);
      for (const subject of ['6', '8']) {
        await alert(subject);
        await db('webhook_deliveries')
          .where({ subject })
          .update({ created_at: db.raw('now() - make_interval(days => ?)', [Number(subject)]) });
      }
      expect(await deleteOldDeliveries(db)).to.equal(1);
      expect((await deliveries()).map(({ subject }) => subject)).to.deep.equal(['6']);
    });
  });
});
