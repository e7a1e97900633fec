import { createRequire } from 'node:module';
import type * as BullMQ from 'bullmq';

/**
 * The parts of BullMQ that are used, each loaded with its first call. The index also loads clients of three other databases and
 * a relay, and an import of it as an ES module reads every file twice: 150 ms of processor time of a start. The paths are
 * those of the one version that package.json names.
 */
const load = createRequire(import.meta.url);

export type { Job, Queue, Worker, WorkerOptions } from 'bullmq';

type Part<Name extends keyof typeof BullMQ> = Pick<typeof BullMQ, Name>;

export const loadQueue = (): Part<'Queue'> => load('bullmq/dist/cjs/classes/queue.js');

export const loadWorker = (): Part<'Worker' | 'UnrecoverableError' | 'WaitingError'> => ({
  ...load('bullmq/dist/cjs/classes/worker.js'),
  ...load('bullmq/dist/cjs/classes/errors/index.js'),
});

export const loadPostgresBackend = (): Part<'createPostgresBackend'> =>
  load('bullmq/dist/cjs/postgres/create-postgres-backend.js');

export const loadMigrator = (): Part<'runMigrations'> => load('bullmq/dist/cjs/postgres/migrator.js');
