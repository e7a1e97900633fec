import { expect } from 'chai';
import { v7 as uuidv7 } from 'uuid';
import { DEFAULT_CONFIGURATION } from '../../../../shared/services/configuration.js';
import { hasInfrastructure } from '../../../../shared/services/lifecycle-store.js';
import { insertService } from '../../../../shared/services/store.js';
import { makeDeployment, makeService, makeWorkspace } from '../../../support/factories.js';
import { useTestDatabase } from '../../../support/postgres.js';
import { pretendLive } from '../../../support/records.js';

describe('The records of services', () => {
  const database = useTestDatabase();

  async function slugFor(workspaceId: string, name: string, reserved: string[] = []): Promise<string> {
    const row = await database.db.transaction((trx) =>
      insertService(trx, {
        id: uuidv7(),
        workspaceId,
        projectId: null,
        environmentId: null,
        name,
        kind: 'web',
        configuration: DEFAULT_CONFIGURATION,
        sealedRepository: null,
        reservedSlugs: new Set(reserved),
      }),
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

  it('something of a service exists outside the database while it serves, runs, has images, or is being deployed', async () => {
    const has = (id: string) => hasInfrastructure(database.db, id);
    const fresh = await makeService(database.db);
    expect(await has(fresh.id)).to.equal(false);
    await makeDeployment(database.db, fresh);
    expect(await has(fresh.id), 'a deployment').to.equal(true);

    const live = await makeService(database.db);
    const deploymentId = await pretendLive(database.db, live.id);
    const image = database.db('images').where({ service_id: live.id });
    await image.update({ removed_at: new Date() });
    expect(await has(live.id), 'a release').to.equal(true);
    await database.db('services').where({ id: live.id }).update({ live_deployment_id: null });
    expect(await has(live.id)).to.equal(false);
    const replica = { id: uuidv7(), service_id: live.id, deployment_id: deploymentId, host_id: uuidv7(), position: 1 };
    await database.db('replicas').insert(replica);
    expect(await has(live.id), 'a replica').to.equal(true);
    await database.db('replicas').update({ state: 'stopped' });
    await database.db('images').where({ service_id: live.id }).update({ removed_at: null });
    expect(await has(live.id), 'an image').to.equal(true);
  });
});
