import { expect } from 'chai';
import { v7 as uuidv7 } from 'uuid';
import { queueBackup, queueRestore, removeBackup } from '../../../../../api/resources/backups/commands.js';
import { type BackupRow, MAX_MANUAL_BACKUPS } from '../../../../../shared/backups/model.js';
import { abandonBackups } from '../../../../../shared/backups/store.js';
import type { Db, Transaction } from '../../../../../shared/core/database/database-client.js';
import type { CommandDeps } from '../../../../../shared/secrets/command-deps.js';
import type { ServiceRow } from '../../../../../shared/services/rows.js';
import { makeOperation, makeRun, makeService } from '../../../../support/factories.js';
import { codeOf } from '../../../../support/outcomes.js';
import { useTestDatabase } from '../../../../support/postgres.js';
import { newDeployment, pretendLive } from '../../../../support/records.js';

describe('Backups on demand', () => {
  const database = useTestDatabase();
  let db: Db;
  let service: ServiceRow;
  beforeEach(async () => {
    db = database.db;
    await db.raw('truncate workspaces cascade');
    service = await makeService(db, undefined, {}, 'postgres');
    await pretendLive(db, service.id);
  });

  const deps = (changes = {}) =>
    ({ config: { hostingEnabled: true, runtime: 'process', ...changes } }) as unknown as CommandDeps;
  const done = (work: (trx: Transaction) => Promise<unknown>) => codeOf(db.transaction(work));
  const queue = (changes = {}) => done((trx) => queueBackup(trx, deps(changes), { service, actor: '' }));
  const pausing = () => done((trx) => queueBackup(trx, deps(), { service, actor: '', pause: true }));
  const restore = (backupId: string) =>
    done((trx) => queueRestore(trx, deps(), { service, from: service, backupId, actor: '' }));
  const remove = (backupId: string) => done((trx) => removeBackup(trx, { serviceId: service.id, backupId }));
  const change = (fields: object) => db('services').where({ id: service.id }).update(fields);
  const operation = (kind: 'restore' | 'restart', backupId?: string) => makeOperation(db, service, kind, backupId);
  async function backup(fields: Partial<BackupRow> = {}): Promise<string> {
    const id = uuidv7();
    const of = { workspace_id: service.workspace_id, service_id: service.id, trigger: 'manual' } as const;
    await db<BackupRow>('backups').insert({ id, ...of, status: 'succeeded', finished_at: new Date(), ...fields });
    return id;
  }

  it('are made of a data service that runs', async () => {
    const row = await db('services').where({ id: service.id }).first();
    const { kind, archived, lifecycle_status, live_deployment_id, deleted_at, configuration } = row;
    const refused: [string, object][] = [
      ['conflict', { kind: 'web' }],
      ['conflict', { lifecycle_status: 'deleting' }],
      ['conflict', { lifecycle_status: 'suspended' }],
      ['conflict', { configuration: { ...configuration, backupEnabled: false } }],
      ['service_archived', { archived: true }],
      ['no_runtime', { live_deployment_id: null }],
      ['not_found', { deleted_at: new Date() }],
    ];
    for (const [code, fields] of refused) {
      await change({ kind, archived, lifecycle_status, live_deployment_id, deleted_at, configuration, ...fields });
      expect(await queue(), JSON.stringify(fields).slice(0, 60)).to.equal(code);
    }
    await change({ kind, archived, lifecycle_status, live_deployment_id, deleted_at, configuration });
    expect(await queue({ hostingEnabled: false })).to.equal('hosting_disabled');
    expect(await queue()).to.equal('done');
    expect(await queue(), 'one is under way').to.equal('conflict');
  });

  it('are made of volumes that a release has mounted, with a pause if wanted', async () => {
    await change({ kind: 'web' });
    const volume = { id: uuidv7(), service_id: service.id, name: 'data', mount_path: '/data', size_gb: 1 };
    await db('volumes').insert(volume);
    expect(await queue()).to.equal('conflict');
    await db('volumes').update({ host_id: uuidv7() });
    const id = await backup();
    const { live_deployment_id } = await db('services').where({ id: service.id }).first();
    await makeRun(db, service, live_deployment_id);
    expect(await restore(id)).to.equal('conflict');
    expect(await pausing()).to.equal('done');
    expect(await db('backups').where({ service_id: service.id, pause: true })).to.have.lengthOf(1);
  });

  it('of a database are never paused', async () => {
    expect(await pausing()).to.equal('invalid_request');
  });

  it('are ten at most; those of the schedule, failed and deleted ones do not count', async () => {
    for (let i = 1; i < MAX_MANUAL_BACKUPS; i++) await backup();
    await backup({ trigger: 'schedule' });
    await backup({ status: 'failed' });
    await backup({ deleted_at: new Date() });
    expect(await queue()).to.equal('done');
    await db('backups').where({ status: 'queued' }).update({ status: 'succeeded', finished_at: new Date() });
    expect(await queue()).to.equal('capacity_exceeded');
  });

  it('are restored if they are whole and nothing else of the service is under way', async () => {
    const id = await backup();
    expect(await restore(uuidv7())).to.equal('not_found');
    expect(await restore(await backup({ status: 'failed' }))).to.equal('conflict');
    const open = await backup({ status: 'running', finished_at: null });
    expect(await restore(id), 'a backup').to.equal('conflict');
    await db('backups').where({ id: open }).delete();
    const deployment = await newDeployment(db, service.id);
    expect(await restore(id), 'a deployment').to.equal('conflict');
    await db('deployments').where({ id: deployment }).update({ status: 'failed', finished_at: new Date() });
    const restart = await operation('restart');
    expect(await restore(id), 'a restart').to.equal('conflict');
    await db('operations').where({ id: restart.id }).update({ status: 'failed', finished_at: new Date() });
    expect(await restore(id)).to.equal('done');
    expect(await restore(id), 'a restore').to.equal('conflict');
    expect(await queue(), 'a backup beside a restore').to.equal('conflict');
  });

  it('are deleted, but not while they are made or restored', async () => {
    const [first, second] = [await backup(), await backup()];
    const open = await backup({ status: 'running', finished_at: null });
    await operation('restore', first);
    expect(await remove(first)).to.equal('conflict');
    expect(await remove(open)).to.equal('conflict');
    expect(await remove(second)).to.equal('done');
    expect(await remove(second)).to.equal('not_found');
  });

  it('that are under way end with their service, and their worker loses them', async () => {
    const open = await backup({ status: 'running', finished_at: null, fence: 4, sealed_key: Buffer.from('key') });
    const whole = await backup();
    await db.transaction((trx) => abandonBackups(trx, service.id));
    expect(await db('backups').where({ id: open }).first()).to.include({
      status: 'failed',
      fence: 5,
      sealed_key: null,
    });
    expect(await db('backups').where({ id: whole }).first()).to.include({ status: 'succeeded', fence: 0 });
  });
});
