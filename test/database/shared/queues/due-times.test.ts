import { expect } from 'chai';
import { useTestDatabase } from '../../../support/postgres.js';

describe('A time at which a record is due', () => {
  const database = useTestDatabase();

  it('is never rounded into the future, where a round that starts at once would pass the record over', async () => {
    const columns = await database
      .db('information_schema.columns')
      .select('table_name', 'column_name', 'datetime_precision')
      .where({ table_schema: 'public' })
      .whereIn('column_name', ['due_at', 'not_before', 'next_check_at']);
    expect(columns.length).to.be.greaterThan(10);
    expect(columns.filter(({ datetime_precision: digits }) => digits !== 6)).to.deep.equal([]);
  });
});
