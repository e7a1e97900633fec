import { type Document, visit } from 'yaml';
import { AppError, type ErrorDetail } from '../../../../shared/core/error-registry.js';
import { linearPattern } from '../../../../shared/core/linear-pattern.js';
import { hasControls } from '../../../../shared/core/plain-text.js';
import { PLACEHOLDER, type Template } from '../../../../shared/templates/read-template.js';
import { MAX_ANSWER_LENGTH, type Question } from '../../../../shared/templates/template-file.js';

export interface Filled {
  document: Document;
  /** Values of secrets by `service.KEY`, which the document does not contain. */
  secrets: Record<string, string>;
}

/**
 * Fills in a template's document with answers (design, section 9). Answers replace strings in the parsed document, so
 * that none can change its structure. Throws invalid_request with the path of each missing, unknown or invalid answer.
 */
export function fillTemplate(
  { questions, document: open }: Template,
  values: Readonly<Record<string, string>>,
): Filled {
  const known = new Map(questions.map((question) => [question.name, question]));
  const problems = Object.keys(values).flatMap((name): ErrorDetail[] =>
    known.has(name) ? [] : [{ path: pathOf(name), message: 'is no question of the template' }],
  );
  const answers = new Map<string, string | number>();
  const secrets: Record<string, string> = {};
  for (const question of questions) {
    const { name, secret, type, default: initial } = question;
    const given = Object.hasOwn(values, name) ? values[name] : undefined;
    if (secret && given === undefined) continue;
    const answer = given ?? initial;
    const problem = problemOf(question, answer);
    if (problem !== null) problems.push({ path: pathOf(name), message: problem });
    else if (secret) secrets[name] = answer;
    else answers.set(name, type === 'number' ? Number(answer) : answer);
  }
  if (problems.length > 0) throw new AppError('invalid_request', undefined, problems);
  const document = open();
  visit(document, {
    Scalar: (key, node) => {
      if (key === 'key' || typeof node.value !== 'string') return;
      const value = filled(node.value, answers);
      if (value === node.value) return;
      node.value = value;
      delete node.source;
    },
  });
  return { document, secrets };
}

/** Replaces the placeholders of a text by answers. If the text is one placeholder only, returns its answer as it is. */
function filled(text: string, answers: ReadonlyMap<string, string | number>): string | number {
  const whole = /^\$\{([A-Za-z0-9]+)\}$/.exec(text)?.[1];
  if (whole !== undefined) return answerOf(whole, answers);
  return text.replace(PLACEHOLDER, (_, _marked: string, name: string | undefined) =>
    name === undefined ? '$' : String(answerOf(name, answers)),
  );
}

function answerOf(name: string, answers: ReadonlyMap<string, string | number>): string | number {
  const answer = answers.get(name);
  if (answer === undefined) throw new Error(`The template has no question ${name}`);
  return answer;
}

function problemOf({ label, type, required, secret, pattern }: Question, answer: string): string | null {
  if (answer === '') return required ? `is needed: ${label}` : null;
  if (!secret && answer.length > MAX_ANSWER_LENGTH) return `must have at most ${MAX_ANSWER_LENGTH} characters`;
  if (!secret && hasControls(answer)) return 'must be one line without control characters';
  if (type === 'number' && !/^\d{1,9}$/.test(answer)) return 'must be a whole number';
  if (pattern !== '' && !linearPattern(pattern).test(answer)) return `must match ${pattern}: ${label}`;
  return null;
}

function pathOf(name: string): string {
  return `/values/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`;
}
