import { expect } from 'chai';
import { hasInfrastructure } from '../../../../shared/lifecycle/store.js';
import { makeDeployment, makeReplica, makeService } from '../../../support/factories.js';
import { useTestDatabase } from '../../../support/postgres.js';
import { pretendLive } from '../../../support/records.js';

describe('What a service has outside the database', () => {
  const database = useTestDatabase();

  it('is something while it serves, runs, has images, or is being deployed', async () => {
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
    await makeReplica(database.db, live.id, deploymentId);
    expect(await has(live.id), 'a replica').to.equal(true);
    await database.db('replicas').update({ state: 'stopped' });
    await database.db('images').where({ service_id: live.id }).update({ removed_at: null });
    expect(await has(live.id), 'an image').to.equal(true);
  });
});
