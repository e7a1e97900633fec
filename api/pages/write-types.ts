import { readFile, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import openapiTS from 'openapi-typescript';
import { apiDocument } from '../resources/api-document.js';

/** `npm run types`: generates TypeScript types from the OpenAPI document, for the console and a test. */
const FILE = fileURLToPath(new URL('../../../api/pages/console/api/schema.d.ts', import.meta.url));

const types = await openapiTS(JSON.parse(JSON.stringify(apiDocument())));
// An unchanged file is not written, so that incremental builds stay valid.
if (types !== (await readFile(FILE, 'utf8').catch(() => null))) await writeFile(FILE, types);
