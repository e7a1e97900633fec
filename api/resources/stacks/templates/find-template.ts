import type { Db } from '../../../../shared/core/database/database-client.js';
import { readTemplate, type Template } from '../../../../shared/templates/read-template.js';
import { ownTemplateText } from '../../../../shared/templates/store.js';
import { templates } from './catalog.js';

/**
 * Returns a template of the platform, or of one of the workspace's sources (`source.template`). Returns undefined if
 * there is none.
 */
export async function findTemplate(db: Db, workspaceId: string, name: string): Promise<Template | undefined> {
  const [source = '', own] = name.split('.');
  if (own === undefined) return templates().get(name);
  const text = await ownTemplateText(db, workspaceId, { source, name: own });
  return text === undefined ? undefined : readTemplate(name, text);
}
