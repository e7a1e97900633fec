import { expect } from 'chai';
import type { Db } from '../../../../shared/core/database/database-client.js';
import { COMPLETE } from '../../../../shared/core/database/page.js';
import {
  endingPreviews,
  findPreview,
  forgetDeletedPreviews,
  insertPreview,
  listPreviews,
  movePreviews,
  observePreview,
  touchPreview,
} from '../../../../shared/previews/store.js';
import type { ServiceRow } from '../../../../shared/services/rows.js';
import { makeOperation, makeService } from '../../../support/factories.js';
import { useTestDatabase } from '../../../support/postgres.js';
import { newEnvironment } from '../../../support/records.js';

describe('Previews of services', () => {
  const database = useTestDatabase();
  let db: Db;
  let base: ServiceRow;
  let preview: ServiceRow;
  beforeEach(async () => {
    db = database.db;
    await db.raw('truncate workspaces cascade');
    base = await makeService(db, undefined, { previewMode: 'manual', previewExpiryHours: 24 });
    preview = await makeService(db);
    const row = { service_id: preview.id, base_id: base.id, branch: 'fix', pull_number: null, fork: false };
    await db.transaction((trx) => insertPreview(trx, row));
  });

  const changed = (hours: number) =>
    db('previews').update({ changed_at: db.raw('now() - make_interval(hours => ?)', [hours]) });
  const change = (service: ServiceRow, fields: object) => db('services').where({ id: service.id }).update(fields);
  const ending = async () => (await endingPreviews(db)).map(({ serviceId }) => serviceId);

  it('end previewExpiryHours after their last change', async () => {
    await changed(23);
    expect(await ending()).to.deep.equal([]);
    await changed(25);
    expect(await ending()).to.deep.equal([preview.id]);
    await db.transaction((trx) => touchPreview(trx, preview.id));
    expect(await ending()).to.deep.equal([]);
  });

  it('end with their service, and when previews are switched off', async () => {
    const { configuration, lifecycle_status, deleted_at } = base;
    const ends: object[] = [
      { configuration: { ...configuration, previewMode: 'off' } },
      { lifecycle_status: 'deleting' },
      { deleted_at: new Date() },
    ];
    for (const fields of ends) {
      await change(base, { configuration, lifecycle_status, deleted_at });
      expect(await ending()).to.deep.equal([]);
      await change(base, fields);
      expect(await ending(), Object.keys(fields).join()).to.deep.equal([preview.id]);
    }
    expect(await db.transaction((trx) => observePreview(trx, preview.id))).to.have.nested.property('base.gone', true);
  });

  it('whose deletion was begun are looked at until it is done', async () => {
    await change(preview, { lifecycle_status: 'deleting' });
    const open = async () => (await endingPreviews(db))[0]?.facts;
    expect(await open()).to.include({ deletionOpen: false, deletionEndedAt: null });
    const { id } = await makeOperation(db, preview, 'delete');
    expect(await open()).to.include({ deletionOpen: true, deletionEndedAt: null });
    await db('operations').where({ id }).update({ status: 'failed', finished_at: new Date() });
    expect(await open()).to.include({ deletionOpen: false });
    expect((await open())?.deletionEndedAt).to.be.instanceOf(Date);
  });

  it('are shown with their service until they are deleted', async () => {
    const shown = async () => (await listPreviews(db, base.id, COMPLETE)).items.map(({ id }) => id);
    expect(await shown()).to.deep.equal([preview.id]);
    expect(await findPreview(db, base.id, preview.id)).to.include({ preview_branch: 'fix' });
    expect(await findPreview(db, preview.id, preview.id)).to.equal(undefined);
    expect(await forgetDeletedPreviews(db)).to.equal(0);
    await change(preview, { deleted_at: new Date() });
    expect(await shown()).to.deep.equal([]);
    expect(await forgetDeletedPreviews(db)).to.equal(1);
  });

  it('move with their service, and no other service does', async () => {
    const { projectId, environmentId } = await newEnvironment(db, base.workspace_id);
    const other = await makeService(db);
    await db.transaction((trx) => movePreviews(trx, base.id, { projectId, environmentId }));
    const placed = await db('services').where({ environment_id: environmentId }).pluck('id');
    expect(placed).to.deep.equal([preview.id]);
    expect(placed).to.not.include(other.id);
  });
});
