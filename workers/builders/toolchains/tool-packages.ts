import semver from 'semver';
import { postgresPackage } from '../../../shared/core/postgres-package.js';
import { BuildError } from '../../failures/explained-errors.js';
import { isLanguage, LANGUAGE_TOOLS, type LanguageName } from './language-tools.js';
import type { ManagerName } from './version-wish.js';

/** A tool that an npm package contains. */
export type PackagedName = 'node' | 'postgres' | 'mise' | 'deno' | ManagerName;
export type ToolName = PackagedName | LanguageName;

export interface ToolVersion<N extends ToolName = ToolName> {
  name: N;
  version: string;
}

export interface Machine {
  /** The values of `process.platform` and `process.arch`. */
  platform: string;
  arch: string;
  /** False for x64 processors without AVX2. */
  avx2: boolean;
}

export interface ToolPackage {
  name: string;
  /** Command → file in the package; null if the package's own `bin` lists them. */
  programs: Record<string, string> | null;
}

const MODERN_YARN = '@yarnpkg/cli-dist';

/**
 * The package of each tool, and its programs. The packages `node` and `bun`, and version 12 of `pnpm`, are not
 * used: they fetch binaries in an install script, and install scripts never run here.
 */
const PACKAGES: Readonly<
  Record<PackagedName, { of: (machine: Machine) => string; programs: ToolPackage['programs'] }>
> = {
  node: { of: nodePackage, programs: { node: 'bin/node' } },
  postgres: { of: postgresPackage, programs: { postgres: 'native/bin/postgres', initdb: 'native/bin/initdb' } },
  mise: { of: misePackage, programs: { mise: 'bin/mise' } },
  deno: { of: denoPackage, programs: { deno: 'deno' } },
  bun: { of: bunPackage, programs: { bun: 'bin/bun', bunx: 'bin/bun' } },
  npm: { of: () => 'npm', programs: null },
  pnpm: { of: () => 'pnpm', programs: null },
  yarn: { of: () => 'yarn', programs: null },
};

/** Returns the npm package that contains this version of a tool. */
export function packageOf({ name, version }: ToolVersion<PackagedName>, machine: Machine): ToolPackage {
  const major = semver.major(version);
  if (name === 'yarn' && major >= 2) return { name: MODERN_YARN, programs: null };
  if (name === 'pnpm' && major >= 12) {
    return { name: `@pnpm/exe.${machine.platform}-${machine.arch}`, programs: { pnpm: 'pnpm', pn: 'pnpm' } };
  }
  const { of, programs } = PACKAGES[name];
  return { name: of(machine), programs };
}

/** Returns the npm packages that list the versions of a tool: two for yarn, otherwise one. */
export function listedIn(name: PackagedName, machine: Machine): string[] {
  return [PACKAGES[name].of(machine), ...(name === 'yarn' ? [MODERN_YARN] : [])];
}

function nodePackage({ platform, arch }: Machine): string {
  return `${platform === 'darwin' && arch === 'arm64' ? 'node-bin' : 'node'}-${platform}-${arch}`;
}

function bunPackage({ platform, arch, avx2 }: Machine): string {
  const kind = arch === 'arm64' ? 'aarch64' : `${arch}${avx2 ? '' : '-baseline'}`;
  return `@oven/bun-${platform}-${kind}`;
}

function denoPackage({ platform, arch }: Machine): string {
  return `@deno/${platform}-${arch}${platform === 'linux' ? '-glibc' : ''}`;
}

function misePackage({ platform, arch }: Machine): string {
  return `@jdxcode/mise-${platform === 'darwin' ? 'macos' : platform}-${arch}`;
}

/** Returns the name of an installed tool's folder: `node-22.1.0`. */
export function installedName({ name, version }: ToolVersion): string {
  return `${name}-${version}`;
}

const INSTALLED = new RegExp(
  `^(node|npm|pnpm|yarn|bun|postgres|mise|${Object.keys(LANGUAGE_TOOLS).join('|')})-(\\d.*)$`,
);

/** Parses the name of an installed tool's folder (`node-22.1.0`). Returns null for any other text. */
export function parseInstalledName(text: string): ToolVersion | null {
  const [, name, version] = INSTALLED.exec(text) ?? [];
  if (name === undefined || version === undefined || semver.valid(version) !== version) return null;
  return { name: name as ToolName, version };
}

/** Returns a tool's name for messages. */
export function shownName(name: ToolName): string {
  if (isLanguage(name)) return LANGUAGE_TOOLS[name].shown;
  if (name === 'postgres') return 'PostgreSQL';
  return name === 'node' ? 'Node.js' : name;
}

/** Throws a `BuildError` for a version that the registry does not have. */
export function noSuchVersion({ name, version }: ToolVersion, source: string, newest: string | null): never {
  const known = newest === null ? '' : `; the newest is ${newest}`;
  throw new BuildError(
    `${source} asks for ${shownName(name)} ${version}, which the package registry does not have${known}. ` +
      'Name a version that exists.',
  );
}
