import { type Db, rowsOf } from './client.js';

/** The id of this installation: what it makes in a system that it shares with others is marked with it. */
export async function installationId(db: Db): Promise<string> {
  const [row] = await rowsOf<{ id: string }>(db, 'select id from installation', []);
  if (!row) throw new Error('the table "installation" has lost its row');
  return row.id;
}
