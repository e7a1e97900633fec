import { expect } from 'chai';
import { rowsOf } from '../../../../shared/core/database/database-client.js';
import { SEALED_COLUMNS } from '../../../../shared/secrets/sealed-columns.js';
import { useTestDatabase } from '../../../support/postgres.js';

/** Byte columns that are not sealed: hashes, and recordings of shells, which are stored like logs. */
const NOT_SEALED = [
  'snapshots.digest',
  'commit_watches.fingerprint',
  'polled_repositories.fingerprint',
  'shell_recordings.content',
  'passkeys.public_key',
];

describe('The list of sealed columns', () => {
  const database = useTestDatabase();

  it('has every column of the database that holds bytes, apart from hashes, public keys and recordings', async () => {
    const rows = await rowsOf<{ name: string }>(
      database.db,
      `select table_name || '.' || column_name as name from information_schema.columns
        where table_schema = 'public' and data_type = 'bytea'`,
    );
    const unsealed = new Set([...NOT_SEALED, ...rows.map(({ name }) => name).filter((name) => name.endsWith('_hash'))]);
    const found = rows.map(({ name }) => name).filter((name) => !unsealed.has(name));
    expect(found.sort()).to.deep.equal(SEALED_COLUMNS.map(({ table, column }) => `${table}.${column}`).sort());
  });

  it('binds the values of each column to another text', () => {
    expect(new Set(SEALED_COLUMNS.map(({ binding }) => binding)).size).to.equal(SEALED_COLUMNS.length);
  });
});
