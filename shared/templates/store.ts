import { v7 as uuidv7 } from 'uuid';
import { assertRoom } from '../core/database/assert-room.js';
import { type Db, oneValue, rowsOf, type Transaction } from '../core/database/database-client.js';
import { type Page, type PageRequest, pageOf } from '../core/database/page.js';
import { AppError } from '../core/error-registry.js';
import type { DueColumns } from '../engine/kind.js';
import type { CommandDeps } from '../secrets/command-deps.js';
import { SEALED, sealIn } from '../secrets/sealed-columns.js';
import { repositoryProblem } from '../services/service-source.js';
import type { TemplateFacts } from './template-file.js';

export const MAX_SOURCES = 10;

/** The name is unique only within the source. */
export interface StoredTemplate extends TemplateFacts {
  text: string;
}

interface TemplateProblem {
  file: string;
  message: string;
}

/** What a worker found in a commit of a template source. */
export interface FoundTemplates {
  templates: StoredTemplate[];
  problems: TemplateProblem[];
}

export interface TemplateSourceRow extends DueColumns, FoundTemplates {
  workspace_id: string;
  name: string;
  sealed_repository: Buffer;
  branch: string;
  commit_sha: string | null;
  error: string;
  read_at: Date | null;
  finished_at: Date | null;
}

/** Stores a template source, which a worker then reads at once. Throws source_invalid, capacity_exceeded, conflict. */
export async function createTemplateSource(
  trx: Transaction,
  { keyring, config }: CommandDeps,
  input: { workspaceId: string; name: string; repository: string; branch: string },
): Promise<TemplateSourceRow> {
  const problem = repositoryProblem(input.repository, config.allowLocalRepositories);
  if (problem !== null) throw new AppError('source_invalid', problem);
  await assertRoom(trx, 'template_sources', input.workspaceId, MAX_SOURCES);
  const id = uuidv7();
  const [row] = await trx<TemplateSourceRow>('template_sources')
    .insert({
      id,
      workspace_id: input.workspaceId,
      name: input.name,
      sealed_repository: sealIn(keyring, SEALED.templateRepository, id, input.repository),
      branch: input.branch,
      due_at: trx.fn.now(),
      dispatches: 1,
    })
    .onConflict(['workspace_id', 'name'])
    .ignore()
    .returning('*');
  if (row === undefined) throw new AppError('conflict', `The workspace has a source of templates ${input.name}`);
  return row;
}

/** Requests that a worker reads a template source again. Returns undefined if there is no such source. */
export async function rereadTemplateSource(
  trx: Transaction,
  workspaceId: string,
  id: string,
): Promise<TemplateSourceRow | undefined> {
  const mine = { id, workspace_id: workspaceId };
  await trx('template_sources')
    .where(mine)
    .whereNotNull('finished_at')
    .update({
      finished_at: null,
      due_at: trx.fn.now(),
      updated_at: trx.fn.now(),
      dispatches: trx.raw('dispatches + 1'),
    });
  return trx<TemplateSourceRow>('template_sources').where(mine).first();
}

export async function deleteTemplateSource(trx: Transaction, workspaceId: string, id: string): Promise<boolean> {
  return (await trx('template_sources').where({ id, workspace_id: workspaceId }).delete()) > 0;
}

export async function listTemplateSources(
  db: Db,
  workspaceId: string,
  page: PageRequest,
): Promise<Page<TemplateSourceRow>> {
  return pageOf<TemplateSourceRow>(db, 'template_sources', { workspace_id: workspaceId }, page);
}

export async function findTemplateSource(db: Db, id: string): Promise<TemplateSourceRow | undefined> {
  return db<TemplateSourceRow>('template_sources').where({ id }).first();
}

/** Returns the metadata of all templates from a workspace's sources, by source and name. */
export async function ownTemplates(db: Db, workspaceId: string): Promise<TemplateFacts[]> {
  const rows = await rowsOf<{ source: string; facts: TemplateFacts }>(
    db,
    `select s.name as source, template.value - 'text' as facts
       from template_sources s cross join jsonb_array_elements(s.templates) as template
      where s.workspace_id = ? order by s.name, template.value ->> 'name'`,
    [workspaceId],
  );
  return rows.map(({ source, facts }) => ({ ...facts, name: `${source}.${facts.name}` }));
}

/** Returns the text of a template file from a workspace's source; undefined if there is none. */
export async function ownTemplateText(
  db: Db,
  workspaceId: string,
  { source, name }: { source: string; name: string },
): Promise<string | undefined> {
  const text = await oneValue<string>(
    db,
    `select template.value ->> 'text'
       from template_sources s cross join jsonb_array_elements(s.templates) as template
      where s.workspace_id = ? and s.name = ? and template.value ->> 'name' = ?`,
    [workspaceId, source, name],
  );
  return text ?? undefined;
}

/** Stores the templates that a worker found, or why it could not read the repository. */
export async function finishReading(
  db: Db,
  id: string,
  found: (FoundTemplates & { commitSha: string }) | { error: string },
): Promise<void> {
  const now = db.fn.now();
  const values =
    'error' in found
      ? { error: found.error }
      : {
          commit_sha: found.commitSha,
          templates: JSON.stringify(found.templates),
          problems: JSON.stringify(found.problems),
          error: '',
          read_at: now,
        };
  await db('template_sources')
    .where({ id })
    .whereNull('finished_at')
    .update({ ...values, finished_at: now, updated_at: now });
}
