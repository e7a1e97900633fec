import type { Schemas } from '../../api/types.js';
import type { Tone } from '../../ui/tone.js';

type Change = Schemas['StackChange'];

/** A field of a changed resource. `from` is null for a new field, and `to` is null for a removed one. */
export interface FieldRow {
  field: string;
  from: string | null;
  to: string | null;
}

export interface ChangeRow {
  sign: string;
  action: Change['action'];
  kind: Change['kind'];
  name: string;
  fields: FieldRow[];
}

/** A fault of a document, and where in the text it is. Lines and columns begin with 1. */
export interface Fault {
  line: number;
  column: number;
  text: string;
}

const SIGNS: Readonly<Record<Change['action'], string>> = { create: '+', update: '~', delete: '−', replace: '±' };

export const ACTIONS: Readonly<Record<Change['action'], { word: string; tone: Tone }>> = {
  create: { word: 'create', tone: 'good' },
  update: { word: 'change', tone: 'warn' },
  replace: { word: 'replace', tone: 'bad' },
  delete: { word: 'delete', tone: 'bad' },
};

/** The text that the API shows instead of a variable's value. */
const HIDDEN = '***';

export function countsOf(changes: readonly Change[]): { text: string; tone: Tone }[] {
  return (Object.keys(ACTIONS) as Change['action'][]).flatMap((action) => {
    const { word, tone } = ACTIONS[action];
    const count = changes.filter((change) => change.action === action).length;
    if (count === 0 && action === 'replace') return [];
    return [{ text: `${count} to ${word}`, tone: count === 0 ? 'plain' : tone }];
  });
}

export function rowsOf(changes: readonly Change[]): ChangeRow[] {
  return changes.map(({ action, kind, name, fields }) => ({
    sign: SIGNS[action],
    action,
    kind,
    name,
    fields: fields.map(({ path, from, to }) => ({
      field: path.slice(1),
      from: shown(from, 'old value, hidden'),
      to: shown(to, from === HIDDEN ? 'new value, hidden' : 'hidden'),
    })),
  }));
}

function shown(value: unknown, hidden: string): string | null {
  if (value === null || value === undefined) return null;
  if (value === HIDDEN) return hidden;
  if (typeof value === 'string') return value === '' ? '(empty)' : value;
  if (isReference(value)) return `${value.service}.${value.key}`;
  return JSON.stringify(value);
}

function isReference(value: unknown): value is { service: string; key: string } {
  const { service, key } = value as { service?: unknown; key?: unknown };
  return typeof service === 'string' && typeof key === 'string';
}

/** Returns the faults that an error response locates by line and column, in the order of the text. */
export function faultsOf(details: readonly { message: string }[]): Fault[] {
  return details
    .flatMap(({ message }) => {
      const [, line, column, text] = /^line (\d+), column (\d+): (.*)$/s.exec(message) ?? [];
      return text === undefined ? [] : [{ line: Number(line), column: Number(column), text }];
    })
    .sort((one, other) => one.line - other.line || one.column - other.column);
}

export function offsetOf(text: string, { line, column }: Pick<Fault, 'line' | 'column'>): number {
  const before = text.split('\n').slice(0, line - 1);
  return Math.min(text.length, before.reduce((sum, one) => sum + one.length + 1, 0) + column - 1);
}

/** Returns the line numbers of a text in as few parts as possible. The number of a faulty line is a separate part. */
export function numbersOf(text: string, faults: readonly Fault[]): { text: string; isMarked: boolean }[] {
  const marked = new Set(faults.map(({ line }) => line));
  const parts: { text: string; isMarked: boolean }[] = [];
  const count = text.split('\n').length;
  for (let line = 1; line <= count; line++) {
    const last = parts.at(-1);
    if (marked.has(line) || last === undefined || last.isMarked) {
      parts.push({ text: `${line}\n`, isMarked: marked.has(line) });
    } else last.text += `${line}\n`;
  }
  return parts;
}
