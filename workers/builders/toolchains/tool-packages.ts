import semver from 'semver';
import { postgresPackage } from '../../../shared/core/postgres-package.js';
import { BuildError } from '../../failures/explained.js';
import { isLanguage, LANGUAGE_TOOLS, type LanguageName, languageTool } from './language-tools.js';
import type { ManagerName } from './version-wish.js';

/** A tool that a package of the npm registry contains. */
export type PackagedName = 'node' | 'postgres' | 'mise' | 'deno' | ManagerName;
export type ToolName = PackagedName | LanguageName;

/** A tool in an exact version. */
export interface ToolVersion<N extends ToolName = ToolName> {
  name: N;
  version: string;
}

/** The machine that runs a tool. */
export interface Machine {
  /** As `process.platform` and `process.arch`. */
  platform: string;
  arch: string;
  /** False for x64 processors without AVX2. */
  avx2: boolean;
}

/** The package of the npm registry that contains a tool. */
export interface ToolPackage {
  name: string;
  /** Command → file of the package; null if the package's own `bin` tells. */
  programs: Record<string, string> | null;
}

/**
 * Packages for each platform contain the official binaries of Node, bun and pnpm 12 as they are. The packages `node`, `bun`
 * and `pnpm` 12 would only fetch these by an install script; no install script runs here.
 */
export function packageOf({ name, version }: ToolVersion<PackagedName>, machine: Machine): ToolPackage {
  switch (name) {
    case 'mise':
      return { name: misePackage(machine), programs: { mise: 'bin/mise' } };
    case 'deno':
      return { name: denoPackage(machine), programs: { deno: 'deno' } };
    case 'node':
      return { name: nodePackage(machine), programs: { node: 'bin/node' } };
    case 'postgres':
      return { name: postgresPackage(machine), programs: POSTGRES_PROGRAMS };
    case 'bun':
      return { name: bunPackage(machine), programs: { bun: 'bin/bun', bunx: 'bin/bun' } };
    case 'pnpm': {
      const binary = semver.major(version) >= 12;
      if (!binary) return { name: 'pnpm', programs: null };
      return { name: `@pnpm/exe.${machine.platform}-${machine.arch}`, programs: { pnpm: 'pnpm', pn: 'pnpm' } };
    }
    case 'yarn':
      return { name: semver.major(version) >= 2 ? MODERN_YARN : 'yarn', programs: null };
    case 'npm':
      return { name: 'npm', programs: null };
  }
}

const MODERN_YARN = '@yarnpkg/cli-dist';

/** The packages whose versions are the versions of a tool. */
export function listedIn(name: PackagedName, machine: Machine): string[] {
  if (name === 'node') return [nodePackage(machine)];
  if (name === 'postgres') return [postgresPackage(machine)];
  if (name === 'bun') return [bunPackage(machine)];
  if (name === 'deno') return [denoPackage(machine)];
  if (name === 'mise') return [misePackage(machine)];
  return name === 'yarn' ? ['yarn', MODERN_YARN] : [name];
}

const POSTGRES_PROGRAMS = { postgres: 'native/bin/postgres', initdb: 'native/bin/initdb' };

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

/** The name under which an installed tool is kept: `node-22.1.0`. */
export function installedName({ name, version }: ToolVersion): string {
  return `${name}-${version}`;
}

const INSTALLED = new RegExp(
  `^(node|npm|pnpm|yarn|bun|postgres|mise|${Object.keys(LANGUAGE_TOOLS).join('|')})-(\\d.*)$`,
);

/** The tool of an `installedName`; null for any other text. */
export function parseInstalledName(text: string): ToolVersion | null {
  const [, name, version] = INSTALLED.exec(text) ?? [];
  if (name === undefined || version === undefined || semver.valid(version) !== version) return null;
  return { name: name as ToolName, version };
}

/** Names of tools in messages. */
export function shownName(name: ToolName): string {
  if (isLanguage(name)) return languageTool(name).shown;
  if (name === 'postgres') return 'PostgreSQL';
  return name === 'node' ? 'Node.js' : name;
}

/** Throws the `BuildError` for a version that the registry does not have. */
export function noSuchVersion({ name, version }: ToolVersion, source: string, newest: string | null): never {
  const known = newest === null ? '' : `; the newest is ${newest}`;
  throw new BuildError(
    `${source} asks for ${shownName(name)} ${version}, which the package registry does not have${known}. ` +
      'Name a version that exists.',
  );
}
