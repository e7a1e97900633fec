import { expect } from 'chai';
import { v7 as uuidv7 } from 'uuid';
import { DEFAULT_CONFIGURATION } from '../../../../shared/services/configuration.js';
import { insertService } from '../../../../shared/services/insert-service.js';
import { makeWorkspace } from '../../../support/factories.js';
import { useTestDatabase } from '../../../support/postgres.js';

describe('The slug of a new service', () => {
  const database = useTestDatabase();

  const place = { project_id: null, environment_id: null };
  const plain = { kind: 'web' as const, configuration: DEFAULT_CONFIGURATION, sealed_repository: null };

  async function slugFor(workspaceId: string, name: string, reserved: string[] = []): Promise<string> {
    const row = await database.db.transaction((trx) =>
      insertService(trx, { id: uuidv7(), workspace_id: workspaceId, ...place, name, ...plain }, new Set(reserved)),
    );
    return row.slug;
  }

  it('a slug that is reserved or in use gets a suffix', async () => {
    const { id } = await makeWorkspace(database.db);
    expect(await slugFor(id, 'My Shop')).to.equal('my-shop');
    expect(await slugFor(id, 'My Shop')).to.match(/^my-shop-[a-z0-9]{6}$/);
    expect(await slugFor(id, 'Admin', ['admin'])).to.match(/^admin-[a-z0-9]{6}$/);
  });

  it('only its own workspace gets the slug of a deleted service for 30 days', async () => {
    const { id: own } = await makeWorkspace(database.db);
    const { id: other } = await makeWorkspace(database.db);
    const removed = (days: number) =>
      database.db.raw(`update services set deleted_at = now() - ? * interval '1 day' where slug like 'rested%'`, [
        days,
      ]);
    await slugFor(own, 'Rested');
    await removed(29);
    expect(await slugFor(other, 'Rested')).to.match(/^rested-/);
    expect(await slugFor(own, 'Rested')).to.equal('rested');
    await removed(31);
    expect(await slugFor(other, 'Rested')).to.equal('rested');
  });
});
