import type { Variable } from '../../api/types.js';

export type Scope = NonNullable<Variable['scope']>;

/** Without `scope`, an existing variable keeps its scope. */
export type Content = ({ value: string } | { reference: { serviceId: string; key: string } }) & { scope?: Scope };

export const SCOPES: readonly { value: Scope; text: string }[] = [
  { value: 'all', text: 'Everywhere' },
  { value: 'production', text: 'Production' },
  { value: 'preview', text: 'Previews' },
];

export function scopeText(scope: Scope): string {
  return SCOPES.find(({ value }) => value === scope)?.text ?? scope;
}

/** Key → its unsaved change; null deletes the variable. */
export type Edits = Readonly<Record<string, Content | null>>;

export function keysOf(variables: readonly Variable[], edits: Edits): string[] {
  return [...new Set([...variables.map(({ key }) => key), ...Object.keys(edits)])].sort((a, b) => a.localeCompare(b));
}

export interface Changes {
  set?: ({ key: string } & Content)[];
  unset?: string[];
}

export function changesOf(edits: Edits): Changes {
  const set = Object.entries(edits).flatMap(([key, edit]) => (edit ? [{ key, ...edit }] : []));
  const unset = Object.keys(edits).filter((key) => edits[key] === null);
  return { ...(set.length > 0 ? { set } : {}), ...(unset.length > 0 ? { unset } : {}) };
}

export function summaryOf(variables: readonly Variable[], edits: Edits): string {
  const known = new Set(variables.map(({ key }) => key));
  const counts = { new: 0, replaced: 0, deleted: 0 };
  for (const [key, edit] of Object.entries(edits))
    counts[edit === null ? 'deleted' : known.has(key) ? 'replaced' : 'new']++;
  return Object.entries(counts)
    .filter(([, count]) => count > 0)
    .map(([word, count]) => `${count} ${word}`)
    .join(', ');
}
