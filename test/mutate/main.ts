import { spawn } from 'node:child_process';
import { cp, mkdtemp, readdir, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, dirname, join, resolve } from 'node:path';
import { mochaGlobalTeardown, startTestPostgres } from '../support/postgres.js';
import { compiledWith, type Fault } from './fault.js';
import { FAULTS } from './faults.js';

/**
 * `npm run mutate [-- <regular expression for names>]`: puts each fault into a copy of the compiled code, and runs the
 * fast tests. Fails if they notice less than 90 %.
 */

const BAR = 0.9;
/** Tests that hang for this time, or for three times their usual duration if that is longer, have noticed the fault. */
const HANGS_MS = 180_000;
const SUITES = ['test/unit/**/*.test.js', 'test/database/**/*.test.js'];
const ROOT = resolve(import.meta.dirname, '../../..');

type Outcome = 'noticed' | 'MISSED' | 'STALE';

async function main(filter: string): Promise<number> {
  const faults = FAULTS.filter(({ name }) => new RegExp(filter).test(name));
  const folder = await mkdtemp(join(tmpdir(), 'ranvier-mutate-'));
  const dist = join(folder, 'dist');
  await cp(join(ROOT, 'dist'), dist, { recursive: true });
  // Tests read sources, documents and migrations from the repository's root.
  for (const name of await readdir(ROOT)) {
    if (name !== 'dist') await symlink(join(ROOT, name), join(folder, name));
  }
  await startTestPostgres({ durable: false });
  const counts: Record<Outcome, number> = { noticed: 0, MISSED: 0, STALE: 0 };
  try {
    const begun = Date.now();
    if (!(await passes(folder, SUITES, { shown: true }))) throw new Error('the tests fail without any fault');
    const hangsMs = Math.max(HANGS_MS, 3 * (Date.now() - begun));
    for (const fault of faults) {
      const outcome = await outcomeOf(folder, dist, fault, hangsMs);
      counts[outcome] += 1;
      process.stdout.write(`${outcome}  ${fault.name}\n`);
    }
  } finally {
    await mochaGlobalTeardown();
    await rm(folder, { recursive: true, force: true });
  }
  const { noticed, STALE: stale } = counts;
  process.stdout.write(`${noticed} of ${faults.length} faults noticed, ${stale} do not match the code\n`);
  return stale === 0 && noticed >= BAR * faults.length ? 0 : 1;
}

async function outcomeOf(folder: string, dist: string, fault: Fault, hangsMs: number): Promise<Outcome> {
  const { path, text, faulty } = await compiledWith(fault, dist);
  if (faulty === null) return 'STALE';
  await writeFile(path, faulty);
  try {
    // The tests of the fault's own source notice most faults within seconds, so the others often need not run.
    for (const files of await testsNear(dist, fault)) if (!(await passes(folder, files, { hangsMs }))) return 'noticed';
    for (const suite of SUITES) if (!(await passes(folder, [suite], { hangsMs }))) return 'noticed';
    return 'MISSED';
  } finally {
    await writeFile(path, text);
  }
}

async function testsNear(dist: string, { file }: Fault): Promise<string[][]> {
  const own: string[] = [];
  const beside: string[] = [];
  for (const suite of ['unit', 'database']) {
    const mirror = join('test', suite, dirname(file));
    const names = await readdir(join(dist, mirror)).catch(() => []);
    for (const name of names.filter((name) => name.endsWith('.test.js'))) {
      const files = name === `${basename(file, '.ts')}.test.js` ? own : beside;
      files.push(join(mirror, name));
    }
  }
  return [own, beside].filter((files) => files.length > 0);
}

function passes(
  folder: string,
  files: readonly string[],
  { hangsMs, shown = false }: { hangsMs?: number; shown?: boolean },
): Promise<boolean> {
  const args = ['--bail', '--exit', '--reporter', 'dot', '--no-package', '--timeout', '60000'];
  const program = join(ROOT, 'node_modules/mocha/bin/mocha.js');
  const child = spawn(process.execPath, [program, ...args, ...files.map((file) => join('dist', file))], {
    cwd: folder,
    stdio: shown ? 'inherit' : 'ignore',
  });
  const timer = hangsMs === undefined ? undefined : setTimeout(() => child.kill('SIGKILL'), hangsMs);
  return new Promise((done) => {
    child.once('exit', (code) => {
      clearTimeout(timer);
      done(code === 0);
    });
  });
}

process.exitCode = await main(process.argv[2] ?? '');
