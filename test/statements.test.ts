import { readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { titlesOf } from './support/titles.js';

const TESTS = dirname(fileURLToPath(import.meta.url));
const LIST = join(TESTS, '../../test/api/STATEMENTS.md');

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

describe('The list of statements', () => {
  it('names tests that exist, for every statement', async function () {
    this.timeout(240_000);
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
