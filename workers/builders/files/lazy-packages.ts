import { createRequire } from 'node:module';
import type Semver from 'semver';
import type * as Toml from 'smol-toml';
import type * as Yaml from 'yaml';
import { lazily } from '../../../shared/core/lazily.js';

/** Packages are loaded on first use: loading all of them would delay each build, and most projects need none. */
const load = createRequire(import.meta.url);
export const semver = lazily(() => load('semver') as typeof Semver);
const yaml = lazily(() => load('yaml') as typeof Yaml);
const toml = lazily(() => load('smol-toml') as typeof Toml);

/** Parses YAML with few aliases, because nested aliases can expand to a very large value. Throws if it is invalid. */
export function parseYaml(text: string): unknown {
  return yaml().parse(text, { maxAliasCount: 100, logLevel: 'error' }) as unknown;
}

/** Parses TOML. Throws if the text is not valid TOML. */
export function parseToml(text: string): unknown {
  return toml().parse(text);
}
