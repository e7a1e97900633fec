import { readFile, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import openapiTS from 'openapi-typescript';
import { apiDocument } from '../resources/api-document.js';

/**
 * `npm run types`: writes the types that a client would generate from the API's document. The console and a test use
 * them.
 */
const FILE = fileURLToPath(new URL('../../../api/pages/console/api/schema.d.ts', import.meta.url));

const types = await openapiTS(JSON.parse(JSON.stringify(apiDocument())));
// Leaving an unchanged file alone keeps earlier compilations valid.
if (types !== (await readFile(FILE, 'utf8').catch(() => null))) await writeFile(FILE, types);
