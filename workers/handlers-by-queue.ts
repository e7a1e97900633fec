import { backupJob } from './backups/perform-backup.js';
import { commitJob } from './commits/commit-job.js';
import { deployJob } from './deploy/deploy-job.js';
import { detectionJob } from './detections/detection-job.js';
import type { JobHandlers } from './engine/worker-pool.js';
import { forgeReportJob } from './forge/forge-report-job.js';
import { logIngestJob } from './logs/log-ingest-job.js';
import { deletionJob } from './operations/deletion-job.js';
import { restoreJob } from './operations/restore-job.js';
import { routingJob } from './operations/routing-job.js';
import { runtimeActionJob } from './operations/runtime-action-job.js';
import { runJob } from './runs/perform-run.js';
import { applyJob } from './stacks/apply-job.js';
import { templateSourceJob } from './templates/template-source-job.js';

/** A missing handler is a compile error. */
export const HANDLERS: JobHandlers = {
  deploy: deployJob,
  'runtime-action': runtimeActionJob,
  deletion: deletionJob,
  'routing-reconciliation': routingJob,
  run: runJob,
  backup: backupJob,
  restore: restoreJob,
  'log-ingest': logIngestJob,
  detection: detectionJob,
  commit: commitJob,
  'stack-apply': applyJob,
  'template-source': templateSourceJob,
  'forge-report': forgeReportJob,
};
