import { expect } from 'chai';
import { v7 as uuidv7 } from 'uuid';
import type { BackupRow } from '../../../../shared/backups/model.js';
import { insertBackup } from '../../../../shared/backups/store.js';
import type { Mail } from '../../../../shared/core/mail.js';
import type { ServiceRow } from '../../../../shared/services/rows.js';
import type { BackupStore } from '../../../../workers/backups/backup-store.js';
import { backupJob } from '../../../../workers/backups/perform-backup.js';
import type { JobDeps } from '../../../../workers/worker-deps.js';
import { makeDataServer, makeService, makeWorkspace } from '../../../support/factories.js';
import { messageOf } from '../../../support/outcomes.js';
import { pretendLive } from '../../../support/records.js';
import { jobHelpers, type TestWorkshop, useTestWorkshop } from '../../../support/workshop.js';

const HERE = '01a20226-de96-73e7-b4c7-183e263599aa';
const THERE = '01a20226-de96-73e7-b4c7-183e263599bb';

describe('The job of a backup', () => {
  let workshop: TestWorkshop;
  let service: ServiceRow;
  let deploymentId: string;
  let mails: Mail[];

  useTestWorkshop((opened) => ({ workshop } = opened));
  beforeEach(async () => {
    const { db } = workshop.database;
    await db.raw('truncate workers, workspaces cascade');
    const workspace = await makeWorkspace(db, { notificationEmail: 'ops@example.com', deployNotifications: 'failure' });
    service = await makeService(db, workspace, { plan: 'starter' }, 'redis');
    deploymentId = await pretendLive(db, service.id);
    mails = [];
  });

  const volumeOn = (hostId: string) =>
    makeDataServer(workshop.database.db, service.id, { host_id: hostId, initialized_at: new Date() });
  async function make(): Promise<string> {
    const input = { service, trigger: 'manual', actor: '', scheduledFor: null } as const;
    const row = await workshop.database.db.transaction((trx) => insertBackup(trx, input));
    await workshop.database.db('backups').update({ due_at: null });
    return row?.id ?? '';
  }
  async function run(id: string, last = false): Promise<string> {
    const store = { id: 'folder:here', list: async () => [], remove: async () => undefined } as unknown as BackupStore;
    const deps: JobDeps = {
      ...(await workshop.worker()),
      mailer: { send: async (mail: Mail) => mails.push(mail) > 0, close: () => undefined },
      data: { hostId: HERE } as JobDeps['data'],
      backups: { stores: { current: store, all: [store] }, sandbox: {} as never },
    };
    return backupJob(deps, { backupId: id }, jobHelpers({ lastAttempt: last }));
  }
  const read = (id: string) => workshop.database.db<BackupRow>('backups').where({ id }).first();

  it('leaves a backup to the host that has the volume', async () => {
    await volumeOn(THERE);
    const id = await make();
    expect(await run(id)).to.contain('left to the host');
    const row = await read(id);
    expect(row).to.include({ status: 'queued', worker_id: null, dispatches: 2 });
    expect(row?.due_at).to.be.instanceOf(Date);
  });

  it('fails if that host is away for an hour', async () => {
    await volumeOn(THERE);
    const id = await make();
    await workshop.database.db('backups').update({ created_at: new Date(Date.now() - 3_700_000) });
    expect(await run(id)).to.equal('failed');
    expect(await read(id)).to.include({ status: 'failed', error: 'the host that has the volume is away' });
  });

  it('that fails says why in the row, in the log and by e-mail', async () => {
    await volumeOn(HERE);
    await workshop.database.db('services').where({ id: service.id }).update({ lifecycle_status: 'suspended' });
    const id = await make();
    await workshop.database.db('backups').update({ sealed_key: Buffer.from('the key of an earlier try') });
    expect(await run(id)).to.equal('failed');
    expect(await read(id)).to.include({ status: 'failed', error: 'the service is suspended', sealed_key: null });
    expect(await workshop.messages(deploymentId)).to.deep.equal([`Backup ${id} failed: the service is suspended`]);
    expect(mails.map(({ to }) => to)).to.deep.equal(['ops@example.com']);
    expect(mails[0]?.text).to.contain('the service is suspended');
  });

  it('tries again while the server does not run, and says so at last', async () => {
    await volumeOn(HERE);
    const id = await make();
    expect(await messageOf(run(id))).to.equal('its server does not run');
    expect(await read(id)).to.include({ status: 'queued', worker_id: null });
    expect(await run(id, true)).to.equal('failed');
    expect(await read(id)).to.include({ status: 'failed', error: 'its server does not run' });
  });

  it('does nothing for a backup that has ended or is gone', async () => {
    expect(await run(uuidv7())).to.equal('nothing to do');
    const id = await make();
    await workshop.database.db('backups').update({ status: 'failed', finished_at: new Date() });
    expect(await run(id)).to.equal('nothing to do');
  });
});
