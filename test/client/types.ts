import { fileURLToPath } from 'node:url';
import openapiTS from 'openapi-typescript';
import { DOCUMENT } from '../support/openapi.js';

/** The types that callers of the API generate from its document; `npm run types` writes them anew. */
export const TYPES_FILE = fileURLToPath(new URL('../../../test/client/schema.d.ts', import.meta.url));

export function generateTypes(): Promise<string> {
  return openapiTS(structuredClone(DOCUMENT));
}
