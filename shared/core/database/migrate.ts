import { readdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import type { Knex } from 'knex';
import pg from 'pg';
import { type Db, rowsOf } from './database-client.js';

const DIRECTORY = join(dirname(fileURLToPath(import.meta.url)), '../../../migrations');

/** Identifies migrations by file name without extension, which is the same for source and compiled files. */
class CompiledMigrations implements Knex.MigrationSource<string> {
  async getMigrations(): Promise<string[]> {
    const files = await readdir(DIRECTORY);
    return files
      .filter((file) => /^\d{14}_\w+\.js$/.test(file))
      .map((file) => file.slice(0, -3))
      .sort();
  }
  getMigrationName(name: string): string {
    return name;
  }
  /** knex requires a `down` function, although migrations cannot be undone. */
  async getMigration(name: string): Promise<Knex.Migration> {
    const { up }: Pick<Knex.Migration, 'up'> = await import(pathToFileURL(join(DIRECTORY, `${name}.js`)).href);
    return { up, down: () => Promise.reject(new Error('migrations only go forward: restore a backup instead')) };
  }
}

const OPTIONS: Knex.MigratorConfig = {
  migrationSource: new CompiledMigrations(),
  tableName: 'migrations',
  // Accept a database that a newer version has migrated: migrations only add to the schema, so this version can use it.
  disableMigrationsListValidation: true,
};

/**
 * Migrates the database to this version. Returns the names of the applied migrations.
 * May run in several processes at once; a second run changes nothing. The migrations run under an advisory lock, which
 * PostgreSQL releases if the process crashes, unlike knex's own lock.
 */
export async function migrate(db: Db, url: string): Promise<string[]> {
  const guard = new pg.Client({ connectionString: url, application_name: 'ranvier-migrate' });
  await guard.connect();
  try {
    await guard.query(`select pg_advisory_lock(hashtextextended('ranvier.migrate', 0))`);
    if (await db.schema.hasTable('migrations_lock')) await db.migrate.forceFreeMigrationsLock(OPTIONS);
    const [, applied] = (await db.migrate.latest(OPTIONS)) as [number, string[]];
    return applied;
  } finally {
    await guard.end();
  }
}

/** Throws an error that says what to run if a migration of this version has not been applied. */
export async function assertMigrated(db: Db): Promise<void> {
  const wanted = await new CompiledMigrations().getMigrations();
  const exists = await db.schema.hasTable('migrations');
  const rows = exists ? await rowsOf<{ name: string }>(db, 'select name from migrations') : [];
  const applied = new Set(rows.map((row) => row.name));
  const missing = wanted.filter((name) => !applied.has(name));
  if (missing.length > 0) {
    throw new Error(
      `The database lacks ${missing.length} migration(s), the first is ${missing[0]}: run "npm run migrate"`,
    );
  }
}
