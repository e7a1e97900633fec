import { createRequire } from 'node:module';
import type * as Ajv from 'ajv';
import type { FormatsPlugin } from 'ajv-formats';
import type * as Formats from 'ajv-formats/dist/formats.js';
import { lazily } from './lazily.js';

export type { Ajv, ErrorObject, ValidateFunction } from 'ajv';

/** Loads the JSON Schema validator on first use, because loading costs 40 ms of CPU time and 1 MiB. */
export const loadAjv = lazily(() => {
  const load = createRequire(import.meta.url);
  return {
    ...(load('ajv') as Pick<typeof Ajv, 'Ajv' | '_'>),
    addFormats: load('ajv-formats') as FormatsPlugin,
    fullFormats: (load('ajv-formats/dist/formats.js') as typeof Formats).fullFormats,
  };
});
