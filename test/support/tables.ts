import { type Db, rowsOf } from '../../shared/core/database/database-client.js';

interface TableText {
  table: string;
  /** All rows as PostgreSQL prints them; bytes are in hex. */
  text: string;
}

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

/** Lists the tables that contain one of these texts, each with the text. */
export async function tablesWith(db: Db, needles: readonly string[]): Promise<string[]> {
  const tables = await everyRow(db);
  return tables.flatMap(({ table, text }) =>
    needles.filter((needle) => text.includes(needle)).map((needle) => `${table}: ${needle.slice(0, 80)}`),
  );
}
