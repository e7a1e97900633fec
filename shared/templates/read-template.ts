import { Document, type ParsedNode, parseDocument, visit } from 'yaml';
import { createAjv } from '../core/json-schema.js';
import { lazily } from '../core/lazily.js';
import { linearPattern } from '../core/linear-pattern.js';
import { readYaml } from '../stacks/yaml-source.js';
import { type Question, type TemplateFacts, TemplateFile } from './template-file.js';

/** Matches `${name}`, and `$${`, which is an escaped `${`. */
export const PLACEHOLDER = /\$(\$(?=\{)|\{([A-Za-z0-9]+)\})/g;

/** A document with questions. The answers replace `${question}` in the document. */
export interface Template extends TemplateFacts {
  /** Returns a new copy of the document's syntax tree, including comments. */
  document: () => Document;
}

const validator = lazily(() => createAjv().compile(TemplateFile));

/** Parses a template file, which may come from an untrusted author. Throws an Error that describes the first fault. */
export function readTemplate(name: string, text: string): Template {
  const { value: file, faults, positionOf } = readYaml(text);
  const [fault] = faults;
  if (fault !== undefined) throw new Error(`line ${fault.line}, column ${fault.column}: ${fault.message}`);
  const validate = validator();
  if (!validate(file)) {
    const [problem] = validate.errors ?? [];
    const path = problem?.instancePath ?? '';
    throw new Error(`line ${positionOf(path).line}: ${path === '' ? 'the file' : path} ${problem?.message}`);
  }
  const { stack: _, questions = [], checked = null, ...fields } = file as TemplateFile;
  const template: Template = {
    name,
    ...fields,
    checked,
    questions: questions.map(withDefaults),
    document: () => documentOf(text),
  };
  const problem = questionProblem(template) ?? placeholderProblem(template);
  if (problem !== null) throw new Error(problem);
  return template;
}

/** Returns the names of the placeholders in a string. */
export function placeholdersOf(text: string): string[] {
  return [...text.matchAll(PLACEHOLDER)].flatMap(([, , name]) => (name === undefined ? [] : [name]));
}

function documentOf(text: string): Document {
  const document = new Document();
  document.contents = parseDocument(text, { merge: true }).get('stack', true) as ParsedNode;
  return document;
}

type GivenQuestion = NonNullable<TemplateFile['questions']>[number];

function withDefaults({ name, label, help = '', type = 'text', secret = false, ...rest }: GivenQuestion): Question {
  const { default: initial = '', required = initial === '', pattern = '', example = '' } = rest;
  return { name, label, help, type, default: initial, example, required, secret, pattern };
}

function questionProblem({ questions }: Template): string | null {
  for (const [index, { pattern, name }] of questions.entries()) {
    if (questions.findIndex((one) => one.name === name) < index) return `/questions/${index}/name is given twice`;
    try {
      linearPattern(pattern);
    } catch {
      return `/questions/${index}/pattern is no regular expression of RE2`;
    }
  }
  return null;
}

/** Returns why the document's placeholders cannot be filled in; null if they can. */
function placeholderProblem({ questions, document }: Template): string | null {
  const open = new Set(questions.flatMap(({ name, secret }) => (secret ? [] : [name])));
  const missing = new Set<string>();
  const tree = document();
  visit(tree, {
    Scalar: (key, { value }) => {
      if (key === 'key' || typeof value !== 'string') return;
      for (const name of placeholdersOf(value)) if (!open.has(name)) missing.add(name);
    },
  });
  const [name] = missing;
  if (name !== undefined) return `/stack uses \${${name}}, and no question without secret has this name`;
  try {
    tree.toString();
    return null;
  } catch {
    return '/stack has an alias whose anchor stands outside of it';
  }
}
