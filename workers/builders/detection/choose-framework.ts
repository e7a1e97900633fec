import { type Application, dependsOn, type FoundFramework } from './application.js';
import type { FrameworkRow } from './framework-row.js';
import { FRAMEWORKS } from './frameworks.js';
import { programsOf } from './script-words.js';

/** Returns the framework of an application: the first in `FRAMEWORKS` if several are recognised. */
export function chooseFramework(app: Application): FoundFramework | null {
  const ids = Object.keys(FRAMEWORKS);
  const isOne = ({ applies, packages }: FrameworkRow) => dependsOn(app, ...packages) && applies?.(app) !== false;
  const own = Object.entries(FRAMEWORKS).find(([, row]) => isOne(row))?.[0] ?? calledFramework(app);
  const found = app.framework;
  const rank = (id: string) => (ids.includes(id) ? ids.indexOf(id) : ids.length);
  if (own === undefined) return found;
  if (found !== null && rank(found.id) <= rank(own)) return found;
  const row = FRAMEWORKS[own];
  const range = row?.packages.map((name) => app.manifest.dependencies[name]).find((version) => version !== undefined);
  return { id: own, name: row?.name ?? own, version: /\d+(\.\d+){0,2}/.exec((range ?? '').slice(0, 100))?.[0] ?? null };
}

/**
 * Returns the framework whose program a script calls, if no framework was recognized. Often only the root of the
 * workspace lists the framework's package.
 */
function calledFramework({ framework, manifest }: Application): string | undefined {
  if (framework !== null) return undefined;
  const programs = new Set(Object.values(manifest.scripts).flatMap(programsOf));
  const called = (row: FrameworkRow) =>
    row.isLibrary !== true && row.applies === undefined && row.packages.some((name) => programs.has(name));
  return Object.entries(FRAMEWORKS).find(([, row]) => called(row))?.[0];
}

/** Returns the row of a framework in `FRAMEWORKS`; undefined if it has none. */
export function rowOf(framework: FoundFramework | null): FrameworkRow | undefined {
  return framework === null ? undefined : FRAMEWORKS[framework.id];
}

/** Returns true if the framework generates static pages and has no server. */
export function onlyPages(app: Application, row: FrameworkRow | undefined): boolean {
  return row?.publish !== undefined && (row.starts?.(app).length ?? 0) === 0;
}

/** Returns true if the project depends on a server library. */
export function hasServer(app: Application): boolean {
  return Object.values(FRAMEWORKS).some(({ isLibrary, packages }) => isLibrary === true && dependsOn(app, ...packages));
}
