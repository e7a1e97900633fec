import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Db } from '../../../../shared/core/database/database-client.js';
import { errorMessage } from '../../../../shared/core/error-registry.js';
import { lazily } from '../../../../shared/core/lazily.js';
import { readTemplate, type Template } from '../../../../shared/templates/read-template.js';
import { ownTemplateText } from '../../../../shared/templates/store.js';

/** The catalog's folder in the source tree. The build does not copy its YAML files to the compiled code. */
const CATALOG_FOLDER = fileURLToPath(
  new URL('../../../../../api/resources/stacks/templates/catalog/', import.meta.url),
);

/** All templates of the platform by name, ordered by title. Read once, on first use. */
export const templates = lazily((): ReadonlyMap<string, Template> => {
  const names = readdirSync(CATALOG_FOLDER).flatMap((file) => (file.endsWith('.yaml') ? [file.slice(0, -5)] : []));
  const all = names.map((name) => {
    try {
      return readTemplate(name, readFileSync(join(CATALOG_FOLDER, `${name}.yaml`), 'utf8'));
    } catch (error) {
      throw new Error(`The template ${name} is not valid: ${errorMessage(error)}`);
    }
  });
  all.sort((one, other) => one.title.localeCompare(other.title, 'en'));
  return new Map(all.map((template) => [template.name, template]));
});

/** Returns the template with this name. A name like `source.template` names a template of the workspace itself. */
export async function findTemplate(db: Db, workspaceId: string, name: string): Promise<Template | undefined> {
  const [source = '', own] = name.split('.');
  if (own === undefined) return templates().get(name);
  const text = await ownTemplateText(db, workspaceId, { source, name: own });
  return text === undefined ? undefined : readTemplate(name, text);
}
