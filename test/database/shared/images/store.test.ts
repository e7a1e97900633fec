import { expect } from 'chai';
import type { DeploymentRow } from '../../../../shared/deployments/rows.js';
import { findDeployment } from '../../../../shared/deployments/store.js';
import { retireImages, wantedDigests } from '../../../../shared/images/store.js';
import type { ServiceRow } from '../../../../shared/services/rows.js';
import { makeDeployment, makeService } from '../../../support/factories.js';
import { MANIFEST } from '../../../support/fixtures.js';
import { useTestDatabase } from '../../../support/postgres.js';
import { insertImage, updateRow } from '../../../support/records.js';

describe('Images of a service', () => {
  const database = useTestDatabase();
  let service: ServiceRow;

  beforeEach(async () => {
    service = await makeService(database.db);
  });

  async function deployed(minute: number, status: DeploymentRow['status'] = 'live'): Promise<string> {
    const { id } = await makeDeployment(database.db, service);
    const image = await insertImage(database.db, {
      workspaceId: service.workspace_id,
      serviceId: service.id,
      digest: id.replaceAll('-', ''),
      manifest: MANIFEST,
      sizeBytes: 1,
    });
    const went_live_at = status === 'live' ? new Date(Date.UTC(2026, 0, 1, 0, minute)) : null;
    await updateRow(database.db, 'deployments', id, {
      status,
      image_id: image.id,
      went_live_at,
      finished_at: new Date(),
    });
    return id;
  }

  async function canRollback(id: string): Promise<boolean | undefined> {
    return (await findDeployment(database.db, service.id, id))?.can_rollback;
  }

  it('the last ten that went live are kept for rollback, older ones are let go', async () => {
    const ids: string[] = [];
    for (let minute = 0; minute < 12; minute++) ids.push(await deployed(minute));
    expect(await retireImages(database.db, service.id, 10)).to.equal(2);
    const kept = await Promise.all(ids.map(canRollback));
    expect(kept).to.deep.equal([false, false, ...Array.from({ length: 10 }, () => true)]);
    expect(await wantedDigests(database.db)).not.to.include(ids[0]?.replaceAll('-', ''));
    expect(await retireImages(database.db, service.id, 10)).to.equal(0);
  });

  it('the one that serves is never let go, nor one that an open rollback is about to start', async () => {
    const serving = await deployed(0);
    await database.db('services').where({ id: service.id }).update({ live_deployment_id: serving });
    const source = await deployed(1);
    const { image_id } = (await findDeployment(database.db, service.id, source)) ?? {};
    const rollback = await makeDeployment(database.db, service);
    await database.db('deployments').where({ id: rollback.id }).update({ image_id });
    for (let minute = 2; minute < 14; minute++) await deployed(minute);
    await retireImages(database.db, service.id, 10);
    expect(await canRollback(serving)).to.equal(true);
    expect(await canRollback(source)).to.equal(true);
  });

  it('an image that never went live is let go before those that did', async () => {
    const failed = await deployed(0, 'failed');
    for (let minute = 0; minute < 10; minute++) await deployed(minute);
    expect(await retireImages(database.db, service.id, 10)).to.equal(1);
    expect(await wantedDigests(database.db)).not.to.include(failed.replaceAll('-', ''));
  });
});
