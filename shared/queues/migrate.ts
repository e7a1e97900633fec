import { runMigrations } from 'bullmq';
import pg from 'pg';

/** Brings BullMQ's own schema (`bullmq`) to the version of the package. Safe by several at once: it locks. */
export async function migrateQueues(url: string): Promise<void> {
  const client = new pg.Client({ connectionString: url, application_name: 'ranvier-migrate' });
  await client.connect();
  try {
    await runMigrations(client);
  } finally {
    await client.end();
  }
}
