import { expect } from 'chai';
import { v7 as uuidv7 } from 'uuid';
import type { AuditEntry } from '../../../../shared/audit/store.js';
import {
  findServiceView,
  lockServiceRow,
  replaceServiceRow,
  type ServiceView,
} from '../../../../shared/services/store.js';
import { makeService } from '../../../support/factories.js';
import { useTestDatabase } from '../../../support/postgres.js';
import { pretendLive, updateRow } from '../../../support/records.js';

describe('A change of a service in one statement', () => {
  const database = useTestDatabase();
  let service: ServiceView;

  beforeEach(async () => {
    service = await read(await makeService(database.db));
  });

  async function read({ id, workspace_id }: { id: string; workspace_id: string }): Promise<ServiceView> {
    const view = await findServiceView(database.db, workspace_id, id);
    if (!view) throw new Error('no service');
    return view;
  }

  const entry = (): AuditEntry => ({
    workspace_id: service.workspace_id,
    actor: 'a@example.test',
    user_id: uuidv7(),
    credential: 'key',
    credential_id: uuidv7(),
    operation: 'service.update',
    path: `/services/${service.id}`,
    target_id: service.id,
    target_name: 'new',
    request_id: 'r',
  });
  const replace = (before = service) => replaceServiceRow(database.db, before, { ...before, name: 'new' }, entry());
  const audited = async () => (await database.db('audit_entries').where({ target_id: service.id })).length;

  it('writes the row and the audit entry, and returns what it wrote', async () => {
    const written = await replace();
    expect(written).to.deep.equal(await read(service));
    expect(written?.name).to.equal('new');
    expect(await audited()).to.equal(1);
  });

  it('writes nothing if the service is not as it was read', async () => {
    const others: Record<string, unknown>[] = [
      { name: 'other' },
      { configuration: { ...service.configuration, description: 'other' } },
      { lifecycle_status: 'deleting' },
      { deleted_at: new Date() },
    ];
    for (const other of others) {
      const view = await read(await makeService(database.db));
      await database.db('services').where({ id: view.id }).update(other);
      expect(await replace(view), Object.keys(other).join()).to.equal(undefined);
    }
    await pretendLive(database.db, service.id);
    expect(await replace()).to.equal(undefined);
    expect(await audited()).to.equal(0);
  });

  it('does not wait for a lock', async () => {
    await database.db.transaction(async (trx) => {
      await lockServiceRow(trx, service.workspace_id, service.id);
      expect(await replace()).to.equal(undefined);
    });
    expect((await replace())?.name).to.equal('new');
  });

  it('is not hindered by what workers write meanwhile', async () => {
    await updateRow(database.db, 'services', service.id, { health_status: 'ready', health_checked_at: new Date() });
    expect((await replace())?.name).to.equal('new');
  });
});
