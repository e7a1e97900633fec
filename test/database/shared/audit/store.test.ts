import { expect } from 'chai';
import { v7 as uuidv7 } from 'uuid';
import {
  type AuditEntry,
  deleteOldAuditEntries,
  insertAuditEntry,
  listAuditEntries,
} from '../../../../shared/audit/store.js';
import { COMPLETE } from '../../../../shared/core/database/page.js';
import { messageOf } from '../../../support/outcomes.js';
import { useTestDatabase } from '../../../support/postgres.js';

const ENTRY: AuditEntry = {
  workspace_id: uuidv7(),
  actor: 'ada@example.com',
  user_id: uuidv7(),
  credential: 'session',
  credential_id: uuidv7(),
  operation: 'service.update',
  path: '/services',
  target_id: null,
  target_name: '',
  request_id: 'one',
};

describe('The audit log', () => {
  const database = useTestDatabase();
  let workspaceId: string;
  beforeEach(() => {
    workspaceId = uuidv7();
  });
  const add = (entry: Partial<AuditEntry> = {}) =>
    database.db.transaction((trx) => insertAuditEntry(trx, { ...ENTRY, workspace_id: workspaceId, ...entry }));
  const insertOld = (days: number) =>
    database.db('audit_entries').insert({
      id: uuidv7(),
      workspace_id: workspaceId,
      actor: 'old',
      user_id: ENTRY.user_id,
      credential: 'key',
      credential_id: ENTRY.credential_id,
      operation: 'service.update',
      path: '/',
      target_name: '',
      request_id: 'old',
      created_at: database.db.raw(`now() - interval '${days} days'`),
    });

  it('is only added to: the database refuses to change, delete and truncate', async () => {
    const { db } = database;
    await add();
    await insertOld(89);
    expect(await messageOf(db('audit_entries').update({ actor: 'nobody' }))).to.include('never changed');
    expect(await messageOf(db('audit_entries').delete())).to.include('never changed');
    expect(await messageOf(db.raw('truncate audit_entries'))).to.include('never changed');
    expect((await listAuditEntries(db, workspaceId, COMPLETE)).items.map(({ actor }) => actor)).to.deep.equal([
      'ada@example.com',
      'old',
    ]);
  });

  it('loses entries of more than 90 days to retention, and no others', async () => {
    await add();
    await insertOld(89);
    await insertOld(91);
    expect(await deleteOldAuditEntries(database.db)).to.equal(1);
    expect(await deleteOldAuditEntries(database.db)).to.equal(0);
    expect((await listAuditEntries(database.db, workspaceId, COMPLETE)).items).to.have.length(2);
  });
});
