import type { StackDocument } from '../../../../shared/stacks/document-schema.js';

export interface ImportContext {
  /** Address of the repository from which services are built; '' if unknown. */
  repository: string;
  /** The folder of the imported file in the repository; '' for the root. */
  folder: string;
  /** Path → text of each file to which the imported file refers, such as `.env`. */
  files: Readonly<Record<string, string>>;
}

export interface Imported {
  document: StackDocument;
  /** What the document cannot express, as `place: reason`. */
  lost: string[];
  /** What the platform does differently but with the same effect. */
  notes: string[];
}

/** Called for each part of a file that a document cannot express. `note` marks a difference without an effect. */
export type Lost = (place: string, reason: string, kind?: 'note') => void;

/** Converts a parsed file to a document. `fitDocument` removes values of wrong types afterwards. */
export type Importer = (value: unknown, context: ImportContext, lost: Lost) => StackDocument;

/** An untrusted value that a user wrote. Importers must tolerate any type in it. */
export type Loose = Readonly<Record<string, unknown>>;

export function looseOf(value: unknown): Loose {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Loose) : {};
}

export function looseListOf(value: unknown): Loose[] {
  return Array.isArray(value) ? value.map(looseOf) : [];
}

/** Returns the items of a list as strings. A single string or number gives one item. */
export function textsOf(value: unknown): string[] {
  if (Array.isArray(value)) return value.filter((each) => typeof each !== 'object').map(String);
  return typeof value === 'string' || typeof value === 'number' ? [String(value)] : [];
}

export function textOf(value: unknown): string {
  return ['string', 'number', 'boolean'].includes(typeof value) ? String(value) : '';
}

export function given(fields: Loose): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(fields).filter(([, value]) => value !== undefined && value !== null && value !== ''),
  );
}

export function optional<T extends object>(name: string, value: T): Record<string, T> {
  return Object.keys(value).length === 0 ? {} : { [name]: value };
}

export function namesIn(text: string): ReadonlySet<string> {
  return new Set(text.trim().split(/\s+/));
}

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

/** Returns the table's entry for a name that a user wrote; undefined if there is none. */
export function entryOf<T>(table: Readonly<Record<string, T>>, name: string): T | undefined {
  return Object.hasOwn(table, name) ? table[name] : undefined;
}
