import { readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { DEFAULT_CONFIGURATION } from '../shared/services/configuration.js';
import { DEFAULT_WORKSPACE_CONFIGURATION } from '../shared/workspaces/model.js';
import { titlesOf } from './support/titles.js';

/** Checks that every test which the lists of test/api name exists. */
const LISTS = join(dirname(fileURLToPath(import.meta.url)), '../../test/api');
const STORED = /^only stored: \S/;

interface Named {
  what: string;
  tests: { file: string; title: string }[];
}

function parseStatement(line: string): Named {
  const [text = '', named = ''] = line.split(' → ');
  return { what: text.slice('- '.length), tests: parseTests(named, 'api/') };
}

interface Field extends Named {
  shownBy: string;
}

function fieldsOf(section: string): Field[] {
  return section
    .split('\n')
    .filter((line) => line.startsWith('- '))
    .map((line) => {
      const [, what = '', shownBy = ''] = /^- `(\w+)` → (.+)$/.exec(line) ?? [];
      return { what, shownBy, tests: STORED.test(shownBy) ? [] : parseTests(shownBy, '') };
    });
}

function parseTests(named: string, folder: string): Named['tests'] {
  return named.split(' · ').map((test) => {
    const [, file = '', title = ''] = /^`([\w/-]+)` (.+)$/.exec(test) ?? [];
    return { file: file.includes('/') ? file : `${folder}${file}`, title };
  });
}

describe('The lists of test/api', () => {
  let statements: Named[];
  let service: Field[];
  let workspace: Field[];

  before(async () => {
    const lines = (await readFile(join(LISTS, 'STATEMENTS.md'), 'utf8')).split('\n');
    statements = lines.filter((line) => line.startsWith('- ')).map(parseStatement);
    const [, first = '', second = ''] = (await readFile(join(LISTS, 'FIELDS.md'), 'utf8')).split(/^## .*$/m);
    service = fieldsOf(first);
    workspace = fieldsOf(second);
  });

  it('have the statements, and every field of both configurations once', () => {
    expect(statements.length).to.be.greaterThan(100);
    const names = (fields: Field[]) => fields.map(({ what }) => what);
    expect(names(service)).to.deep.equal(Object.keys(DEFAULT_CONFIGURATION).sort());
    expect(names(workspace)).to.deep.equal(Object.keys(DEFAULT_WORKSPACE_CONFIGURATION).sort());
  });

  it('name tests that exist, or say that a field is only stored', async function () {
    this.timeout(240_000);
    const all = [...statements, ...service, ...workspace];
    const titles = await titlesOf([...new Set(all.flatMap(({ tests }) => tests.map(({ file }) => file)))]);
    const missing = all.flatMap(({ what, tests }) =>
      tests
        .filter(({ file, title }) => !titles.has(`${file} ${title}`))
        .map(({ file, title }) => `${what} ${file}: ${title}`),
    );
    expect(missing).to.deep.equal([]);
  });
});
