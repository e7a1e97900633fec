import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect } from 'chai';

const TESTS = dirname(fileURLToPath(import.meta.url));
const LIST = join(TESTS, '../../test/api/STATEMENTS.md');
const MOCHA = createRequire(import.meta.url).resolve('mocha/bin/mocha.js');

/** What the list says of one statement: the tests that show it. */
interface Statement {
  text: string;
  tests: { file: string; title: string }[];
}

function parse(line: string): Statement {
  const [text = '', named = ''] = line.split(' → ');
  const tests = named.split(' · ').map((test) => {
    const [, file = '', title = ''] = /^`([\w/-]+)` (.+)$/.exec(test) ?? [];
    return { file: file.includes('/') ? file : `api/${file}`, title };
  });
  return { text: text.slice('- '.length), tests };
}

/** `file title` of every test of these files, by asking mocha, which makes titles as it loads them. */
async function titlesOf(files: string[]): Promise<Set<string>> {
  const paths = files.map((file) => join(TESTS, `${file}.test.js`));
  const args = [MOCHA, '--no-package', '--dry-run', '--reporter', 'json', ...paths];
  const { stdout } = await promisify(execFile)(process.execPath, args, { maxBuffer: 64 * 1024 * 1024 });
  const { tests }: { tests: { file: string; title: string }[] } = JSON.parse(stdout);
  return new Set(tests.map(({ file, title }) => `${relative(TESTS, file).replace(/\.test\.js$/, '')} ${title}`));
}

describe('The list of statements', () => {
  it('names tests that exist, for every statement', async function () {
    this.timeout(180_000);
    const lines = (await readFile(LIST, 'utf8')).split('\n').filter((line) => line.startsWith('- '));
    const statements = lines.map(parse);
    expect(statements.length).to.be.greaterThan(100);
    const titles = await titlesOf([...new Set(statements.flatMap(({ tests }) => tests.map(({ file }) => file)))]);
    const missing = statements.flatMap(({ text, tests }) =>
      tests
        .filter(({ file, title }) => !titles.has(`${file} ${title}`))
        .map(({ file, title }) => `${text} ${file}: ${title}`),
    );
    expect(missing).to.deep.equal([]);
  });
});
