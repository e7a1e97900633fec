import { readdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import type { Knex } from 'knex';
import pg from 'pg';
import { type Db, rowsOf } from './database-client.js';

const DIRECTORY = join(dirname(fileURLToPath(import.meta.url)), '../../../migrations');

/** Names migrations without their extension, so that source and compiled files have the same names. */
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
  async getMigration(name: string): Promise<Knex.Migration> {
    const { up }: Pick<Knex.Migration, 'up'> = await import(pathToFileURL(join(DIRECTORY, `${name}.js`)).href);
    return { up, down: () => Promise.reject(new Error('migrations only go forward: restore a backup instead')) };
  }
}

const OPTIONS: Knex.MigratorConfig = {
  migrationSource: new CompiledMigrations(),
  tableName: 'migrations',
  // Accepts a database that a newer version has migrated: this version can use it, because migrations only add.
  disableMigrationsListValidation: true,
};

/**
 * Applies the missing migrations and returns their names. Several processes may call this at once. PostgreSQL releases
 * an advisory lock if the process crashes; knex's own lock would stay.
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
