import { execFile } from 'node:child_process';
import { createRequire } from 'node:module';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const TESTS = dirname(dirname(fileURLToPath(import.meta.url)));
const MOCHA = createRequire(import.meta.url).resolve('mocha/bin/mocha.js');

/** Returns `file title` of each test in these files. Mocha loads them, because titles can be computed. */
export async function titlesOf(files: string[]): Promise<Set<string>> {
  const paths = files.map((file) => join(TESTS, `${file}.test.js`));
  const args = [MOCHA, '--no-package', '--dry-run', '--reporter', 'json', ...paths];
  const { stdout } = await promisify(execFile)(process.execPath, args, { maxBuffer: 64 * 1024 * 1024 });
  const { tests }: { tests: { file: string; title: string }[] } = JSON.parse(stdout);
  return new Set(tests.map(({ file, title }) => `${relative(TESTS, file).replace(/\.test\.js$/, '')} ${title}`));
}
