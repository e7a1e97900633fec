import { writeFile } from 'node:fs/promises';
import { generateTypes, TYPES_FILE } from './types.js';

await writeFile(TYPES_FILE, await generateTypes());
