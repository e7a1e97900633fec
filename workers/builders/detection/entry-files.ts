import { type Application, dependsOn, property, type Start, withoutComments } from './application.js';
import { hasServer } from './choose-framework.js';
import { plain, startFile } from './framework-row.js';
import { exists } from './node-build.js';
import { commandUse, fileOf } from './start-scripts.js';

/** Matches files that do not start an application although package.json may name them as `main`. */
const NO_ENTRY =
  /\.(css|s[ac]ss|less|html?|json|md|vue|svelte|[cm]?tsx?)$|(^|\/)(gulpfile|gruntfile|[\w.-]{1,60}\.conf(ig)?)(\.[cm]?js)?$/i;

/** Files that are tried as the entry file if package.json names none. */
export const ENTRY_FILES = [
  ...['server.js', 'index.js', 'app.js', 'main.js', 'server.mjs', 'index.mjs', 'app.mjs', 'server.cjs', 'index.cjs'],
  ...['src/server.js', 'src/index.js', 'src/app.js', 'src/main.js', 'bin/www', 'server/index.js', 'server/server.js'],
];

/** TypeScript files that are tried as the entry file. */
const SOURCE_ENTRIES = ['server', 'index', 'app', 'main'].flatMap((name) => [`src/${name}.ts`, `${name}.ts`]);

interface EntryInput {
  builds: boolean;
  /** True if the build does nothing but compile TypeScript. */
  compiles: boolean;
  /** True if the project's framework generates pages and has no server. */
  buildsPages: boolean;
  run: string;
}

/**
 * Returns ways to start an application. The entry file is `main` of package.json, a file with a usual name, a compiled
 * TypeScript file, or a source file that bun runs. Leaves out files that may be scripts of a page.
 */
export function entriesOf(app: Application, { builds, compiles, buildsPages, run }: EntryInput): Start[] {
  const { files, manifest } = app;
  const { main } = manifest;
  const isPlain = main !== null && /^[\w./@+-]+$/.test(main) && !NO_ENTRY.test(main);
  // Without a server library, a file such as `index.js` may be a script of a page.
  const isPage = files.has('index.html') && !hasServer(app);
  const maybe = (file: string) => {
    if (isPage) return /(^|\/)server(\.[cm]?js)?$/.test(file);
    return !buildsPages || (!/^(\.\/)?src\//.test(file) && exists({ files }, file));
  };
  const found = isPlain && maybe(main) && (exists({ files }, main) || builds) ? [main] : [];
  const entry = ENTRY_FILES.find((file) => files.has(file) && maybe(file));
  if (entry !== undefined && !found.some((file) => exists({ files }, file))) found.push(entry);
  const starts = found.map(startFile);
  if (isPage || buildsPages || starts.some(({ needs }) => exists({ files }, needs))) return starts;
  return [...starts, ...(compiles ? compiledEntries(app) : []), ...sourceEntry(app, run)];
}

/** Returns how to start a source file with bun, which runs TypeScript directly; [] for other package managers. */
function sourceEntry(app: Application, run: string): Start[] {
  if (!run.startsWith('bun')) return [];
  const { main, module } = app.manifest;
  const named = [module, main].filter((file) => file !== null && plain(file) && /\.[cm]?[jt]sx?$/.test(file));
  const file = [...named, ...SOURCE_ENTRIES].find((name) => name !== null && app.files.has(name));
  return file == null ? [] : [{ command: `bun ${file}`, needs: file }];
}

/** Returns how to start without a build: TypeScript by `tsx` or `ts-node`, or else a compiled file. */
export function unbuiltEntries(app: Application): Start[] {
  const runner = ['tsx', 'ts-node'].find((name) => dependsOn(app, name));
  const source = sourceOf(app);
  return runner === undefined || source === null
    ? compiledEntries(app)
    : [{ command: `${runner} ${source}`, needs: source }];
}

function sourceOf({ files, manifest: { scripts, main } }: Application): string | null {
  const texts = ['dev', 'start:dev', 'watch', 'start'].map((name) => scripts[name]?.slice(0, 4096));
  const named = [...texts, main].flatMap((text) => TYPESCRIPT.exec(text ?? '')?.[0] ?? []);
  return [...named.map(normal), ...SOURCE_ENTRIES].find((file) => plain(file) && files.has(file)) ?? null;
}

/** Returns how to start the compiled entry file, in the folder that tsconfig.json names or in a usual folder. */
function compiledEntries(app: Application): Start[] {
  const { files } = app;
  const source = sourceOf(app);
  if (source === null || !files.has('tsconfig.json')) return [];
  const config = withoutComments(files.text('tsconfig.json') ?? '');
  const [out, root] = ['outDir', 'rootDir'].map((name) => normal(property(config, name) ?? ''));
  const outs = out ? [out] : ['dist', 'build', ''];
  const inside = root && source.startsWith(`${root}/`) ? source.slice(root.length + 1) : source.replace(/^src\//, '');
  const written = outs.flatMap((folder) =>
    [inside, source].map((path) => (folder === '' ? path : `${folder}/${path}`)),
  );
  const programs = [...new Set(written)].map((path) => path.replace(/ts$/, 'js')).filter(plain);
  return programs.map(startFile);
}

const TYPESCRIPT = /[\w./@-]{1,200}\.[cm]?ts(?=\s|$|["'])/;

function normal(path: string): string {
  return path
    .replace(/^(\.\/)+/, '')
    .replace(/\/+$/, '')
    .replace(/^\.$/, '');
}

/** Returns how to start by the script `serve`, `server` or `dev`. Many small servers have no other script. */
export function developmentEntry(app: Application, run: string, notes: string[]): Start[] {
  for (const name of ['serve', 'server', 'dev']) {
    const script = app.manifest.scripts[name];
    if (script === undefined || (name === 'dev' && !hasServer(app) && app.files.has('index.html'))) continue;
    const use = commandUse(script, app.manifest.scripts, app.manifest.main);
    if (use.use === 'watched') {
      notes.push(`Nothing is named "start"; the script ${name} is run without its watcher (${use.tool})`);
      return [{ command: use.command, needs: null }];
    }
    // Without a server library, a `dev` script may only compile a package, so it is not used to start the application.
    if (use.use === 'production' && (name !== 'dev' || hasServer(app))) {
      notes.push(`Nothing is named "start"; the script ${name} is run`);
      return [{ command: `${run} ${name}`, needs: fileOf(script, app.manifest.scripts) }];
    }
  }
  return [];
}
