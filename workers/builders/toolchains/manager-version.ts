import { errorMessage } from '../../../shared/core/error-registry.js';
import { BuildError } from '../../failures/explained-errors.js';
import { isRecord, isText, recordOf } from '../files/json-values.js';
import { parseYaml, semver } from '../files/lazy-packages.js';
import type { PackageManifest } from '../files/package-manifest.js';
import type { ProjectFiles } from '../files/project-files.js';
import { devEngine, namedVersion } from './node-version.js';
import { generalVersion, versionFile } from './version-files.js';
import { intersection, type ManagerName, type VersionWish, versionWish } from './version-wish.js';

const FIELD = 'packageManager in package.json';

/**
 * Lock files in order of precedence. npm is last, because a single mistaken `npm install` leaves a lock file behind.
 */
const LOCKS: readonly (readonly [ManagerName, readonly string[]])[] = [
  ['pnpm', ['pnpm-lock.yaml']],
  ['bun', ['bun.lock', 'bun.lockb']],
  ['yarn', ['yarn.lock']],
  ['npm', ['package-lock.json', 'npm-shrinkwrap.json']],
];

export const LOCK_FILES: readonly string[] = LOCKS.flatMap(([, files]) => files);

/** Returns the lock file of a package manager; null if the folder has none. */
export function lockOf(files: ProjectFiles, manager: ManagerName): string | null {
  return LOCKS.find(([name]) => name === manager)?.[1].find((file) => files.has(file)) ?? null;
}

/** Returns a folder's package manager, which is npm if no field or file suggests another. */
export function managerName(files: ProjectFiles, manifest: PackageManifest): ManagerName {
  const named = field(manifest)?.name ?? devEngine(manifest, 'packageManager').map((entry) => entry.name)[0];
  if (isManager(named)) return named;
  // pnpm reads a workspace's packages only from pnpm-workspace.yaml. Without this file, another manager installs them.
  const noPnpm = manifest.raw.workspaces !== undefined && !files.has('pnpm-workspace.yaml');
  const locked = LOCKS.find(
    ([name, locks]) => !(noPnpm && name === 'pnpm') && locks.some((file) => files.has(file)),
  )?.[0];
  if (locked !== undefined) return locked;
  if (files.has('pnpm-workspace.yaml')) return 'pnpm';
  if (files.has('.yarnrc.yml') || files.has('.yarnrc')) return 'yarn';
  const others = ['pnpm', 'yarn', 'bun'] as const;
  const { volta, engines } = manifest.raw;
  return others.find((name) => isText(recordOf(volta)[name])) ?? onlyEngine(engines) ?? 'npm';
}

function onlyEngine(engines: unknown): ManagerName | undefined {
  if (!isRecord(engines) || (isText(engines.npm) && semver().validRange(engines.npm) !== null)) return undefined;
  return (['pnpm', 'yarn', 'bun'] as const).find((name) => isText(engines[name]));
}

/**
 * Returns the requested version; otherwise the versions that fit `engines` and the lock file. Returns null if the
 * project has neither. Throws `BuildError`.
 */
export function managerWish(files: ProjectFiles, manifest: PackageManifest, name: ManagerName): VersionWish | null {
  return pinned(files, manifest, name) ?? bounded(files, manifest, name);
}

function pinned(files: ProjectFiles, manifest: PackageManifest, name: ManagerName): VersionWish | null {
  const wanted = field(manifest);
  if (wanted?.name === name) return versionWish(wanted.version, FIELD, name);
  const engine = namedVersion(devEngine(manifest, 'packageManager'), name);
  if (engine !== null) return versionWish(engine, 'devEngines.packageManager in package.json', name);
  const pin = recordOf(manifest.raw.volta)[name];
  if (isText(pin)) return versionWish(pin, `volta.${name} in package.json`, name);
  const release = name === 'yarn' ? yarnPath(files) : null;
  if (release?.version) return { range: release.version, source: release.source };
  const version = generalVersion(files, [name]) ?? (name === 'bun' ? versionFile(files, '.bun-version') : null);
  return version && versionWish(version.text, version.source, name);
}

/** Returns the versions that both the lock file's format and `engines` allow. If there are none, `engines` decides. */
function bounded(files: ProjectFiles, { raw }: PackageManifest, name: ManagerName): VersionWish | null {
  const lock = lockFormat(files, name);
  const given = recordOf(raw.engines)[name];
  const range = isText(given) ? semver().validRange(given) : null;
  if (range === null) return lock;
  const engine: VersionWish = { range, source: `engines.${name} in package.json`, optional: name === 'npm' };
  const both = lock === null ? null : intersection(lock.range, range);
  return both === null ? engine : { range: both, source: `${engine.source} and ${lock?.source}` };
}

/** Returns the versions that read and write a folder's lock file without changing its format. */
function lockFormat(files: ProjectFiles, name: ManagerName): VersionWish | null {
  if (name === 'pnpm') return pnpmFormat(files);
  if (name === 'yarn') return yarnFormat(files);
  return null;
}

function pnpmFormat(files: ProjectFiles): VersionWish | null {
  const source = 'pnpm-lock.yaml';
  if (!files.has(source)) return usesNewerPnpm(files, '') ? { range: '10.x', source: 'pnpm-workspace.yaml' } : null;
  const lock = files.text(source) ?? '';
  const format = /^lockfileVersion:\s*['"]?(\d+)\.(\d+)/m.exec(lock);
  const [major, minor] = [Number(format?.[1] ?? 9), Number(format?.[2] ?? 0)];
  if (major < 5) return { range: '3.x', source };
  if (major === 5) return { range: minor <= 1 ? '5.x' : minor <= 3 ? '6.x' : '7.x', source };
  if (major < 9) return { range: '8.x', source };
  if (major > 9) return { range: '>=11', source };
  return { range: usesNewerPnpm(files, lock) ? '10.x' : '9.x', source };
}

/**
 * Decides between pnpm 9 and 10, which write the same lock file format. Only version 10 reads settings from
 * pnpm-workspace.yaml; otherwise version 9 is safer, because it runs the install scripts of dependencies.
 */
function usesNewerPnpm(files: ProjectFiles, lock: string): boolean {
  if (/^patchedDependencies:\n(?: {2}.*\n)*? {4}hash: [0-9a-f]{64}$/m.test(lock)) return true;
  const known = ['packages', 'catalog', 'catalogs'];
  const settings = readYaml(files.text('pnpm-workspace.yaml'), 'pnpm-workspace.yaml');
  // pnpm 9 refuses a pnpm-workspace.yaml without packages.
  if (files.has('pnpm-workspace.yaml') && !Array.isArray(settings.packages)) return true;
  return Object.keys(settings).some((key) => !known.includes(key));
}

function yarnFormat(files: ProjectFiles): VersionWish | null {
  const source = 'yarn.lock';
  if (!files.has(source)) return files.has('.yarnrc.yml') ? { range: '4.x', source: '.yarnrc.yml' } : null;
  const format = /^__metadata:\r?\n\s+version: ['"]?(\d+)/m.exec(files.text(source) ?? '')?.[1];
  // An empty lock file states no format, so .yarnrc.yml, which only Yarn 2 and later read, decides.
  if (format === undefined) return { range: files.has('.yarnrc.yml') ? '4.x' : '1.x', source };
  const number = Number(format);
  return { range: number <= 5 ? '2.x' : number <= 7 ? '3.x' : '>=4', source };
}

/** Returns the repository's own yarn release; null if there is none. `version` is null if its name shows no version. */
export function yarnPath(files: ProjectFiles): { version: string | null; source: string } | null {
  const modern = yarnSettings(files).yarnPath;
  const [path, source] = isText(modern)
    ? [modern, 'yarnPath in .yarnrc.yml']
    : [/^yarn-path\s+"?([^"\n]+)"?/m.exec(files.text('.yarnrc') ?? '')?.[1] ?? '', 'yarn-path in .yarnrc'];
  if (path === '') return null;
  const version = /yarn-(\d+\.\d+\.\d+(?:-[\w.]+?)?)\.c?js$/.exec(path)?.[1];
  return { version: version === undefined ? null : semver().valid(version), source };
}

/** Returns the settings of .yarnrc.yml; {} if there is no such file. Throws `BuildError`. */
export function yarnSettings(files: ProjectFiles): Record<string, unknown> {
  return readYaml(files.text('.yarnrc.yml'), '.yarnrc.yml');
}

function readYaml(text: string | undefined, name: string): Record<string, unknown> {
  if (text === undefined) return {};
  try {
    return recordOf(parseYaml(text));
  } catch (error) {
    throw new BuildError(`${name} is no valid YAML: ${errorMessage(error).split('\n')[0]}. Correct the file.`);
  }
}

/** Splits the field `packageManager`. Drops Corepack's hash, because the registry's integrity check replaces it. */
function field({ raw }: PackageManifest): { name: ManagerName; version: string } | null {
  const given = isText(raw.packageManager) ? raw.packageManager.trim() : '';
  const at = given.indexOf('@');
  const [name, version = ''] = at < 0 ? [given] : [given.slice(0, at), given.slice(at + 1).split('+')[0]];
  if (!isManager(name)) return null;
  return { name, version: version === '' ? '*' : version === 'berry' ? '>=2' : version };
}

function isManager(name: unknown): name is ManagerName {
  return LOCKS.some(([known]) => known === name);
}
