import { recordMigrations } from '../support/migration-checksums.js';

/** `npm run migration:record`: see `recordMigrations`. */
try {
  const names = await recordMigrations();
  process.stdout.write(names.length > 0 ? `recorded ${names.join(', ')}\n` : 'nothing new\n');
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
}
