import { expect } from 'chai';
import { createDatabase, lockUntilCommit, rowsOf } from '../../../../../shared/core/database/database-client.js';
import { useTestDatabase } from '../../../../support/postgres.js';

describe('A process that hangs within a transaction', () => {
  const database = useTestDatabase();

  it('loses its locks, so that others go on, and changes nothing when it wakes up', async () => {
    const { db } = database;
    const hung = createDatabase({ url: database.url, name: 'hung', idleInTransactionMs: 200 });
    const trx = await hung.transaction();
    await lockUntilCommit(trx, 'dispatch');
    await trx('repairs').insert({ sweep: 'hung', count: 1 });

    await db.transaction((other) => lockUntilCommit(other, 'dispatch'));
    expect(await db('repairs')).to.deep.equal([]);
    const late = await trx('repairs')
      .insert({ sweep: 'late', count: 1 })
      .then(
        () => 'stored',
        () => 'refused',
      );
    expect(late).to.equal('refused');
    await trx.rollback().catch(() => undefined);
    // The pool replaces the lost connection.
    expect(await hung('repairs')).to.deep.equal([]);
    await hung.destroy();
  });

  it('may do so for ten seconds if nothing else was asked for', async () => {
    const usual = createDatabase({ url: database.url, name: 'usual' });
    const [row] = await rowsOf(usual, 'show idle_in_transaction_session_timeout');
    expect(row).to.deep.equal({ idle_in_transaction_session_timeout: '10s' });
    await usual.destroy();
  });
});
