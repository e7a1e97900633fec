import { DEMANDING_PACKAGES } from '../detection/frameworks.js';
import { isText, recordOf } from '../files/json-values.js';
import { semver } from '../files/lazy-packages.js';
import type { LockedEngines } from './locked-engines.js';
import { intersection, type VersionWish } from './version-wish.js';

/**
 * Package → `fixed` and `node`. `fixed` is the package's first major version that runs on every newer Node.js. `node`
 * is the newest major version of Node.js on which older versions of the package reliably run. For example, webpack 4
 * uses a hash function that OpenSSL 3 lacks, and packages of that time import files that other packages no longer
 * export.
 */
const OLD: Readonly<Record<string, readonly [fixed: number, node: number]>> = {
  'node-sass': [5, 14],
  'react-scripts': [5, 16],
  '@vue/cli-service': [5, 16],
  '@angular/cli': [12, 16],
  nuxt: [3, 16],
  next: [11, 16],
  gatsby: [4, 16],
  webpack: [5, 16],
  'parcel-bundler': [2, 16],
};
/**
 * The minimum major version of the platform's own Node.js. A package that requires a lower minimum runs on it, so the
 * package does not affect the choice of a version.
 */
const OWN_MAJOR = 20;

/**
 * Returns the Node.js version that a project's packages need, for a project that requests none. Returns null if any
 * version will do. `dependencies` are the dependencies in package.json, `engines` their requirements in the lock file.
 */
export function impliedNode(
  dependencies: Readonly<Record<string, unknown>>,
  engines: LockedEngines,
): VersionWish | null {
  const needed = mostDemanding(Object.keys(dependencies), engines);
  const old = oldest(dependencies);
  if (old !== null && (needed === null || needed.least.major <= old.node)) {
    return { range: `${old.node}.x`, source: `${old.name} in package.json`, optional: true };
  }
  if (needed === null || needed.least.major < OWN_MAJOR) return null;
  return { range: `>=${needed.least.version}`, source: needed.name, lowest: true };
}

const RUNS_TYPESCRIPT = /(?:^|[\s;&|])node\s+((?:-[\w=:./-]+\s+)*)[\w./-]+\.[cm]?ts(?=$|[\s;&|])/;

/** Returns a Node.js version that runs TypeScript directly. Returns null if the start script needs none. */
export function scriptNode(scripts: unknown): VersionWish | null {
  const all = recordOf(scripts);
  const name = isText(all.start) ? 'start' : 'dev';
  const found = RUNS_TYPESCRIPT.exec(isText(all[name]) ? all[name].slice(0, 4096) : '');
  if (found === null || /--(import|require|loader|experimental-loader)\b|-r\b/.test(found[1] ?? '')) return null;
  const range = /--experimental-(strip|transform)-types\b/.test(found[1] ?? '') ? '>=22.6.0' : '>=22.18.0';
  return { range, source: `scripts.${name} in package.json`, lowest: true };
}

/** Returns the versions that both requests allow. If no version satisfies both, returns the first request. */
export function bothWishes(first: VersionWish | null, second: VersionWish | null): VersionWish | null {
  if (first === null || second === null) return first ?? second;
  const range = intersection(first.range, second.range);
  return range === null ? first : { ...first, range };
}

/**
 * Returns the versions of Node.js on which the project's most demanding framework runs. Returns null if none is known.
 * Includes versions above the framework's upper bound, because upper bounds are rarely intended.
 */
export function frameworkNode(
  dependencies: Readonly<Record<string, unknown>>,
  engines: LockedEngines,
): VersionWish | null {
  const names = Object.keys(dependencies).filter((name) => DEMANDING_PACKAGES.has(name));
  const found = mostDemanding(names, engines);
  if (found === null || found.least.major === 0) return null;
  const parts = new (semver().Range)(found.range).range.split('||').map((part) => semver().minVersion(part));
  const newer = `>=${semver().rsort(parts.filter((part) => part !== null))[0]?.version}`;
  const isOpen = semver().subset(newer, found.range);
  return { range: isOpen ? found.range : `${found.range} || ${newer}`, source: found.name };
}

/**
 * Decides the version of Node.js. `named` is what the project asks for; `implied` and `framework` are what its packages
 * need. `named` takes precedence, because package managers only warn if a package needs another version. There are two
 * exceptions. (1) A range in `engines` is often only a minimum. If `implied` comes from a package in `OLD`, which fails
 * on newer versions, only versions in both ranges are allowed, if there are any. (2) A framework fails on versions that
 * it does not support. Only versions in both ranges are allowed; if there are none, `framework` replaces `named`.
 * Without `named`, returns `implied`.
 */
export function wishedNode(
  named: VersionWish | null,
  implied: VersionWish | null,
  framework: VersionWish | null = null,
): VersionWish | null {
  if (named === null) return implied;
  if (implied?.optional === true && named.source.startsWith('engines')) {
    const both = intersection(named.range, implied.range);
    return both === null ? named : { ...implied, range: both, source: `${named.source} and ${implied.source}` };
  }
  if (framework === null || semver().subset(named.range, framework.range)) return named;
  const both = intersection(named.range, framework.range);
  if (both !== null) return { ...named, range: both, source: `${named.source} and ${framework.source}` };
  return { ...framework, overrules: `${named.source} asks for Node.js ${named.range}` };
}

function oldest(dependencies: Readonly<Record<string, unknown>>): { name: string; node: number } | null {
  const found = Object.entries(OLD).flatMap(([name, [fixed, node]]) => {
    const range = dependencies[name];
    return typeof range === 'string' && isBelow(range, fixed) ? [{ name, node }] : [];
  });
  return found.sort((a, b) => a.node - b.node)[0] ?? null;
}

/**
 * Returns true if a range selects a version below this major version. Returns false for a range without an upper bound,
 * such as `>=4`, because it selects the newest version.
 */
function isBelow(range: string, major: number): boolean {
  if (range.length > 200 || !/^\s*[~^=v]?\s*\d/.test(range) || semver().validRange(range) === null) return false;
  const least = semver().minVersion(range);
  return least !== null && least.major < major;
}

/** Returns the package with the highest minimum version of Node.js. Ignores upper bounds, which are rarely intended. */
function mostDemanding(names: readonly string[], engines: LockedEngines) {
  const found = names.flatMap((name) => {
    const range = Object.hasOwn(engines, name) ? engines[name] : undefined;
    const valid = range === undefined || range.length > 200 ? null : semver().validRange(range);
    const least = valid === null ? null : semver().minVersion(valid);
    return range === undefined || least === null ? [] : [{ name, least, range }];
  });
  return found.sort((a, b) => semver().rcompare(a.least, b.least))[0] ?? null;
}
