import semver from 'semver';
import { quote } from '../../core/quote.js';
import type { VersionWish } from '../toolchains/version-wish.js';

/** A second attempt at an installation, after the first attempt failed for a known reason. */
export interface Recovery {
  command: string;
  /** True if native modules are to be compiled with the headers of this host's Node.js. */
  ownHeaders: boolean;
  /** For the log: what happened, and how to make the first attempt succeed the next time. */
  note: string;
}

interface Known {
  shows: RegExp;
  instead: (command: string) => string | null;
  ownHeaders?: true;
  note: string;
}

const ADVICE = 'run the installation of your package manager on your machine, and commit the lock file that it writes';

/** Matches errors of commands that use git: a build has only the files of its commit, and no history. */
const ASKS_GIT = /fatal: not (?:in )?a git (?:repository|directory)/;
const EMPTY_HISTORY =
  'git init -q && git -c user.name=build -c user.email=build@localhost commit -q --allow-empty -m "without history"';
const GIT_NOTE =
  'A command asks git about the repository, and a build has only its files: runs again with a history of one empty commit. ' +
  'Let the command do without git if there is no folder .git';

const INSTALLATIONS: readonly Known[] = [
  {
    shows: ASKS_GIT,
    instead: (command) => (command.startsWith('git init') ? null : `${EMPTY_HISTORY} && ${command}`),
    note: GIT_NOTE,
  },
  {
    shows: /ERESOLVE|unable to resolve dependency tree/,
    instead: (command) => (/^npm \S+$/.test(command) ? `${command} --legacy-peer-deps` : null),
    note:
      'Two dependencies ask for different versions of a third one: installs again without regard to that. Correct the ' +
      'versions in package.json, or commit an .npmrc with the line "legacy-peer-deps=true"',
  },
  {
    shows:
      /can only install packages when your package\.json and|ERR_PNPM_(?:OUTDATED_LOCKFILE|LOCKFILE_CONFIG_MISMATCH|LOCKFILE_BREAKING_CHANGE|BROKEN_LOCKFILE)|lockfile needs to be updated|YN0028|lockfile had changes, but lockfile is frozen/,
    instead: (command) => {
      const other = command
        .replace(/^npm ci/, 'npm install')
        .replace(/^(pnpm install) --frozen-lockfile/, '$1 --no-frozen-lockfile')
        .replace(/^(yarn install|bun install) --frozen-lockfile/, '$1')
        .replace(/^(yarn install) --immutable/, '$1 --no-immutable');
      return other === command ? null : other;
    },
    note: `The lock file does not match package.json: installs what package.json says; ${ADVICE}`,
  },
  {
    // node-gyp prints this if it cannot fetch the headers of Node.js.
    shows: /most likely not a problem with node-gyp or the package itself/,
    instead: (command) => command,
    ownHeaders: true,
    note:
      'A native module has to be compiled, and the headers of Node.js could not be fetched: installs again with those of ' +
      'this host. A version of the module with finished programs in the package registry needs neither',
  },
];

/** Matches errors about packages for this platform, which a lock file lacks if npm wrote it on another platform. */
const LEFT_OUT =
  /npm has a bug related to optional dependencies|Cannot find native binding|Cannot find module.{0,100}[-.]linux-|(?:lightningcss|tailwindcss-oxide|swc|esbuild)\S{0,40}linux\S{0,40}.{0,60}(?:not found|Cannot find)|The package "@esbuild\/linux/i;

/** Returns another way to install after `command` failed with this output; null if none is known. */
export function installRecovery(command: string, output: readonly string[]): Recovery | null {
  for (const { shows, instead, note, ownHeaders = false } of INSTALLATIONS) {
    // Skips warnings, because npm warns about conflicts that it has resolved.
    if (!output.some((line) => !/^npm warn\b/i.test(line) && shows.test(line.slice(0, 400)))) continue;
    const other = instead(command);
    if (other !== null) return { command: other, note, ownHeaders };
  }
  return null;
}

/**
 * Returns a shell command that hides the packages in these folders from an installation. Package managers skip a folder
 * without a package.json. Their own filters are not used, because some of them first read all packages.
 */
export function hidePackages(folders: readonly string[]): string {
  const aside = '.package.json.aside';
  const move = (from: string, to: string) =>
    folders
      .map((folder) => `mv -f ${quote(`./${folder}/${from}`)} ${quote(`./${folder}/${to}`)} 2>/dev/null`)
      .join('; ');
  return `put_back() { ${move(aside, 'package.json')}; }; trap put_back EXIT; ${move('package.json', aside)}; `;
}

/** Matches messages that name the needed Node.js version, which is the first capturing group. */
const WANTS_NODE: readonly RegExp[] = [
  /Expected version:? "?([^"]{1,100}?)"?(?:\. Got|$)/,
  /Required: \{"node":"([^"]{1,100})"/,
  /Node\.js version "?(>=?\s?\d[\d.]{0,12})"? is required/,
];
/** Matches compiler errors of native modules that were written for an older Node.js. */
const OLD_NATIVE =
  /no (?:matching function|member named)\b.{0,200}\bv8::|['‘]class v8::|\bnan(?:_\w{1,40})?\.h:\d+|#error "?C\+\+17 or later required/;

/** Returns the Node.js version to use after an installation failed with this output; null if unknown. */
export function nodeRecovery(output: readonly string[]): VersionWish | null {
  for (const line of output) {
    const short = line.slice(0, 400);
    const range = WANTS_NODE.map((expression) => expression.exec(short)?.[1]?.trim()).find(
      (text) => text !== undefined,
    );
    if (range !== undefined && semver.validRange(range) !== null)
      return { range, source: 'The installation', lowest: true };
  }
  const isOld =
    output.some((line) => /\bgyp\b/.test(line.slice(0, 400))) &&
    output.some((line) => OLD_NATIVE.test(line.slice(0, 400)));
  return isOld ? { range: '16.x', source: 'A native module' } : null;
}

/** What to change before a failed build command runs again. */
export interface BuildRecovery {
  /** A command that runs first, such as an installation; null if none is needed. */
  install: string | null;
  environment: Record<string, string>;
  note: string;
}

/** Returns what may help after a build command failed with this output; null if nothing is known. */
export function buildRecovery(install: readonly string[], output: readonly string[]): BuildRecovery | null {
  const shows = (expression: RegExp) => output.some((line) => expression.test(line.slice(0, 400)));
  if (shows(/Treating warnings as errors because process\.env\.CI/)) {
    const note =
      'The build tool takes warnings for errors because CI is set: builds again without it. Correct the warnings, or set the ' +
      'variable CI to false';
    return { install: null, environment: { CI: 'false' }, note };
  }
  if (shows(ASKS_GIT)) return { install: EMPTY_HISTORY, environment: {}, note: GIT_NOTE };
  if (!install.includes('npm ci') || !shows(LEFT_OUT)) return null;
  return {
    install: 'rm -rf node_modules package-lock.json && npm install',
    environment: {},
    note: `The lock file lacks packages for this platform: installs without it, and builds again; ${ADVICE}`,
  };
}
