import { BuildError } from '../../failures/explained-errors.js';
import { semver } from '../files/lazy-packages.js';
import type { LanguageName } from './language-tools.js';

export type ManagerName = 'npm' | 'pnpm' | 'yarn' | 'bun';

/** The version of a tool that a project asks for. */
export interface VersionWish {
  /** A semver range, or an exact version. */
  range: string;
  /** The file or field that names the version, for messages: `.nvmrc`. */
  source: string;
  /** True if the project asks for the newest version (`latest`). Otherwise an older version in the range suffices. */
  newest?: boolean;
  /** True if the range only states a preference. If no version in it can be used, another version is used. */
  optional?: boolean;
  /**
   * True if the lowest major version in the range is chosen: for `>=17`, the newest 17.x. Otherwise the newest major
   * version in the range is chosen.
   */
  lowest?: boolean;
  /** The project's own request, if a framework needs another version: `.nvmrc asks for Node.js 18`. For messages. */
  overrules?: string;
}

/** The tools that a project requests, before versions are chosen. */
export interface ToolWishes {
  /** The wanted version of Node.js; null if the project names none. */
  node: VersionWish | null;
  /** The package manager and its wanted version; null for projects without a package.json. */
  manager: { name: ManagerName; wish: VersionWish | null } | null;
  /** Other package managers that the project's scripts call. */
  also?: readonly ManagerName[];
  /** The languages besides Node.js that the project needs. */
  languages?: readonly LanguageWish[];
}

export interface LanguageWish {
  name: LanguageName;
  wish: VersionWish | null;
}

export const NO_WISHES: ToolWishes = { node: null, manager: null };

/** Returns the wanted versions of a project that uses these languages and not Node.js. */
export function wishesFor(...languages: LanguageWish[]): ToolWishes {
  return { ...NO_WISHES, languages };
}

/** Maximum length of a text that names a version. It also limits the time that semver's regular expressions take. */
const MAX_LENGTH = 200;
const NEWEST = /^(node|latest|current|stable)$/i;
const ANY = /^(lts(\/\*)?|--lts|system|\*|x|default)$/i;
/** Code names of Node.js's long-term support lines → major version. */
const CODENAMES: Readonly<Record<string, number>> = {
  argon: 4,
  boron: 6,
  carbon: 8,
  dubnium: 10,
  erbium: 12,
  fermium: 14,
  gallium: 16,
  hydrogen: 18,
  iron: 20,
  jod: 22,
  krypton: 24,
};

/** Parses a version in a file or field: `22`, `v18.17`, `>=20 <23`, `lts/iron`, `latest`. Throws `BuildError`. */
export function versionWish(given: string, source: string, tool: string): VersionWish {
  const text = given.trim();
  if (NEWEST.test(text)) return { range: '*', source, newest: true };
  if (ANY.test(text)) return { range: '*', source };
  const codename = /^lts\/([a-z]+)$/i.exec(text)?.[1]?.toLowerCase();
  if (codename !== undefined && CODENAMES[codename] !== undefined) return { range: `${CODENAMES[codename]}.x`, source };
  const bare = text.replace(/^(node[-/@]|latest:|v(?=\d))/i, '');
  if (text.length <= MAX_LENGTH && semver().validRange(bare) !== null) return { range: bare, source };
  throw noVersion(text, source, tool, EXAMPLES[tool] ?? '1.2.3');
}

/** Returns the error for a text that names no version. `shown` is the tool's name in messages. */
export function noVersion(text: string, source: string, shown: string, example: string): BuildError {
  const short = text.length > 60 ? `${text.slice(0, 60)}…` : text;
  return new BuildError(
    `${source} asks for ${shown} "${short}", which is no version. Write a version such as ${example}, or remove the line.`,
  );
}

const EXAMPLES: Readonly<Record<string, string>> = {
  'Node.js': '22 or >=20',
  npm: '10.9.0',
  pnpm: '9.15.0',
  yarn: '4.5.0',
  bun: '1.2.0',
};

/** Returns the versions that both ranges contain; null if there are none. */
export function intersection(one: string, other: string): string | null {
  if (!semver().intersects(one, other)) return null;
  const parts = (range: string) => new (semver().Range)(range).range.split('||').map((part) => part.trim());
  const joined = parts(one).flatMap((a) => parts(other).map((b) => `${a} ${b}`.trim()));
  const possible = joined.filter((part) => {
    try {
      return semver().minVersion(part || '*') !== null;
    } catch {
      return false;
    }
  });
  return possible.length === 0 ? null : possible.map((part) => part || '*').join(' || ');
}
