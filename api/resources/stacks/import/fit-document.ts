import { type ErrorDetail, invalidRequest } from '../../../../shared/core/error-registry.js';
import type { StackDocument } from '../../../../shared/stacks/document-schema.js';
import type { EnvironmentState } from '../../../../shared/stacks/environment-state.js';
import { planStack } from '../../../../shared/stacks/plan.js';
import { checkDocument } from '../../../../shared/stacks/read-document.js';
import { type Loose, type Lost, looseOf } from './loose.js';

/** An imported document must be applicable to an empty environment. */
const EMPTY: EnvironmentState = { defaultRegion: 'auto', services: [], groups: [], domains: {} };

const MAX_PASSES = 50;

/**
 * Removes and reports everything that makes a document invalid. So importers need not check their documents. References
 * to missing values become secrets. Throws invalid_request if the document is still invalid.
 */
export function fitDocument(document: StackDocument, lost: Lost): StackDocument {
  const fitted = structuredClone(document);
  for (let pass = 0; ; pass += 1) {
    const problems = problemsOf(fitted);
    if (problems.length === 0) return fitted;
    // Removing a value can only create dangling references to it, which the next pass mends. So a few passes suffice.
    if (pass === MAX_PASSES) throw invalidRequest('/document', `cannot become a document: ${problems[0]?.message}`);
    for (const { path, message } of problems) lost(path.slice(1).replaceAll('/', '.'), message);
    // In reverse order, so that the indices in lists stay valid.
    for (const { path } of problems.toReversed()) mend(fitted, placeOf(path));
  }
}

function problemsOf(document: StackDocument): ErrorDetail[] {
  const { wish, problems } = checkDocument(document, []);
  return wish === null ? problems : planStack({ stackId: null, wish, state: EMPTY, values: {} }).problems;
}

/** Returns the keys that lead to the value to remove for a problem. A problem in a volume leads to the whole volume. */
function placeOf(path: string): string[] {
  const keys = path.split('/').slice(1).map(unescaped);
  return keys[2] === 'volumes' ? keys.slice(0, 4) : keys;
}

/** Removes the value at a path, or its nearest existing ancestor. A reference is replaced by a secret. */
function mend(document: object, path: readonly string[]): void {
  let parent: unknown = document;
  const parents = path.map((part) => {
    const here = parent;
    parent = typeof here === 'object' && here !== null && Object.hasOwn(here, part) ? (here as Loose)[part] : undefined;
    return here;
  });
  let last = path.length - 1;
  while (last > 0 && !hasPart(parents[last], path[last] ?? '')) last -= 1;
  const [holder, key] = [parents[last], path[last] ?? ''];
  if (Array.isArray(holder)) holder.splice(Number(key), 1);
  else if (typeof holder !== 'object' || holder === null) return;
  else if ('reference' in looseOf((holder as Loose)[key]) && path[last - 1] === 'variables') {
    (holder as Record<string, unknown>)[key] = { secret: true };
  } else delete (holder as Record<string, unknown>)[key];
}

function hasPart(holder: unknown, part: string): boolean {
  return typeof holder === 'object' && holder !== null && Object.hasOwn(holder, part);
}

function unescaped(part: string): string {
  return part.replaceAll('~1', '/').replaceAll('~0', '~');
}
