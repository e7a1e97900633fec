import { realpath } from 'node:fs/promises';
import type { Payloads } from '../../shared/queues/work-catalog.js';
import { openFrom, SEALED } from '../../shared/secrets/sealed-columns.js';
import { findTemplateSource, finishReading } from '../../shared/templates/store.js';
import { readFiles } from '../builders/reader/read-files.js';
import { readRepository } from '../detections/read-repository.js';
import type { JobHelpers } from '../engine/job-helpers.js';
import type { JobDeps } from '../worker-deps.js';

const TIMEOUT_MS = 120_000;

/** Reads the templates in a workspace's repository. */
export async function templateSourceJob(
  deps: JobDeps,
  { templateSourceId }: Payloads['template-source'],
  helpers: Pick<JobHelpers, 'signal' | 'lastAttempt'>,
): Promise<string> {
  const { db, keyring } = deps;
  const row = await findTemplateSource(db, templateSourceId);
  if (row === undefined || row.finished_at !== null) return 'read already';
  const question = {
    id: row.id,
    workspaceId: row.workspace_id,
    repository: openFrom(keyring, SEALED.templateRepository, row.id, row.sealed_repository),
    branch: row.branch,
    timeoutMs: TIMEOUT_MS,
  };
  const answer = await readRepository(deps, question, helpers, async ({ app }, { sha }, signal) => {
    const found = await readFiles('readTemplates', { app: await realpath(app) }, { signal });
    return { ...found, commitSha: sha };
  });
  await finishReading(db, row.id, 'error' in answer ? answer : answer.found);
  return 'error' in answer ? 'refused' : `${answer.found.templates.length} templates`;
}
