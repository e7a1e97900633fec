import { stringify } from 'yaml';
import { type ImportFormat, importFile } from './import/import-file.js';

/**
 * Converts a file to a document. The warnings name what is lost from a file in another format. Throws invalid_request.
 */
export function nativeDocument(
  text: string,
  format: ImportFormat | 'ranvier' = 'ranvier',
): { document: string; warnings: string[] } {
  if (format === 'ranvier') return { document: text, warnings: [] };
  const { document, lost, notes } = importFile(format, text, { repository: '', folder: '', files: {} });
  return { document: stringify(document), warnings: [...lost, ...notes] };
}
