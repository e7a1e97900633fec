import { isRecord, parsePackage } from '../toolchains/package-json.js';

/** What detection uses of a package.json. Everything else that is written there is ignored. */
export interface PackageManifest {
  name: string | null;
  main: string | null;
  /** The entry as an ES module. bun writes its sources' entry here. */
  module: string | null;
  scripts: Readonly<Record<string, string>>;
  /** Names → version ranges of all kinds of dependencies. */
  dependencies: Readonly<Record<string, string>>;
  /** Patterns of the workspace's packages; null if it is no workspace. */
  workspaces: readonly string[] | null;
}

const MAX_PATTERNS = 200;

/** Reads a package.json. Values of a wrong type are left out. Throws `BuildError` if it is no JSON object. */
export function readManifest(text: string, path = 'package.json'): PackageManifest {
  const value = parsePackage(text, path);
  const groups = ['peerDependencies', 'optionalDependencies', 'devDependencies', 'dependencies'];
  return {
    name: filled(value.name),
    main: filled(value.main),
    module: filled(value.module),
    scripts: texts(value.scripts),
    dependencies: Object.assign({}, ...groups.map((group) => texts(value[group]))),
    workspaces: patternsOf(value.workspaces),
  };
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

/** A text that is not empty; null for anything else. */
export function filled(value: unknown): string | null {
  return typeof value === 'string' && value.trim() !== '' ? value.trim() : null;
}
