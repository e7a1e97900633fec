import { expect } from 'chai';
import type { ServiceRow } from '../../../../shared/services/rows.js';
import {
  leftBehind,
  recordReleasesToStart,
  releasesToStart,
  staleReleases,
} from '../../../../workers/releases/release-store.js';
import { wantAttempt } from '../../../../workers/replicas/attempt-store.js';
import { wantReplicas } from '../../../../workers/replicas/desire-store.js';
import { makeOperation, makeRun, makeService } from '../../../support/factories.js';
import { useTestDatabase } from '../../../support/postgres.js';
import { newDeployment, pretendLive, updateRow } from '../../../support/records.js';

const HOST = '00000000-0000-7000-8000-000000000001';

describe('Releases and their replicas', () => {
  const database = useTestDatabase();
  let service: ServiceRow;
  beforeEach(async () => {
    service = await makeService(database.db);
  });

  const start = (deploymentId: string) =>
    wantReplicas(database.db, { serviceId: service.id, deploymentId, hostId: HOST }, 1, false);
  const stale = async () => (await leftBehind(database.db, service.id)).stale;
  const idle = async () => {
    await recordReleasesToStart(database.db);
    const recorded = await database.db('releases_to_start').pluck('deployment_id');
    const releases = await releasesToStart(database.db);
    expect(releases.map((release) => release.deploymentId)).to.have.members(recorded);
    return releases.filter((release) => release.serviceId === service.id).map((release) => release.deploymentId);
  };

  const staleAnywhere = async () =>
    (await staleReleases(database.db))
      .filter((release) => release.serviceId === service.id)
      .map((release) => release.deploymentId);

  it('only a release that neither serves nor is being deployed is stale', async () => {
    const old = await newDeployment(database.db, service.id, { status: 'live' });
    await start(old);
    const live = await pretendLive(database.db, service.id);
    await start(live);
    const next = await newDeployment(database.db, service.id, { status: 'releasing' });
    await start(next);
    expect(await stale()).to.deep.equal([old]);
    expect(await staleAnywhere()).to.deep.equal([old]);
    await database.db('replicas').where({ deployment_id: old }).update({ state: 'stopped' });
    expect(await stale()).to.deep.equal([]);
    expect(await staleAnywhere()).to.deep.equal([]);
  });

  it('a live release without replicas is found, unless an operation is under way or the service is suspended', async () => {
    const live = await pretendLive(database.db, service.id);
    expect(await idle()).to.deep.equal([live]);
    // The attempt of a run is no replica of the release.
    const run = await makeRun(database.db, service, live);
    const place = { serviceId: service.id, deploymentId: live, hostId: HOST };
    await wantAttempt(database.db, { ...place, runId: run.id, runNumber: run.number, attempt: 1 });
    expect(await idle()).to.deep.equal([live]);
    const operation = await makeOperation(database.db, service, 'restart');
    expect(await idle()).to.deep.equal([]);
    await updateRow(database.db, 'operations', operation.id, { status: 'succeeded', finished_at: new Date() });
    expect(await idle()).to.deep.equal([live]);
    await database.db('services').where({ id: service.id }).update({ lifecycle_status: 'suspended' });
    expect(await idle()).to.deep.equal([]);
    await database.db('services').where({ id: service.id }).update({ lifecycle_status: 'active' });
    await start(live);
    expect(await idle()).to.deep.equal([]);
  });
});
