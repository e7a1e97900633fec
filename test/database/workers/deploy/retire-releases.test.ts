import { expect } from 'chai';
import { v7 as uuidv7 } from 'uuid';
import { acknowledgeRoutes, reportEdge } from '../../../../shared/routing/store.js';
import { retireOldReleases } from '../../../../workers/deploy/retire-releases.js';
import type { JobDeps } from '../../../../workers/worker-deps.js';
import { makeReplica, makeService } from '../../../support/factories.js';
import { NO_EDGE_FIGURES, pretendLive } from '../../../support/records.js';
import { type TestWorkshop, useTestWorkshop } from '../../../support/workshop.js';

describe('Old releases', () => {
  let workshop: TestWorkshop;
  let worker: JobDeps;
  useTestWorkshop((opened) => ({ workshop, worker } = opened));

  it('stop when every edge serves the new release, and not before', async () => {
    const { db } = workshop.database;
    const service = await makeService(db);
    const old = await pretendLive(db, service.id);
    await makeReplica(db, service.id, old, { port: 20_000, state: 'ready' });
    await pretendLive(db, service.id);
    const { route_version: version } = await workshop.service(service.id);
    const edgeId = uuidv7();
    await reportEdge(db, { id: edgeId, host: 'host', pid: 1 }, NO_EDGE_FIGURES);

    const gone = AbortSignal.abort(new Error('the worker ends'));
    const refused = await retireOldReleases(worker, service.id, gone).catch((error: Error) => error.message);
    expect(refused, 'an edge serves the old release').to.equal('the worker ends');
    expect(workshop.runtime.calls).to.deep.equal([]);

    await acknowledgeRoutes(db, edgeId, [{ serviceId: service.id, version }]);
    await retireOldReleases(worker, service.id, gone);
    expect(workshop.runtime.calls).to.deep.equal([`stop ${old}`]);
  });
});
