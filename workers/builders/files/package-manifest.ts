import { errorMessage } from '../../../shared/core/error-registry.js';
import { BuildError } from '../../failures/explained-errors.js';
import { filled, isRecord, recordOf } from './json-values.js';
import type { ProjectFiles } from './project-files.js';

export interface PackageManifest {
  /** The whole object. Tenants write it, so check the type of each value before use. */
  raw: Readonly<Record<string, unknown>>;
  name: string | null;
  main: string | null;
  /** The field `module`: the entry file as an ES module. In projects that use bun, this is a source file. */
  module: string | null;
  scripts: Readonly<Record<string, string>>;
  /** All kinds of dependencies: name → version range. */
  dependencies: Readonly<Record<string, string>>;
  /** Patterns for the folders of the workspace's packages; null if the package is not a workspace root. */
  workspaces: readonly string[] | null;
}

const MAX_PATTERNS = 200;

/** Parses the text of a package.json. Throws `BuildError` if it is not a JSON object. */
export function parsePackage(text: string, path = 'package.json'): Record<string, unknown> {
  let value: unknown;
  try {
    value = JSON.parse(text.replace(/^\ufeff/, ''));
  } catch (error) {
    throw new BuildError(`${path} is not valid JSON: ${errorMessage(error)}`);
  }
  if (!isRecord(value)) throw new BuildError(`${path} is not a JSON object`);
  return value;
}

/** Reads the package.json of a folder; empty if there is none. Throws `BuildError` if it is not a JSON object. */
export function manifestOf(files: ProjectFiles): PackageManifest {
  return readManifest(files.text('package.json') ?? '{}');
}

/** Reads a package.json. Values of a wrong type are left out. Throws `BuildError` if it is not a JSON object. */
export function readManifest(text: string, path = 'package.json'): PackageManifest {
  const raw = parsePackage(text, path);
  const groups = ['peerDependencies', 'optionalDependencies', 'devDependencies', 'dependencies'];
  return {
    raw,
    name: filled(raw.name),
    main: filled(raw.main),
    module: filled(raw.module),
    scripts: texts(raw.scripts),
    dependencies: Object.assign({}, ...groups.map((group) => texts(raw[group]))),
    workspaces: patternsOf(raw.workspaces),
  };
}

/** Returns the dependencies that npm installs, and the fields that override their versions. */
export function installedPackages({ raw }: Pick<PackageManifest, 'raw'>): Record<string, unknown> {
  const groups = ['dependencies', 'devDependencies', 'optionalDependencies', 'resolutions', 'overrides', 'pnpm'];
  return Object.assign({}, ...groups.map((group) => recordOf(raw[group])));
}

function patternsOf(value: unknown): string[] | null {
  const list = isRecord(value) ? value.packages : value;
  if (!Array.isArray(list)) return null;
  return list.filter((pattern) => typeof pattern === 'string').slice(0, MAX_PATTERNS);
}

function texts(value: unknown): Record<string, string> {
  if (!isRecord(value)) return {};
  return Object.fromEntries(
    Object.entries(value).filter((entry): entry is [string, string] => filled(entry[1]) !== null),
  );
}
