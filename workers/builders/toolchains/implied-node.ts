import { DEMANDING_PACKAGES } from '../detection/frameworks.js';
import { isText, recordOf } from '../files/json-values.js';
import { semver } from '../files/lazy-packages.js';
import type { LockedEngines } from './locked-engines.js';
import { intersection, type VersionWish } from './version-wish.js';

/**
 * Package → `fixed`, the first major version of the package that runs on every newer Node.js, and `node`, the newest
 * major version of Node.js on which older versions of the package run. For example, webpack 4 uses a hash function that
 * OpenSSL 3 lacks.
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
/** Packages that require a lower major version have no influence, because they run on the platform's own Node.js. */
const OWN_MAJOR = 20;

/** Returns the Node.js version that the packages need; null if any will do. `engines` are from the lock file. */
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

/** Returns the Node.js versions that can run a TypeScript file; null if no start script runs one. */
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

/** Returns the Node.js versions for the most demanding framework. Ignores upper bounds, which are rarely intended. */
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
 * Decides the version of Node.js. What the project names takes precedence over what its packages need, because package
 * managers only warn. There are two exceptions. (1) A range in `engines` is often only a minimum, so a package in
 * `OLD`, which fails on newer versions, restricts the range. (2) A framework fails on versions that it does not
 * support, so it restricts `named`, or replaces it if no version satisfies both.
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

/** Returns true if a range selects a version below `major`. A range such as `>=4` selects the newest version. */
function isBelow(range: string, major: number): boolean {
  if (range.length > 200 || !/^\s*[~^=v]?\s*\d/.test(range) || semver().validRange(range) === null) return false;
  const least = semver().minVersion(range);
  return least !== null && least.major < major;
}

/** Returns the package with the highest minimum version of Node.js. */
function mostDemanding(names: readonly string[], engines: LockedEngines) {
  const found = names.flatMap((name) => {
    const range = Object.hasOwn(engines, name) ? engines[name] : undefined;
    const valid = range === undefined || range.length > 200 ? null : semver().validRange(range);
    const least = valid === null ? null : semver().minVersion(valid);
    return range === undefined || least === null ? [] : [{ name, least, range }];
  });
  return found.sort((a, b) => semver().rcompare(a.least, b.least))[0] ?? null;
}
