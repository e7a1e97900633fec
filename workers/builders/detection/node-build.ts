import { semver } from '../files/lazy-packages.js';
import type { ManagerName } from '../toolchains/version-wish.js';
import { type Application, dependsOn, majorOf, type Start } from './application.js';
import { hasServer, onlyPages } from './choose-framework.js';
import type { FrameworkRow } from './framework-row.js';
import { programsOf } from './script-words.js';
import { RUNNERS } from './start-scripts.js';

/** Names of build scripts, in order of preference. Other hosting platforms run some of these scripts. */
const BUILD_SCRIPTS = 'build heroku-postbuild vercel-build build:prod build:production build:all generate'.split(' ');
/** Scripts that build pages in a project that has only pages, and start a server in other projects. */
export const FINAL_SCRIPTS = ['prod', 'production'];

/** Returns the command that builds a project; null if it needs no build. */
export function buildOf(app: Application, row: FrameworkRow | undefined, run: string): string | null {
  if (app.nx !== null && app.manifest.scripts.build === undefined) return `nx run ${app.nx.name}:build`;
  const instead = row?.buildInstead?.(app) ?? null;
  if (instead !== null) return instead;
  const names = onlyPages(app, row) && !hasServer(app) ? [...BUILD_SCRIPTS, ...FINAL_SCRIPTS] : BUILD_SCRIPTS;
  const script = names.find((name) => app.manifest.scripts[name] !== undefined);
  const own = (typeof row?.build === 'function' ? row.build(app) : row?.build) ?? null;
  if (script === undefined) return own;
  return `${run} ${(own === null ? null : pagesScript(app, own, script)) ?? script}`;
}

/** Programs that the build script of a library calls. None of them builds pages. */
const PACKAGERS = new Set(
  `tsc tsup tsdown rollup unbuild babel microbundle bunchee lerna prettier eslint rimraf npm pnpm yarn bun`.split(
    /\s+/,
  ),
);

/** Returns the script that builds pages with `command` if `script` only packages a library; otherwise null. */
function pagesScript(app: Application, command: string, script: string): string | null {
  const { scripts } = app.manifest;
  const [tool = '', ...rest] = command.split(' ');
  const called = reachedFrom(scripts, [script]).flatMap((name) => programsOf(scripts[name] ?? ''));
  if (
    called.includes(tool) ||
    !called.every((name) => PACKAGERS.has(name)) ||
    called.every((name) => RUNNERS.has(name))
  )
    return null;
  const calls = (text: string) => programsOf(text).includes(tool) && text.includes(rest[0] ?? '');
  return Object.keys(scripts).find((name) => /(^|:)build(:|$)/.test(name) && calls(scripts[name] ?? '')) ?? null;
}

/** Package → the first major version whose webpack works with the OpenSSL of Node 17 and later. */
const WITH_OLD_WEBPACK = {
  'react-scripts': 5,
  '@vue/cli-service': 5,
  webpack: 5,
  nuxt: 3,
  gatsby: 4,
  '@angular/cli': 12,
};

/**
 * Returns variables that let webpack 4 use its old hash function with OpenSSL 3; {} if not needed. Node.js before 17
 * would refuse `--openssl-legacy-provider`.
 */
export function legacyOpenssl({ manifest }: Application, node: string | null): Record<string, string> {
  if (node !== null && !semver().intersects(node, '>=17')) return {};
  const isOld = Object.entries(WITH_OLD_WEBPACK).some(([name, fixed]) => {
    const major = majorOf(manifest.dependencies[name]);
    return major !== null && major < fixed;
  });
  return isOld ? { NODE_OPTIONS: '--openssl-legacy-provider' } : {};
}

/** Scripts that an installation, a build or a start always runs. */
const RUN_ALWAYS = 'preinstall install postinstall prepare prebuild build postbuild prestart start'.split(' ');

/** Returns true if Prisma's client must be generated and no script does that already. */
export function generatesClient(app: Application): boolean {
  const hasSchema = ['prisma/schema.prisma', 'schema.prisma'].some(app.files.has);
  if (!hasSchema || !dependsOn(app, 'prisma')) return false;
  const { scripts } = app.manifest;
  const names = reachedFrom(scripts, [...RUN_ALWAYS, ...BUILD_SCRIPTS]);
  return !names.some((name) => /\bprisma (generate|db push)/.test((scripts[name] ?? '').slice(0, 4096)));
}

/** Returns the package managers that `commands` or always-run scripts call, except `own` and npm. */
export function otherManagers(app: Application, commands: readonly string[], own: string): ManagerName[] {
  const { scripts } = app.manifest;
  const texts = [...commands, ...reachedFrom(scripts, RUN_ALWAYS).map((name) => scripts[name] ?? '')];
  const called = new Set(texts.flatMap(programsOf));
  return (['pnpm', 'yarn', 'bun'] as const).filter((name) => name !== own && called.has(name));
}

/** Returns those of the given script names that exist, and the names of scripts that they call. */
function reachedFrom(scripts: Readonly<Record<string, string>>, names: readonly string[]): string[] {
  const reached = new Set(names.filter((name) => scripts[name] !== undefined));
  for (const name of reached) {
    const words = (scripts[name] ?? '').slice(0, 4096).split(/[\s"'&;|]+/);
    for (const word of words) if (Object.hasOwn(scripts, word)) reached.add(word);
  }
  return [...reached];
}

const ENV_FILE = /(?:--env-file(?:=|\s+)|\benv-cmd\s+-f\s+)(?:\.\/)?(\.env[\w.-]{0,40})(?=\s|$|")/g;

/** Returns the `.env` files that scripts read and that are not in the repository. They are usually not committed. */
export function missingEnvFiles({ manifest, files }: Application): string[] {
  const names = ['start', 'build', 'prebuild', 'prestart', 'start:prod'];
  const texts = names.map((name) => (manifest.scripts[name] ?? '').slice(0, 4096)).join('\n');
  const found = [...texts.matchAll(ENV_FILE)].flatMap(([, file]) => (file === undefined ? [] : [file]));
  return [...new Set(found)].filter((file) => !files.has(file)).slice(0, 5);
}

/** Returns the command that compiles what `starts[0]` needs; null if that exists or cannot be compiled. */
export function compilation(app: Application, starts: readonly Start[], run: string): string | null {
  const needs = starts[0]?.needs ?? null;
  if (needs === null || exists(app, needs) || !app.files.has('tsconfig.json')) return null;
  const script = ['compile', 'tsc', 'build:ts', 'build:server', 'transpile'].find(
    (name) => app.manifest.scripts[name] !== undefined,
  );
  if (script !== undefined) return `${run} ${script}`;
  return dependsOn(app, 'typescript') ? 'tsc' : null;
}

/** Returns true if a JavaScript file exists. `path` may lack its extension, or name the folder of an index.js. */
export function exists({ files }: Pick<Application, 'files'>, path: string): boolean {
  const name = path.replace(/^\.\//, '').replace(/\/$/, '');
  return ['', '.js', '.cjs', '.mjs', '/index.js', '/index.cjs', '/index.mjs'].some((end) => files.has(name + end));
}
