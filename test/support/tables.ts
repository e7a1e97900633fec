import { type Db, rowsOf } from '../../shared/core/database/database-client.js';

interface TableText {
  table: string;
  /** Every row as PostgreSQL prints it; bytes are in hex. */
  text: string;
}

/** Every row of every table of a database, the queues' own schema included. */
async function everyRow(db: Db): Promise<TableText[]> {
  const tables = await rowsOf<{ name: string }>(
    db,
    `select format('%I.%I', table_schema, table_name) as name from information_schema.tables
      where table_type = 'BASE TABLE' and table_schema not in ('pg_catalog', 'information_schema') order by 1`,
  );
  return Promise.all(
    tables.map(async ({ name }) => {
      const rows = await rowsOf<{ row: string }>(db, `select t::text as row from ${name} t`);
      return { table: name, text: rows.map(({ row }) => row).join('\n') };
    }),
  );
}

/** The tables that have a row with one of these texts, each with it. */
export async function tablesWith(db: Db, needles: readonly string[]): Promise<string[]> {
  const tables = await everyRow(db);
  return tables.flatMap(({ table, text }) =>
    needles.filter((needle) => text.includes(needle)).map((needle) => `${table}: ${needle.slice(0, 80)}`),
  );
}
