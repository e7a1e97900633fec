import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Document, type ParsedNode, parseDocument } from 'yaml';
import { lazily } from '../../../../shared/core/lazily.js';
import { createAjv } from '../../../http/schema.js';
import { type Question, TemplateFile, type TemplatePresentation } from './schema.js';

/** The files of the catalog, beside the source of this module. */
const CATALOG_FOLDER = fileURLToPath(
  new URL('../../../../../api/resources/stacks/templates/catalog/', import.meta.url),
);

/** A template: a document with questions, whose answers take the places of `${question}`. */
export interface Template extends TemplatePresentation {
  /** Returns the document as a tree of its own, which keeps the comments. */
  document: () => Document;
}

/** All templates by their names, in the order of their titles. Read once, with the first use. */
export const templates = lazily((): ReadonlyMap<string, Template> => {
  const names = readdirSync(CATALOG_FOLDER).flatMap((file) => (file.endsWith('.yaml') ? [file.slice(0, -5)] : []));
  const all = names.map((name) => readTemplate(name, readFileSync(join(CATALOG_FOLDER, `${name}.yaml`), 'utf8')));
  all.sort((one, other) => one.title.localeCompare(other.title, 'en'));
  return new Map(all.map((template) => [template.name, template]));
});

const validator = lazily(() => createAjv().compile(TemplateFile));

/** Reads a file of the catalog. Throws an Error that names what is wrong with it. */
export function readTemplate(name: string, text: string): Template {
  const source = parseDocument(text);
  const [fault] = source.errors;
  if (fault !== undefined) throw new Error(`The template ${name} is no YAML: ${fault.message}`);
  const file: unknown = source.toJS();
  const validate = validator();
  if (!validate(file)) {
    const [problem] = validate.errors ?? [];
    throw new Error(`The template ${name} is not valid: ${problem?.instancePath} ${problem?.message}`);
  }
  const { stack: _, questions = [], checked = null, ...fields } = file as TemplateFile;
  return {
    name,
    ...fields,
    checked,
    questions: questions.map(withDefaults),
    document: () => {
      const document = new Document();
      document.contents = parseDocument(text).get('stack', true) as ParsedNode;
      return document;
    },
  };
}

type GivenQuestion = NonNullable<TemplateFile['questions']>[number];

function withDefaults({ name, label, help = '', type = 'text', secret = false, ...rest }: GivenQuestion): Question {
  const { default: initial = '', required = initial === '', pattern = '', example = '' } = rest;
  return { name, label, help, type, default: initial, example, required, secret, pattern };
}
