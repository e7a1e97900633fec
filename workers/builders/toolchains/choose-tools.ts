import semver from 'semver';
import { BuildError } from '../../failures/explained-errors.js';
import { noSuchVersion, type PackagedName, shownName, type ToolName, type ToolVersion } from './tool-packages.js';
import { intersection, type ManagerName, type ToolWishes, type VersionWish } from './version-wish.js';

/** The tools that need no download: they are on this host, or in a container's base image. */
export interface OwnTools {
  /** The version of Node.js, or a range if only the beginning of the version is known. */
  node: string | null;
  /** The version of npm and the versions of Node that it runs on; null if unknown. */
  npm: { version: string; node: string } | null;
}

/** A tool that has to be installed, and the file or field that named its version. */
export interface ChosenTool extends ToolVersion<PackagedName> {
  source: string;
}

/** Fetches the versions of a tool that can be installed, in any order. */
export type VersionsOf = (name: PackagedName) => Promise<readonly string[]>;

/** Versions of package managers that do not run on every Node.js in use, and the Node.js versions that they need. */
const RUNS_ON: readonly (readonly [ManagerName, string, string])[] = [
  ['pnpm', '11.x', '>=22.13'],
  ['pnpm', '>=9 <11', '>=18.12'],
  ['pnpm', '8.x', '>=16.14'],
  ['yarn', '>=4', '>=18.12'],
];

/** Chooses exact versions of the tools that have to be installed. Throws `BuildError` if no version matches. */
export async function chooseTools(wishes: ToolWishes, own: OwnTools, versionsOf: VersionsOf): Promise<ChosenTool[]> {
  if (wishes.node === null && wishes.manager === null) return [];
  const manager = wishes.manager === null ? null : await chooseManager(wishes.manager, own, versionsOf);
  const node = await chooseNode(nodeFor(wishes.node, manager), own, versionsOf);
  const npm = node !== null && wishes.manager !== null && manager === null ? await npmFor(node, own, versionsOf) : null;
  const also = await Promise.all((wishes.also ?? []).map((name) => choose(name, USUAL[name], versionsOf)));
  return [node, manager, npm, ...also].filter((tool) => tool !== null);
}

/** Used for package managers that scripts call without naming a version. */
const USUAL = Object.fromEntries(
  Object.entries({ npm: '10.x', pnpm: '9.x', yarn: '1.x', bun: '1.x' }).map(([name, range]) => [
    name,
    { range, source: 'a script' },
  ]),
) as Readonly<Record<ManagerName, VersionWish>>;

async function chooseNode(
  wish: VersionWish | null,
  { node }: OwnTools,
  versionsOf: VersionsOf,
): Promise<ChosenTool | null> {
  if (wish === null) return null;
  if (node !== null && wish.newest !== true && semver.subset(node, wish.range)) return null;
  return choose('node', wish, versionsOf);
}

/**
 * Restricts a request to the versions of Node.js on which the package manager runs. If no version satisfies both, an
 * optional request is ignored, and any other request stays as it is.
 */
function nodeFor(wish: VersionWish | null, manager: ChosenTool | null): VersionWish | null {
  const needed = RUNS_ON.find(
    ([name, versions]) => manager?.name === name && semver.satisfies(manager.version, versions),
  )?.[2];
  if (manager === null || needed === undefined) return wish;
  const need: VersionWish = { range: needed, source: `${manager.name} ${manager.version}` };
  if (wish === null) return need;
  const both = intersection(wish.range, needed);
  if (both === null) return wish.optional === true ? need : wish;
  return { ...wish, range: both };
}

async function chooseManager(
  { name, wish }: NonNullable<ToolWishes['manager']>,
  own: OwnTools,
  versionsOf: VersionsOf,
): Promise<ChosenTool | null> {
  if (wish === null) return null;
  if (name === 'npm' && own.npm !== null && wish.newest !== true && semver.satisfies(own.npm.version, wish.range)) {
    return null;
  }
  try {
    return await choose(name, wish, versionsOf);
  } catch (error) {
    if (wish.optional === true && error instanceof BuildError) return null;
    throw error;
  }
}

/** The npm that was shipped with versions of Node.js below `before`. `-0` is the first prerelease of a version. */
const SHIPPED_NPM: readonly (readonly [before: string, npm: string])[] = [
  ['4.7.0', '3.x'],
  ['6.0.0-0', '5.x'],
  ['14.0.0-0', '6.x'],
  ['18.0.0-0', '8.x'],
  ['24.0.0-0', '10.x'],
];

/** Returns the npm that was shipped with a version of Node.js; null if the platform's own npm runs on it. */
async function npmFor({ version }: ChosenTool, { npm }: OwnTools, versionsOf: VersionsOf): Promise<ChosenTool | null> {
  if (npm !== null && semver.satisfies(version, npm.node)) return null;
  const [, range] = SHIPPED_NPM.find(([before]) => semver.lt(version, before)) ?? ['', '11.x'];
  return choose('npm', { range, source: `Node.js ${version}` }, versionsOf);
}

async function choose(name: PackagedName, wish: VersionWish, versionsOf: VersionsOf): Promise<ChosenTool> {
  const { range, source } = wish;
  const exact = semver.valid(range);
  // An exact version is not looked up in the registry, because this version of the tool may already be installed.
  if (exact !== null) return { name, version: exact, source };
  const versions = await versionsOf(name);
  const version = newestVersion(name, versions, wish);
  if (version !== null) return { name, version, source };
  const newest = newestOf(versions);
  if (/^[\d.x]+$/.test(range)) return noSuchVersion({ name, version: range }, source, newest);
  throw new BuildError(
    `${source} asks for ${shownName(name)} "${range}", and no version in the package registry satisfies that` +
      `${newest === null ? '' : `; the newest is ${newest}`}. Change the range so that it contains a version that exists.`,
  );
}

/** Returns the version to install for a range; null if none satisfies it. */
export function newestVersion(name: ToolName, versions: readonly string[], wish: VersionWish): string | null {
  const fitting = semver.rsort(versions.filter((version) => semver.satisfies(version, wish.range)));
  if (wish.newest === true) return fitting[0] ?? null;
  // Odd versions of Node.js get no long-term support, and native modules have no binaries for them.
  const supported = fitting.filter((version) => name !== 'node' || semver.major(version) % 2 === 0);
  const least = wish.lowest === true ? supported.at(-1) : undefined;
  return (
    supported.find((version) => least === undefined || semver.major(version) === semver.major(least)) ??
    fitting[0] ??
    null
  );
}

/** Returns the newest version that is not a prerelease; null if there is none. */
export function newestOf(versions: readonly string[]): string | null {
  return semver.rsort(versions.filter((version) => semver.prerelease(version) === null))[0] ?? null;
}
