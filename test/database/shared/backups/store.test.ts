import { expect } from 'chai';
import { v7 as uuidv7 } from 'uuid';
import { BACKUPS } from '../../../../shared/backups/kind.js';
import type { BackupRow } from '../../../../shared/backups/model.js';
import { deleteBackup, insertBackup, recordArchive } from '../../../../shared/backups/store.js';
import type { Db } from '../../../../shared/core/database/database-client.js';
import { createLogger } from '../../../../shared/core/log.js';
import type { Lease } from '../../../../shared/engine/leases.js';
import { type Change, claim as claimRecord, transition } from '../../../../shared/engine/transition.js';
import { eraseService } from '../../../../shared/lifecycle/store.js';
import type { ServiceRow } from '../../../../shared/services/rows.js';
import type { WorkspaceRow } from '../../../../shared/workspaces/model.js';
import type { BackupStore } from '../../../../workers/backups/backup-store.js';
import { removeHiddenBackups } from '../../../../workers/backups/remove-backups.js';
import { expireBackups, removeBackupLeftovers, scheduleBackups } from '../../../../workers/sweeps/schedule-backups.js';
import type { JobDeps } from '../../../../workers/worker-deps.js';
import { makeOperation, makeService } from '../../../support/factories.js';
import { useTestDatabase } from '../../../support/postgres.js';
import { pretendLive, updateRow } from '../../../support/records.js';

const DAY_MS = 24 * 3_600_000;
const ago = (days: number) => new Date(Date.now() - days * DAY_MS);

describe('Backups in the database', () => {
  const database = useTestDatabase();
  let db: Db;
  let service: ServiceRow;
  let woken = 0;
  let objects: Map<string, Date>;

  beforeEach(async () => {
    db = database.db;
    await db.raw('truncate workspaces cascade');
    service = await makeService(db, undefined, { plan: 'starter', backupRetentionDays: 3 }, 'postgres');
    await pretendLive(db, service.id, { went_live_at: ago(10) });
    woken = 0;
    objects = new Map();
  });

  const store: BackupStore = {
    id: 'folder:here',
    write: () => Promise.reject(new Error('not here')),
    read: () => Promise.reject(new Error('not here')),
    publish: async () => undefined,
    remove: async (name) => void objects.delete(name),
    list: async (prefix) =>
      [...objects].filter(([name]) => name.startsWith(prefix)).map(([name, changedAt]) => ({ name, changedAt })),
  };
  const deps = () =>
    ({
      db,
      log: createLogger('test', 'silent'),
      dispatcher: { wake: () => (woken += 1) },
      config: { runtime: 'process', dataDir: '/nonexistent' },
      backups: { stores: { current: store, all: [store] } },
      data: { removeRestoreLeftovers: async () => 0 },
    }) as unknown as JobDeps;
  const claim = (id: string) => claimRecord<BackupRow>(db, BACKUPS, id, uuidv7());
  const move = (lease: Lease, event: string, set: Change['set'] = {}) => transition(db, BACKUPS, lease, event, { set });
  const workspace = () => db<WorkspaceRow>('workspaces').where({ id: service.workspace_id }).first();
  const all = () => db<BackupRow>('backups').where({ service_id: service.id }).orderBy('created_at');
  const insert = () =>
    db.transaction((trx) => insertBackup(trx, { service, trigger: 'manual', actor: '', scheduledFor: null }));
  async function ended(days: number, fields: Partial<BackupRow> = {}): Promise<string> {
    const id = uuidv7();
    const row = { id, workspace_id: service.workspace_id, service_id: service.id, trigger: 'manual' as const };
    await db<BackupRow>('backups').insert({
      ...row,
      status: 'succeeded',
      store: store.id,
      object: `${service.id}/${id}-1`,
      created_at: ago(days),
      finished_at: ago(days),
      ...fields,
    });
    objects.set(`${service.id}/${id}-1`, ago(days));
    return id;
  }

  describe('one backup', () => {
    it('is under way at a time, however many ask', async () => {
      const rows = await Promise.all(Array.from({ length: 6 }, insert));
      expect(rows.filter((row) => row !== null)).to.have.lengthOf(1);
      const [row] = await all();
      expect(row).to.include({ status: 'queued', dispatches: 1 });
      expect(row?.due_at).to.be.instanceOf(Date);
    });

    it('belongs to its last claim alone', async () => {
      const { id } = (await insert()) as BackupRow;
      const first = (await claim(id)) as BackupRow;
      const second = (await claim(id)) as BackupRow;
      expect(second.fence).to.equal(first.fence + 1);
      const archive = { store: store.id, object: 'o', sealedKey: Buffer.from('key') };
      expect(await recordArchive(db, first, archive)).to.equal(false);
      expect(await move(first, 'succeeded')).to.equal(null);
      expect(await move(first, 'failed', { error: 'late' })).to.equal(null);
      await move(first, 'released');
      expect((await all())[0]).to.include({ status: 'running', fence: second.fence });
      expect(await recordArchive(db, second, archive)).to.equal(true);
      expect(await move(second, 'succeeded', { size_bytes: 42, data_bytes: 99 })).to.not.equal(null);
      expect((await all())[0]).to.include({ status: 'succeeded', size_bytes: 42, object: 'o' });
      expect(await claim(id)).to.equal(null);
    });

    it('of a workspace is made at a time, and those of other workspaces beside it', async () => {
      const others = [
        await makeService(db, await workspace(), { plan: 'starter' }, 'postgres'),
        await makeService(db, undefined, { plan: 'starter' }, 'postgres'),
      ];
      const backupOf = async (of: ServiceRow) =>
        (await db.transaction((trx) =>
          insertBackup(trx, { service: of, trigger: 'manual', actor: '', scheduledFor: null }),
        )) as BackupRow;
      const [mine, neighbour, stranger] = [
        await backupOf(service),
        await backupOf(others[0] as ServiceRow),
        await backupOf(others[1] as ServiceRow),
      ];
      const claimed = await Promise.all([mine, neighbour].map(({ id }) => claim(id)));
      const [first, ...more] = claimed.filter((row) => row !== null);
      expect(more, 'two are claimed at once').to.deep.equal([]);
      expect(await claim(stranger.id)).to.not.equal(null);
      const waiting = first?.id === mine.id ? neighbour : mine;
      expect(await claim(waiting.id)).to.equal(null);
      await move(first as BackupRow, 'failed', { error: 'the disk is full' });
      expect(await claim(waiting.id)).to.not.equal(null);
    });

    it('of a worker that died keeps no other one of its workspace from being made', async () => {
      const neighbour = await makeService(db, await workspace(), { plan: 'starter' }, 'postgres');
      const dead = (await insert()) as BackupRow;
      await claim(dead.id);
      await updateRow(db, 'backups', dead.id, { lease_expires_at: ago(1) });
      const backup = await db.transaction((trx) =>
        insertBackup(trx, { service: neighbour, trigger: 'manual', actor: '', scheduledFor: null }),
      );
      expect(await claim(backup?.id ?? '')).to.not.equal(null);
    });

    it('that failed keeps its reason and no key', async () => {
      const { id } = (await insert()) as BackupRow;
      const held = (await claim(id)) as BackupRow;
      await recordArchive(db, held, { store: store.id, object: 'o', sealedKey: Buffer.from('key') });
      await move(held, 'failed', { error: 'the disk is full', sealed_key: null });
      expect((await all())[0]).to.include({ status: 'failed', error: 'the disk is full', sealed_key: null });
      expect(await insert()).to.not.equal(null);
    });
  });

  describe('the schedule', () => {
    const schedule = () => scheduleBackups(deps());

    it('makes one backup for a slot, however many workers look at once', async () => {
      await Promise.all(Array.from({ length: 8 }, schedule));
      const [row, ...others] = await all();
      expect(others).to.deep.equal([]);
      expect(row).to.include({ trigger: 'schedule', status: 'queued' });
      expect(row?.scheduled_for?.getTime()).to.be.within(Date.now() - DAY_MS, Date.now());
      expect(woken).to.equal(1);
    });

    it('makes the next one a day later, and those that were missed once', async () => {
      await schedule();
      await db('backups').update({ status: 'succeeded', finished_at: new Date() });
      await schedule();
      expect(await all()).to.have.lengthOf(1);
      await db('backups').update({ scheduled_for: db.raw(`scheduled_for - interval '5 days'`) });
      await schedule();
      await schedule();
      expect(await all()).to.have.lengthOf(2);
    });

    it('waits while another backup or a restore is under way', async () => {
      const row = (await insert()) as BackupRow;
      await schedule();
      expect(await all()).to.have.lengthOf(1);
      await db('backups').where({ id: row.id }).update({ status: 'succeeded', finished_at: new Date() });
      const operation = await makeOperation(db, service, 'restore', row.id);
      await schedule();
      expect(await all()).to.have.lengthOf(1);
      await db('operations').where({ id: operation.id }).update({ status: 'succeeded', finished_at: new Date() });
      await schedule();
      expect(await all()).to.have.lengthOf(2);
    });

    it('has services with volumes that a release has mounted, and no others', async () => {
      await db('services').where({ id: service.id }).update({ kind: 'web' });
      await schedule();
      const volume = { id: uuidv7(), service_id: service.id, name: 'data', mount_path: '/data', size_gb: 1 };
      await db('volumes').insert(volume);
      await schedule();
      expect(await all()).to.deep.equal([]);
      await db('volumes').update({ host_id: uuidv7() });
      await schedule();
      expect((await all()).map(({ trigger, pause }) => [trigger, pause])).to.deep.equal([['schedule', false]]);
    });

    it('leaves out services without backups, suspended and archived ones, and those that never ran', async () => {
      const change = (fields: object) => db('services').where({ id: service.id }).update(fields);
      await change({ configuration: { ...service.configuration, backupEnabled: false } });
      await schedule();
      await change({ configuration: service.configuration, lifecycle_status: 'suspended' });
      await schedule();
      await change({ lifecycle_status: 'active', archived: true });
      await schedule();
      await change({ archived: false, live_deployment_id: null });
      await schedule();
      expect(await all()).to.deep.equal([]);
    });
  });

  describe('retention', () => {
    it('removes what has expired from its store, then its row, and never the last good one', async () => {
      const old = await ended(9);
      const failed = await ended(8, { status: 'failed', object: null, store: null });
      const last = await ended(5);
      objects.delete(`${service.id}/${failed}-1`);
      expect(await expireBackups(deps())).to.deep.equal(['expired 2 backups']);
      expect(await removeHiddenBackups(deps())).to.deep.equal(['removed 2 backups']);
      expect((await all()).map(({ id }) => id)).to.deep.equal([last]);
      expect([...objects.keys()]).to.deep.equal([`${service.id}/${last}-1`]);
      expect(old).to.not.equal(last);
      expect(await expireBackups(deps())).to.deep.equal([]);
    });

    it('leaves the backups of a service that is being restored', async () => {
      const id = await ended(9);
      await ended(1);
      await makeOperation(db, service, 'restore', id);
      expect(await expireBackups(deps())).to.deep.equal([]);
    });

    it('removes the row of a hidden backup only', async () => {
      const [shown, hidden] = [await ended(1), await ended(1, { deleted_at: new Date() })];
      for (const id of [shown, hidden]) await deleteBackup(db, id);
      expect((await all()).map(({ id }) => id)).to.deep.equal([shown]);
    });

    it('leaves archives of another host to that host', async () => {
      const id = await ended(1, { store: 'folder:there', deleted_at: new Date() });
      expect(await removeHiddenBackups(deps())).to.deep.equal([]);
      expect((await all()).map((row) => row.id)).to.deep.equal([id]);
    });

    it('removes all backups of a deleted service, whose keys are erased at once', async () => {
      await ended(1, { sealed_key: Buffer.from('key') });
      await ended(2);
      await db.transaction((trx) => eraseService(trx, service.id));
      expect((await all()).map(({ sealed_key }) => sealed_key)).to.deep.equal([null, null]);
      await expireBackups(deps());
      await removeHiddenBackups(deps());
      expect(await all()).to.deep.equal([]);
      expect(objects.size).to.equal(0);
    });

    it('removes archives that no backup names, after an hour', async () => {
      const kept = await ended(1);
      objects.set(`${service.id}/${uuidv7()}-1`, ago(1));
      objects.set(`${service.id}/${uuidv7()}-2`, new Date());
      objects.set('reports/of somebody else', ago(9));
      expect(await removeBackupLeftovers(deps())).to.deep.equal(['removed 1 archives that belong to no backup']);
      expect(objects.size).to.equal(3);
      expect(objects.has(`${service.id}/${kept}-1`)).to.equal(true);
    });
  });
});
