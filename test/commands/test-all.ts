import { spawn } from 'node:child_process';
import { chmod, mkdir, readdir, readFile } from 'node:fs/promises';
import { availableParallelism, constants, totalmem } from 'node:os';
import { join, resolve } from 'node:path';

/** `npm test` and `npm run test:tools`: the slowest files start first, so that no processor is idle at the end. */
const ROOT = resolve(import.meta.dirname, '../../..');
const TESTS = 'dist/test';
/**
 * Test files at once, for each processor. A platform is many processes: two files for each processor cost 40 % more
 * processor time than one, and take longer on a machine where processes start slowly.
 */
const FILES_OF_PROCESSOR = 1;
const BYTES_OF_FILE = 2 * 1024 ** 3;
const JOBS = Math.max(2, Math.min(availableParallelism() * FILES_OF_PROCESSOR, Math.floor(totalmem() / BYTES_OF_FILE)));
/** V8's compile cache. Everybody may write into it, because platforms run as users of their own. */
const NODE_COMPILE_CACHE = join(ROOT, 'node_modules/.cache/node');

/** What `npm run test:tools` runs, and `npm test` does not: tests of Docker Engine, package managers and compilers. */
const TOOLS = [
  'platform/container-images',
  'platform/swarm',
  'workers/builders/engine-images/',
  'workers/builders/languages',
  'workers/builders/toolchains',
  'workers/runtime/swarm/',
];

const SLOWEST_FIRST = join(ROOT, 'test/commands/slowest-first.json');

const OWN_OPTIONS = ['--record', '--tools'];

async function main(given: string[]): Promise<number> {
  const options = given.filter((option) => !OWN_OPTIONS.includes(option));
  const tools = given.includes('--tools');
  const recorded: string[] = JSON.parse(await readFile(SLOWEST_FIRST, 'utf8'));
  const files = (await readdir(join(ROOT, TESTS), { recursive: true })).filter(
    (path) => path.endsWith('.test.js') && TOOLS.some((tool) => path.startsWith(tool)) === tools,
  );
  files.sort((a, b) => rank(a, recorded) - rank(b, recorded) || a.localeCompare(b));
  await mkdir(NODE_COMPILE_CACHE, { recursive: true });
  await chmod(NODE_COMPILE_CACHE, 0o1777);
  const program = join(ROOT, 'node_modules/mocha/bin/mocha.js');
  const args = ['--parallel', '--jobs', String(JOBS), ...options, ...files.map((path) => join(TESTS, path))];
  const child = spawn(process.execPath, [program, ...args], {
    cwd: ROOT,
    stdio: 'inherit',
    env: { ...process.env, NODE_COMPILE_CACHE, ...(given.includes('--record') ? { SLOWEST_FIRST } : {}) },
  });
  process.on('SIGINT', () => undefined);
  process.on('SIGTERM', () => child.kill('SIGTERM'));
  return new Promise((done) => {
    child.once('exit', (code, signal) => done(code ?? 128 + (signal ? constants.signals[signal] : 0)));
  });
}

/** Orders files: recorded slow files, then new files with whole platforms and real processes, then all others. */
function rank(path: string, recorded: readonly string[]): number {
  const place = recorded.indexOf(path.replace(/\.test\.js$/, ''));
  return place >= 0 ? place : /^(platform|hostile|workers)\//.test(path) ? 1000 : 2000;
}

process.exitCode = await main(process.argv.slice(2));
