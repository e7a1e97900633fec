import { spawn } from 'node:child_process';
import { readdir } from 'node:fs/promises';
import { constants } from 'node:os';
import { join, resolve } from 'node:path';

/** `npm run test:file -- <name> [options of mocha]`: runs the test files whose path contains the name. */
const ROOT = resolve(import.meta.dirname, '../../..');
const TESTS = 'dist/test';

async function main([name, ...options]: string[]): Promise<number> {
  if (name === undefined || name.startsWith('-')) return refuse('name a part of the path of a test file');
  const wanted = name.replace(/^test\//, '').replace(/(\.test)?\.[tj]s$/, '');
  const files = (await readdir(join(ROOT, TESTS), { recursive: true }))
    .filter((path) => path.endsWith('.test.js') && path.includes(wanted))
    .sort();
  if (files.length === 0) return refuse(`no path of a test file contains "${wanted}"`);
  return mocha([...options, ...files.map((path) => join(TESTS, path))]);
}

function refuse(reason: string): number {
  process.stderr.write(`npm run test:file -- <name>: ${reason}\n`);
  return 2;
}

/** Ctrl-C reaches Mocha too. This process ends after Mocha. */
function mocha(args: string[]): Promise<number> {
  const program = join(ROOT, 'node_modules/mocha/bin/mocha.js');
  const child = spawn(process.execPath, [program, ...args], { cwd: ROOT, stdio: 'inherit' });
  process.on('SIGINT', () => undefined);
  process.on('SIGTERM', () => child.kill('SIGTERM'));
  return new Promise((done) => {
    child.once('exit', (code, signal) => done(code ?? 128 + (signal ? constants.signals[signal] : 0)));
  });
}

process.exitCode = await main(process.argv.slice(2));
