import { readdir, readFile, rm, stat } from 'node:fs/promises';
import { dirname, join, relative, resolve, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Plugin, rolldown } from 'rolldown';

/**
 * This script bundles the platform's programs. A program and its packages have up to 1,500 modules. To load them one by
 * one takes 0.3 s more CPU time and 10 MiB more memory.
 */
const DIST = fileURLToPath(new URL('../../', import.meta.url));
const DAY_MS = 86_400_000;
const FOLDER = join(DIST, 'programs');
const PROGRAMS = {
  api: join(DIST, 'api/main.js'),
  worker: join(DIST, 'workers/main.js'),
  edge: join(DIST, 'workers/edge/main.js'),
  reader: join(DIST, 'workers/builders/reader/reader-process.js'),
};
/** Packages with many files that are loaded at startup. */
const BUNDLED =
  /node_modules\/(bullmq|cron-parser|knex|lodash|luxon|rate-limiter-flexible|semver|typebox|undici|uuid)\//;

const ownModules: Plugin = {
  name: 'own-modules',
  async resolveId(source, importer) {
    if (importer === undefined || /^[./]/.test(source)) return null;
    const resolved = await this.resolve(source, importer, { skipSelf: true });
    return resolved !== null && BUNDLED.test(resolved.id) ? null : { id: source, external: true };
  },
  async load(id) {
    if (id.includes('node_modules') || id.includes('\0')) return null;
    const [code, map] = await Promise.all([readFile(id, 'utf8'), readFile(`${id}.map`, 'utf8')]);
    return { code: withPlaces(id, code), map };
  },
};

/** A placeholder for an `import.meta.url` that must remain in the bundled code. */
const HERE = '__HERE__';

/**
 * Replaces `import.meta.url` by the URL of the module's own file, so that bundled modules find the files beside them.
 * The URL of a bundled program becomes the URL of its bundle.
 */
function withPlaces(id: string, code: string): string {
  return code
    .replace(/new URL\('(.+?)', import\.meta\.url\)/g, (expression, path) => {
      const file = resolve(dirname(id), path);
      const [program] = Object.entries(PROGRAMS).find(([, entry]) => entry === file) ?? [];
      return program === undefined ? expression : `new URL('./${program}.js', ${HERE})`;
    })
    .replaceAll('import.meta.url', `new URL('${relative(FOLDER, id).split(sep).join('/')}', import.meta.url).href`)
    .replaceAll(HERE, 'import.meta.url');
}

const bundle = await rolldown({ input: PROGRAMS, platform: 'node', plugins: [ownModules], logLevel: 'warn' });
const { output } = await bundle.write({ dir: FOLDER, format: 'esm', sourcemap: true });
await bundle.close();
await removeOld(new Set(output.map(({ fileName }) => fileName)));

/** Deletes files of earlier builds after a day. Until then, running processes may still import them. */
async function removeOld(current: ReadonlySet<string>): Promise<void> {
  for (const name of await readdir(FOLDER)) {
    const path = join(FOLDER, name);
    if (!current.has(name) && Date.now() - (await stat(path)).mtimeMs > DAY_MS) await rm(path, { force: true });
  }
}
