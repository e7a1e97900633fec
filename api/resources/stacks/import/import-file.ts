import { createRequire } from 'node:module';
import type * as Toml from 'smol-toml';
import { stringify } from 'yaml';
import { AppError } from '../../../../shared/core/error-registry.js';
import { lazily } from '../../../../shared/core/lazily.js';
import { MAX_DOCUMENT_BYTES } from '../../../../shared/stacks/read-document.js';
import { readYaml, type YamlFault } from '../../../../shared/stacks/yaml-source.js';
import { fitDocument } from './fit-document.js';
import { importCompose } from './import-compose.js';
import { importFly } from './import-fly.js';
import { importHeroku, splitProcfile } from './import-heroku.js';
import { importKamal } from './import-kamal.js';
import { importRailway } from './import-railway.js';
import { importRender } from './import-render.js';
import type { ImportContext, Imported, Importer, Lost } from './loose.js';

export const IMPORT_FORMATS = ['compose', 'render', 'heroku', 'fly', 'railway', 'kamal'] as const;
export type ImportFormat = (typeof IMPORT_FORMATS)[number];

const IMPORTERS: Readonly<Record<ImportFormat, Importer>> = {
  compose: importCompose,
  render: importRender,
  heroku: importHeroku,
  fly: importFly,
  railway: importRailway,
  kamal: importKamal,
};

const MAX_LINES = 1000;

/** The TOML parser, loaded when the first TOML file is read. */
const toml = lazily(() => createRequire(import.meta.url)('smol-toml') as typeof Toml);

/** Converts a file to a valid document. Throws payload_too_large, and invalid_request with the line of the mistake. */
export function importFile(format: ImportFormat, text: string, context: ImportContext): Imported {
  if (Buffer.byteLength(text) > MAX_DOCUMENT_BYTES) {
    throw new AppError('payload_too_large', `The file has more than ${MAX_DOCUMENT_BYTES} bytes`);
  }
  const lines = new Set<string>();
  const notes = new Set<string>();
  const lost: Lost = (place, reason, kind) => void (kind === 'note' ? notes : lines).add(`${place}: ${reason}`);
  const { value, faults, files = {} } = read(format, text);
  if (faults.length > 0) throw refusal(faults);
  const imported = IMPORTERS[format](value, { ...context, files: { ...context.files, ...files } }, lost);
  const document = fitDocument(imported, lost);
  return { document, lost: bounded(lines), notes: bounded(notes) };
}

function bounded(lines: ReadonlySet<string>): string[] {
  const more = lines.size - MAX_LINES;
  return [...[...lines].slice(0, MAX_LINES), ...(more > 0 ? [`${more} more lines are left out`] : [])];
}

interface Read {
  value: unknown;
  faults: YamlFault[];
  files?: Record<string, string>;
}

/** Parses a file. Railway's file is JSON or TOML. Heroku's app.json may be followed by the text of a Procfile. */
function read(format: ImportFormat, text: string): Read {
  if (format === 'fly' || (format === 'railway' && !text.trimStart().startsWith('{'))) return readToml(text);
  if (format !== 'heroku') return readYaml(text);
  const { json, procfile } = splitProcfile(text);
  return { ...readYaml(json), ...(procfile === '' ? {} : { files: { Procfile: procfile } }) };
}

function readToml(text: string): Read {
  try {
    return { value: toml().parse(text, { maxDepth: 50 }), faults: [] };
  } catch (error) {
    if (!(error instanceof toml().TomlError)) throw error;
    const { line, column, message } = error;
    return { value: undefined, faults: [{ line, column, message: message.split('\n')[0] ?? '' }] };
  }
}

function refusal(faults: readonly YamlFault[]): AppError {
  const details = faults.map(({ line, column, message }) => ({
    path: '/document',
    message: `line ${line}, column ${column}: ${message}`,
  }));
  return new AppError('invalid_request', `The file is not valid: ${details[0]?.message ?? ''}`, details.slice(0, 20));
}

/**
 * Converts a file of another format to the text of a document. Returns the text of a `ranvier` file unchanged. Throws
 * invalid_request and payload_too_large.
 */
export function nativeDocument(
  text: string,
  format: ImportFormat | 'ranvier' = 'ranvier',
): { document: string; warnings: string[] } {
  if (format === 'ranvier') return { document: text, warnings: [] };
  const { document, lost, notes } = importFile(format, text, { repository: '', folder: '', files: {} });
  return { document: stringify(document), warnings: [...lost, ...notes] };
}
