import { stringify } from 'yaml';
import { type ImportFormat, importFile } from './import/import-file.js';

/**
 * Converts a file of another format to a document. The warnings say what the conversion loses or changes. A file in the
 * platform's own format stays as it is. Throws invalid_request.
 */
export function nativeDocument(
  text: string,
  format: ImportFormat | 'ranvier' = 'ranvier',
): { document: string; warnings: string[] } {
  if (format === 'ranvier') return { document: text, warnings: [] };
  const { document, lost, notes } = importFile(format, text, { repository: '', folder: '', files: {} });
  return { document: stringify(document), warnings: [...lost, ...notes] };
}
