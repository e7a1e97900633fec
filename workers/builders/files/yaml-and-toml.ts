import { createRequire } from 'node:module';
import type * as Toml from 'smol-toml';
import type * as Yaml from 'yaml';
import { lazily } from '../../../shared/core/lazily.js';

/** Loaded on demand: each parser takes tens of milliseconds to load, and most projects need neither. */
const yaml = lazily(() => createRequire(import.meta.url)('yaml') as typeof Yaml);
const toml = lazily(() => createRequire(import.meta.url)('smol-toml') as typeof Toml);

/**
 * Parses YAML that a tenant has written. Throws if the text is no YAML.
 * The number of aliases is bounded: an alias may stand for a large part of the text, which may itself contain aliases.
 */
export function parseYaml(text: string): unknown {
  return yaml().parse(text, { maxAliasCount: 100, logLevel: 'error' }) as unknown;
}

/** Parses TOML. Throws if the text is no TOML. */
export function parseToml(text: string): unknown {
  return toml().parse(text);
}
