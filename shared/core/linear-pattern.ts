import { createRequire } from 'node:module';
import type { RE2JS } from 're2js';
import { lazily } from './lazily.js';

/** Loading RE2 on first use saves an idle worker 3 MiB. */
const re2 = lazily(() => createRequire(import.meta.url)('re2js') as { RE2JS: typeof RE2JS });

/** Compiles a pattern of RE2, which matches in linear time. Throws if the pattern is malformed. */
export function linearPattern(expression: string): RE2JS {
  return re2().RE2JS.compile(expression);
}

export function literally(text: string): string {
  return re2().RE2JS.quote(text);
}
