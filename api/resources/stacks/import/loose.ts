import type { StackDocument } from '../../../../shared/stacks/document-schema.js';

/** What an importer knows besides the file. */
export interface ImportContext {
  /** The address of the repository from which services are built; '' if it is unknown. */
  repository: string;
  /** The folder of the file in the repository; '' for its root. */
  folder: string;
  /** Contents of files that the file names, such as `.env`, by their paths in it. */
  files: Readonly<Record<string, string>>;
}

export interface Imported {
  document: StackDocument;
  /** What the document cannot say, as `place: reason`. */
  lost: string[];
  /** What the platform does in another way, so that nothing is lost. */
  notes: string[];
}

/**
 * Called with what a document cannot say, and its place in the other file. It is a note if the same processes run, with
 * the same data, and visitors get the same answers.
 */
export type Lost = (place: string, reason: string, kind?: 'note') => void;

/** Turns the value of a parsed file into a document. Pure. Values of wrong types are left to the document's schema. */
export type Importer = (value: unknown, context: ImportContext, lost: Lost) => StackDocument;

/** A value that a person has written: the importers read it tolerantly. */
export type Loose = Readonly<Record<string, unknown>>;

/** Returns the object, or an empty one. */
export function looseOf(value: unknown): Loose {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Loose) : {};
}

/** Returns the objects of a list. */
export function looseListOf(value: unknown): Loose[] {
  return Array.isArray(value) ? value.map(looseOf) : [];
}

/** Returns the entries of a list as texts; of a single text, that one. */
export function textsOf(value: unknown): string[] {
  if (Array.isArray(value)) return value.filter((each) => typeof each !== 'object').map(String);
  return typeof value === 'string' || typeof value === 'number' ? [String(value)] : [];
}

/** Returns a text, number or boolean as a text; '' for anything else. */
export function textOf(value: unknown): string {
  return ['string', 'number', 'boolean'].includes(typeof value) ? String(value) : '';
}

/** Returns the fields that have a value. */
export function given(fields: Loose): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(fields).filter(([, value]) => value !== undefined && value !== null && value !== ''),
  );
}

/** Returns an object with the map under this name, or an empty one if the map is empty. */
export function optional<T extends object>(name: string, value: T): Record<string, T> {
  return Object.keys(value).length === 0 ? {} : { [name]: value };
}

/** Reports the keys that are not read, each with its reason. */
export function loseKeys(
  at: string,
  value: Loose,
  read: ReadonlySet<string>,
  reasons: Readonly<Record<string, string>>,
  lost: Lost,
): void {
  for (const key of Object.keys(value)) {
    if (read.has(key)) continue;
    lost(at === '' ? key : `${at}.${key}`, entryOf(reasons, key) ?? 'has no counterpart');
  }
}

/** Returns the entry of a table by a name that a person has written. */
export function entryOf<T>(table: Readonly<Record<string, T>>, name: string): T | undefined {
  return Object.hasOwn(table, name) ? table[name] : undefined;
}
