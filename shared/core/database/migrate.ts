import { readdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import type { Knex } from 'knex';
import pg from 'pg';
import { type Db, rowsOf } from './database-client.js';

const DIRECTORY = join(dirname(fileURLToPath(import.meta.url)), '../../../migrations');

/** Identifies migrations by their names without extension, which are the same for sources and compiled files. */
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
  /** Migrations only go forward; knex requires a `down` nevertheless. */
  async getMigration(name: string): Promise<Knex.Migration> {
    const { up }: Pick<Knex.Migration, 'up'> = await import(pathToFileURL(join(DIRECTORY, `${name}.js`)).href);
    return { up, down: () => Promise.reject(new Error('migrations only go forward: restore a backup instead')) };
  }
}

const OPTIONS: Knex.MigratorConfig = {
  migrationSource: new CompiledMigrations(),
  tableName: 'migrations',
  // Migrations of a newer version are accepted. They only add, so this version also runs on the result.
  disableMigrationsListValidation: true,
};

/**
 * Migrates the database to this version. Returns the names of the applied migrations.
 * Several processes may do so at once, and a second run changes nothing. An advisory lock, which a crash cannot leave
 * behind, is taken before knex's own lock.
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

/** Throws an error that says what to run, if a migration of this version was not applied. */
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
