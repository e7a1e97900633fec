import type { Payloads } from '../../shared/queues/work-catalog.js';
import type { JobHelpers } from '../engine/job-helpers.js';
import { perform } from '../engine/perform-record.js';
import type { JobDeps } from '../worker-deps.js';
import { backupHandler } from './perform-backup.js';

/** Handles the queue `backup`: performs one backup. If an earlier worker died during the backup, starts again. */
export function backupJob(deps: JobDeps, { backupId }: Payloads['backup'], helpers: JobHelpers): Promise<string> {
  return perform(deps, backupHandler(deps), backupId, helpers).finally(() => deps.dispatcher.wake());
}
