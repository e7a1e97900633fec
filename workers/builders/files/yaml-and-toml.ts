import { createRequire } from 'node:module';
import type * as Toml from 'smol-toml';
import type * as Yaml from 'yaml';
import { lazily } from '../../../shared/core/lazily.js';

/** Each takes tens of milliseconds to load, and most projects have no such file. */
const yaml = lazily(() => createRequire(import.meta.url)('yaml') as typeof Yaml);
const toml = lazily(() => createRequire(import.meta.url)('smol-toml') as typeof Toml);

/**
 * The value of a YAML text that a tenant has written. The count of aliases is bounded: one may stand for a large part of the text, and
 * that part contain aliases. Throws if the text is no YAML.
 */
export function parseYaml(text: string): unknown {
  return yaml().parse(text, { maxAliasCount: 100, logLevel: 'error' }) as unknown;
}

/** The value of a TOML text. Throws if the text is no TOML. */
export function parseToml(text: string): unknown {
  return toml().parse(text);
}
