import { BuildError } from '../../failures/explained.js';
import { semver } from '../files/lazy-semver.js';
import type { ProjectFiles } from '../files/project-files.js';
import { type LanguageName, languageTool } from './language-tools.js';
import type { LanguageWish, VersionWish } from './version-wish.js';

/** A text that names a version, and where it stands, for messages: `.python-version`. */
export interface NamedVersion {
  text: string;
  source: string;
  /** True if the host's own version will do where no other can be had: the file names a minimum that compilers do not insist on. */
  optional?: boolean;
  /** True if the lowest major version that satisfies is installed where the host's own does not: the file names a minimum. */
  lowest?: boolean;
}

const MAX_TEXT_LENGTH = 200;

/**
 * What a project says about the version of a language: the first of `own` that is not null, else `.tool-versions` or `mise.toml`. Throws
 * `BuildError` if the text names no version.
 */
export function languageWish(
  files: ProjectFiles,
  name: LanguageName,
  own: readonly (NamedVersion | null)[] = [],
): LanguageWish {
  const { names } = languageTool(name);
  const named =
    own.find((version) => version !== null) ?? names.map((tool) => generalVersion(files, tool)).find(Boolean);
  return { name, wish: named == null ? null : wishOf(named, languageTool(name).shown) };
}

/** The first line of a file that is nothing but a version: `.ruby-version`. Null if there is none. */
export function versionFile(files: ProjectFiles, source: string): NamedVersion | null {
  const text = files
    .text(source)
    ?.split('\n')
    .map((line) => line.trim())
    .find((line) => line !== '' && !line.startsWith('#'));
  return text === undefined ? null : { text, source };
}

/** What the first group of a pattern finds in a file's text; null if it finds nothing. */
export function versionIn(files: ProjectFiles, file: string, pattern: RegExp, source = file): NamedVersion | null {
  const text = pattern.exec(files.text(file) ?? '')?.[1]?.trim();
  return text === undefined || text === '' ? null : { text, source };
}

function generalVersion(files: ProjectFiles, tool: string): NamedVersion | null {
  const line = new RegExp(`^[ \\t]*${tool}[ \\t]+(\\S+)`, 'm');
  const entry = new RegExp(`^[ \\t]*"?${tool}"?[ \\t]*=[ \\t]*\\[?[ \\t]*"([^"\\n]{1,100})"`, 'm');
  return (
    versionIn(files, '.tool-versions', line) ??
    versionIn(files, 'mise.toml', entry) ??
    versionIn(files, '.mise.toml', entry)
  );
}

function wishOf({ text, source, optional, lowest }: NamedVersion, shown: string): VersionWish | null {
  if (/^(system|latest|stable|\*)$/.test(text)) return null;
  const range = rangeOf(text);
  if (text.length <= MAX_TEXT_LENGTH && range !== null)
    return { range, source, ...(optional === true ? { optional } : {}), ...(lowest === true ? { lowest } : {}) };
  throw new BuildError(
    `${source} asks for ${shown} "${text.slice(0, 60)}", which is no version. Write a version such as 3.1 or 3.1.4, or remove the line.`,
  );
}

/**
 * The range of semver for what package managers of other languages write: `~> 3.1`, `>=3.9,<4`, `^8.1|^8.2`, `python-3.11.4`, `==3.11.*`.
 * An exact version stands for all later ones of its minor version, which only mend faults. Null if the text names no version.
 */
export function rangeOf(text: string): string | null {
  const plain = text
    .trim()
    .replace(/^(python|ruby|go|temurin|openjdk|corretto|zulu)-?(?=\d)/, '')
    .replace(/\.\*/g, '.x')
    .replace(/~>\s*(\d+)\.(\d+)(?!\.)/g, '>=$1.$2 <$1.x.x')
    .replace(/<(\d+)\.x\.x/g, (_, major: string) => `<${Number(major) + 1}`)
    .replace(/~>\s*(?=\d)/g, '~')
    .replace(/~=\s*(\d+)\.(\d+)(?!\.)/g, '^$1.$2')
    .replace(/~=\s*(?=\d)/g, '~')
    .replace(/={2,3}/g, '=')
    .replace(/!=[^\s,]+/g, '')
    .replace(/\|{1,2}/g, '||')
    .replace(/,/g, ' ')
    .trim();
  const exact = /^=?\s*v?(\d+)\.(\d+)\.(\d+)(?:[-+.].*)?$/.exec(plain);
  if (exact !== null) return `~${exact[1]}.${exact[2]}.${exact[3]}`;
  return semver().validRange(plain) === null ? null : plain;
}
