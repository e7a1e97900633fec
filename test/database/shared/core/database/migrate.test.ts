import { expect } from 'chai';
import { createDatabase } from '../../../../../shared/core/database/database-client.js';
import { assertMigrated, migrate } from '../../../../../shared/core/database/migrate.js';
import { migrateQueues } from '../../../../../shared/queues/bull-pool.js';
import { messageOf } from '../../../../support/outcomes.js';
import { createEmptyDatabase, createTestDatabase, type TestDatabase } from '../../../../support/postgres.js';

describe('migrating', () => {
  let empty: TestDatabase;
  before(async () => {
    empty = await createEmptyDatabase();
  });
  after(() => empty.drop());

  it('an unmigrated database is refused with the command to run', async () => {
    expect(await messageOf(assertMigrated(empty.db))).to.match(/lacks \d+ migration.*npm run migrate/);
  });

  it('several at once apply every migration exactly once', async () => {
    const migrators = [1, 2, 3].map((n) => createDatabase({ url: empty.url, name: `migrator-${n}`, poolSize: 2 }));
    const applied = await Promise.all(
      migrators.map(async (db) => {
        const names = await migrate(db, empty.url);
        await migrateQueues(empty.url);
        return names;
      }),
    );
    for (const db of migrators) await db.destroy();
    const all = applied.flat();
    expect(all).to.not.be.empty;
    expect(new Set(all).size).to.equal(all.length);
    expect(applied.filter((names) => names.length > 0)).to.have.length(1);
    await assertMigrated(empty.db);
  });

  it('a cloned test database is migrated', async () => {
    const clone = await createTestDatabase();
    try {
      await assertMigrated(clone.db);
      expect(await clone.db('users').count({ n: '*' }).first()).to.deep.equal({ n: 0 });
    } finally {
      await clone.drop();
    }
  });
});
