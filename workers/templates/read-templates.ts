import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { errorMessage } from '../../shared/core/error-registry.js';
import { escapeControls } from '../../shared/core/plain-text.js';
import { STACK_NAME_PATTERN } from '../../shared/core/string-formats.js';
import { readTemplate } from '../../shared/templates/read-template.js';
import type { FoundTemplates } from '../../shared/templates/store.js';
import { resolveInside, textInside } from '../builders/files/project-files.js';
import { BuildError } from '../failures/explained-errors.js';

const FOLDER = '.ranvier/templates';
const MAX_FILES = 50;
const MAX_FILE_BYTES = 64 * 1024;
const MAX_MESSAGE_LENGTH = 300;

/** Reads the templates in a checked-out repository. Throws `BuildError` if it has no template, or too many. */
export async function readTemplates({ app }: { app: string }): Promise<FoundTemplates> {
  const folder = await resolveInside(app, FOLDER);
  const names = typeof folder === 'string' ? await readdir(folder).catch(() => null) : null;
  if (names === null)
    throw new BuildError(`the repository has no folder ${FOLDER}; add one with a file for each template`);
  const files = names.filter((name) => /\.ya?ml$/.test(name)).sort();
  if (files.length === 0) throw new BuildError(`${FOLDER} has no file that ends with .yaml`);
  if (files.length > MAX_FILES)
    throw new BuildError(`${FOLDER} has ${files.length} templates; at most ${MAX_FILES} are read`);
  const found: FoundTemplates = { templates: [], problems: [] };
  for (const file of files) {
    try {
      const name = file.replace(/\.ya?ml$/, '');
      const text = await textOf(app, file);
      if (!new RegExp(STACK_NAME_PATTERN).test(name))
        throw new Error('its name must have only lower-case letters, digits and -');
      if (found.templates.some((one) => one.name === name)) throw new Error('another file has this name');
      const { document: _, ...facts } = readTemplate(name, text);
      found.templates.push({ ...facts, text });
    } catch (error) {
      const message = escapeControls(errorMessage(error)).slice(0, MAX_MESSAGE_LENGTH);
      found.problems.push({ file: escapeControls(file).slice(0, MAX_MESSAGE_LENGTH), message });
    }
  }
  return found;
}

async function textOf(app: string, file: string): Promise<string> {
  const text = await textInside(app, join(FOLDER, file));
  if (text === undefined) throw new Error('it is no file of the repository');
  if (Buffer.byteLength(text) > MAX_FILE_BYTES) throw new Error(`it is larger than ${MAX_FILE_BYTES / 1024} KiB`);
  return text;
}
