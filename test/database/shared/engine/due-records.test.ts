import { expect } from 'chai';
import { createLogger } from '../../../../shared/core/log.js';
import { findAbandoned, takeDue } from '../../../../shared/engine/due-records.js';
import { OPERATIONS } from '../../../../shared/operations/kind.js';
import { Dispatcher } from '../../../../shared/queues/dispatcher.js';
import type { Engine } from '../../../../shared/queues/queue-engine.js';
import { KINDS, type NewJob } from '../../../../shared/queues/work-catalog.js';
import type { ServiceRow } from '../../../../shared/services/rows.js';
import { makeDeployment, makeOperation, makeService } from '../../../support/factories.js';
import { useTestDatabase } from '../../../support/postgres.js';
import { updateRow } from '../../../support/records.js';

describe('Records that are due', () => {
  const database = useTestDatabase();
  let service: ServiceRow;
  beforeEach(async () => {
    await database.db.raw('truncate workspaces cascade');
    service = await makeService(database.db);
  });

  const operation = () => makeOperation(database.db, service, 'restart');
  const age = (table: string, fields: object) =>
    database.db(table).update({ updated_at: database.db.raw(`now() - interval '1 minute'`), due_at: null, ...fields });
  const abandoned = async () => (await findAbandoned(database.db, KINDS, 5)).map(({ id }) => id);

  it('that another process hands over are skipped, not waited for', async () => {
    const [first, second] = [await operation(), await operation()];
    await database.db.transaction(async (trx) => {
      expect((await takeDue(trx, OPERATIONS, 1)).map(({ id }) => id)).to.deep.equal([first.id]);
      const others = await database.db.transaction(async (other) => {
        // Without a timeout, a statement that waits for the first lock would wait for ever.
        await other.raw(`set local lock_timeout = '2s'`);
        return takeDue(other, OPERATIONS, 10);
      });
      expect(others.map(({ id }) => id)).to.deep.equal([second.id]);
    });
  });

  it('now are taken, and not those that are due later', async () => {
    const [now, later] = [await operation(), await operation()];
    await updateRow(database.db, 'operations', later.id, { due_at: database.db.raw(`now() + interval '1 minute'`) });
    const taken = await database.db.transaction((trx) => takeDue(trx, OPERATIONS, 10));
    expect(taken.map(({ id }) => id)).to.deep.equal([now.id]);
  });

  it('are all handed over in one run, however many there are', async () => {
    await operation();
    await database.db.raw(
      `insert into operations (id, workspace_id, service_id, kind, actor, dispatches, due_at)
       select gen_random_uuid(), workspace_id, service_id, kind, actor, 1, due_at from operations, generate_series(1, 450)`,
    );
    const added: NewJob[] = [];
    const engine = { add: async (jobs: NewJob[]) => void added.push(...jobs) } as unknown as Engine;
    await new Dispatcher(database.db, engine, createLogger('test', 'silent')).dispatch();
    expect(new Set(added.map(({ recordId }) => recordId)).size).to.equal(451);
  });

  describe('are abandoned', () => {
    it('if nothing touched them for a while, and not before', async () => {
      const { id } = await operation();
      await database.db('operations').update({ due_at: null });
      expect(await abandoned()).to.deep.equal([]);
      await age('operations', {});
      expect(await abandoned()).to.deep.equal([id]);
      const deployment = await makeDeployment(database.db, service);
      await database.db('deployments').update({ admitted_at: new Date(), due_at: null });
      expect(await abandoned()).to.deep.equal([id]);
      await age('deployments', {});
      expect(await abandoned()).to.have.members([id, deployment.id]);
    });

    it('neither if they have ended nor if they were not admitted', async () => {
      await operation();
      await age('operations', { finished_at: new Date(), status: 'succeeded' });
      await makeDeployment(database.db, service);
      await age('deployments', {});
      expect(await abandoned(), 'it waits for admission').to.deep.equal([]);
      await age('deployments', { admitted_at: new Date(), finished_at: new Date(), status: 'live' });
      expect(await abandoned()).to.deep.equal([]);
    });

    it('not while a lease holds them', async () => {
      const { id } = await operation();
      await makeDeployment(database.db, service);
      const inAMinute = database.db.raw(`now() + interval '1 minute'`);
      await age('operations', { lease_expires_at: inAMinute });
      await age('deployments', { admitted_at: new Date(), lease_expires_at: inAMinute });
      expect(await abandoned()).to.deep.equal([]);
      await age('operations', { lease_expires_at: database.db.raw(`now() - interval '1 second'`) });
      expect(await abandoned()).to.deep.equal([id]);
    });
  });
});
