import { spawn } from 'node:child_process';
import { readdir } from 'node:fs/promises';
import { availableParallelism, constants, totalmem } from 'node:os';
import { join, resolve } from 'node:path';

/**
 * `npm test`: runs every test file in parallel. The files that take longest begin first, so that no processor is idle while the
 * last of them runs alone.
 */
const ROOT = resolve(import.meta.dirname, '../../..');
const TESTS = 'dist/test';
/** A file with a platform waits for half of its time: two use one processor. With more, each takes longer, and the whole run does not end sooner. */
const FILES_OF_PROCESSOR = 2;
/** What a file needs with its platform. */
const BYTES_OF_FILE = 2 * 1024 ** 3;
const JOBS = Math.max(2, Math.min(availableParallelism() * FILES_OF_PROCESSOR, Math.floor(totalmem() / BYTES_OF_FILE)));
/** Where `npm start` keeps what V8 compiled, so that the processes that tests start compile nothing twice. */
const NODE_COMPILE_CACHE = join(ROOT, 'node_modules/.cache/node');

/** In the order in which they begin. Take over what the end of a run lists as slowest. */
const SLOWEST_FIRST = [
  'contract/swarm',
  'contract/container-images',
  'workers/runtime/swarm/nodes',
  'contract/pushes',
  'workers/builders/repository-builder',
  'workers/builders/engine-images/container-builder',
  'workers/runtime/swarm/runtime',
  'contract/hostile',
  'workers/builders/engine-images/hostile-builds',
  'contract/rnv',
  'contract/faults',
  'contract/data-services',
  'contract/previews',
  'contract/hostile-edge',
  'contract/runs',
  'contract/networks',
  'contract/backups',
  'workers/builders/toolchains',
  'contract/hostile-logs',
  'workers/runtime/process',
  'contract/bad-input',
  'shared/launcher/launch',
  'workers/runtime/replacement',
  'workers/runtime/swarm/conformance',
  'contract/junk',
  'workers/backups/postgres-copy',
  'contract/resume',
  'contract/hostile-session',
  'contract/hostile-repository',
  'contract/secrets',
  'contract/key-rotation',
  'contract/release',
  'workers/builders/engine-images/railpack',
  'workers/edge/caddy-daemon',
  'workers/sandbox/run',
  'contract/main-job',
  'contract/hostile-input',
  'workers/edge/caddy',
  'contract/upgrade',
  'contract/scaling',
  'workers/runtime/handover',
  'contract/hostile-runtime',
  'workers/sandbox/start',
  'api/hostile-pushes',
];

async function main(options: string[]): Promise<number> {
  const files = (await readdir(join(ROOT, TESTS), { recursive: true })).filter((path) => path.endsWith('.test.js'));
  files.sort((a, b) => rank(a) - rank(b) || a.localeCompare(b));
  const program = join(ROOT, 'node_modules/mocha/bin/mocha.js');
  const args = ['--parallel', '--jobs', String(JOBS), ...options, ...files.map((path) => join(TESTS, path))];
  const child = spawn(process.execPath, [program, ...args], {
    cwd: ROOT,
    stdio: 'inherit',
    env: { ...process.env, NODE_COMPILE_CACHE },
  });
  process.on('SIGINT', () => undefined);
  process.on('SIGTERM', () => child.kill('SIGTERM'));
  return new Promise((done) => {
    child.once('exit', (code, signal) => done(code ?? 128 + (signal ? constants.signals[signal] : 0)));
  });
}

/** Whole platforms and real processes come before what needs a database or nothing. */
function rank(path: string): number {
  const place = SLOWEST_FIRST.indexOf(path.replace(/\.test\.js$/, ''));
  if (place >= 0) return place;
  return path.startsWith('contract/') ? 100 : path.startsWith('workers/') ? 200 : 300;
}

process.exitCode = await main(process.argv.slice(2));
