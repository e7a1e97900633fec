import { spawn } from 'node:child_process';
import { readdir } from 'node:fs/promises';
import { constants } from 'node:os';
import { join, resolve } from 'node:path';

/**
 * `npm test`: runs every test file in parallel. The files that take longest begin first, so that no processor is idle while the
 * last of them runs alone.
 */
const ROOT = resolve(import.meta.dirname, '../../..');
const TESTS = 'dist/test';
const JOBS = 3;

/** In the order in which they begin. Take over what the end of a run lists as slowest. */
const LONGEST = [
  'contract/hostile-repository',
  'contract/hostile-logs',
  'workers/builders/repository-builder',
  'contract/pushes',
  'contract/hostile-edge',
  'contract/runs',
  'contract/faults',
  'workers/builders/toolchains',
  'contract/hostile-input',
  'contract/container-images',
  'contract/hostile-session',
  'contract/rnv',
  'contract/hostile',
  'contract/main-job',
  'shared/launcher/launch',
  'contract/bad-input',
  'contract/junk',
  'contract/hostile-runtime',
  'contract/networks',
  'contract/backups',
  'workers/builders/container/container-builder',
  'contract/data-services',
  'workers/runtime/swarm/nodes',
  'contract/release',
  'contract/resume',
  'workers/runtime/conformance',
  'workers/notifications',
  'contract/caddy',
  'contract/previews',
  'contract/scaling',
  'contract/swarm',
  'workers/builders/container/hostile-builds',
];

async function main(options: string[]): Promise<number> {
  const files = (await readdir(join(ROOT, TESTS), { recursive: true })).filter((path) => path.endsWith('.test.js'));
  files.sort((a, b) => rank(a) - rank(b) || a.localeCompare(b));
  const program = join(ROOT, 'node_modules/mocha/bin/mocha.js');
  const args = ['--parallel', '--jobs', String(JOBS), ...options, ...files.map((path) => join(TESTS, path))];
  const child = spawn(process.execPath, [program, ...args], { cwd: ROOT, stdio: 'inherit' });
  process.on('SIGINT', () => undefined);
  process.on('SIGTERM', () => child.kill('SIGTERM'));
  return new Promise((done) => {
    child.once('exit', (code, signal) => done(code ?? 128 + (signal ? constants.signals[signal] : 0)));
  });
}

/** Whole platforms and real processes come before what needs a database or nothing. */
function rank(path: string): number {
  const place = LONGEST.indexOf(path.replace(/\.test\.js$/, ''));
  if (place >= 0) return place;
  return path.startsWith('contract/') ? 100 : path.startsWith('workers/') ? 200 : 300;
}

process.exitCode = await main(process.argv.slice(2));
