import type { Variable } from '../../api/types.js';

/** A new content: a value, or what another service offers under a key. */
export type Content = { value: string } | { reference: { serviceId: string; key: string } };

/** What is to happen to a key; null deletes it. */
export type Edits = Readonly<Record<string, Content | null>>;

/** Every key of the list, in alphabetical order: stored ones and those that are to be added. */
export function keysOf(variables: readonly Variable[], edits: Edits): string[] {
  return [...new Set([...variables.map(({ key }) => key), ...Object.keys(edits)])].sort((a, b) => a.localeCompare(b));
}

/** The body of the one request that stores them all. */
export function changesOf(edits: Edits): { set?: ({ key: string } & Content)[]; unset?: string[] } {
  const set = Object.entries(edits).flatMap(([key, edit]) => (edit ? [{ key, ...edit }] : []));
  const unset = Object.keys(edits).filter((key) => edits[key] === null);
  return { ...(set.length > 0 ? { set } : {}), ...(unset.length > 0 ? { unset } : {}) };
}

/** "1 new, 2 replaced, 1 deleted". */
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
