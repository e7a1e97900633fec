import { semver } from '../files/lazy-packages.js';
import type { ProjectFiles } from '../files/project-files.js';
import { LANGUAGE_TOOLS, type LanguageName } from './language-tools.js';
import { generalVersion, type NamedVersion } from './version-files.js';
import { type LanguageWish, noVersion, type VersionWish } from './version-wish.js';

const MAX_LENGTH = 200;

/** Returns the first version of `own`, otherwise that of `.tool-versions` or `mise.toml`. Throws `BuildError`. */
export function languageWish(
  files: ProjectFiles,
  name: LanguageName,
  own: readonly (NamedVersion | null)[] = [],
): LanguageWish {
  const { names, shown } = LANGUAGE_TOOLS[name];
  const named = own.find((version) => version !== null) ?? generalVersion(files, names);
  return { name, wish: named === null ? null : wishOf(named, shown) };
}

function wishOf({ text, source, optional, lowest }: NamedVersion, shown: string): VersionWish | null {
  if (/^(system|latest|stable|\*)$/.test(text)) return null;
  const range = rangeOf(text);
  if (text.length <= MAX_LENGTH && range !== null)
    return { range, source, ...(optional === true ? { optional } : {}), ...(lowest === true ? { lowest } : {}) };
  throw noVersion(text, source, shown, '3.1 or 3.1.4');
}

/** Converts a range such as `~> 3.1` or `==3.11.*` to semver. An exact version also allows later patches. */
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
