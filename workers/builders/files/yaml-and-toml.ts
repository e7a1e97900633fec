import { createRequire } from 'node:module';
import type * as Toml from 'smol-toml';
import type * as Yaml from 'yaml';
import { lazily } from '../../../shared/core/lazily.js';

/** Loaded on demand: each parser takes tens of milliseconds to load, and most projects need neither. */
const yaml = lazily(() => createRequire(import.meta.url)('yaml') as typeof Yaml);
const toml = lazily(() => createRequire(import.meta.url)('smol-toml') as typeof Toml);

/**
 * Parses YAML that a tenant has written. Throws if the text is not valid YAML. Limits the number of aliases, because
 * nested aliases can expand to a very large value.
 */
export function parseYaml(text: string): unknown {
  return yaml().parse(text, { maxAliasCount: 100, logLevel: 'error' }) as unknown;
}

/** Parses TOML. Throws if the text is not valid TOML. */
export function parseToml(text: string): unknown {
  return toml().parse(text);
}
