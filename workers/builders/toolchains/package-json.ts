import { errorMessage } from '../../../shared/core/errors.js';
import { BuildError } from '../../failures/explained.js';
import { isRecord, isText } from '../files/json-values.js';
import type { ProjectFiles } from '../files/project-files.js';

export { isRecord, isText };

/** What the platform reads of a package.json. */
export interface PackageJson {
  /** The whole object. Tenants write it: check the type of each value that you read. */
  raw: Readonly<Record<string, unknown>>;
  scripts: Record<string, unknown>;
  /** Names → versions, of all kinds of dependencies, with what replaces them. */
  dependencies: Record<string, unknown>;
  hasWorkspaces: boolean;
  main: string | null;
}

const KINDS = ['dependencies', 'devDependencies', 'optionalDependencies', 'resolutions', 'overrides', 'pnpm'];

/** Parses the text of a package.json. Throws `BuildError` if it is no JSON object. */
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

/** Reads package.json; an empty one if there is none. Throws `BuildError` if it is no JSON object. */
export function readPackage(files: ProjectFiles): PackageJson {
  const raw = parsePackage(files.text('package.json') ?? '{}');
  return {
    raw,
    scripts: isRecord(raw.scripts) ? raw.scripts : {},
    dependencies: Object.assign({}, ...KINDS.map((kind) => (isRecord(raw[kind]) ? raw[kind] : {}))),
    hasWorkspaces: raw.workspaces !== undefined,
    main: isText(raw.main) ? raw.main : null,
  };
}
