import { readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { DEFAULT_CONFIGURATION } from '../shared/services/configuration.js';
import { DEFAULT_WORKSPACE_CONFIGURATION } from '../shared/workspaces/model.js';
import { titlesOf } from './support/titles.js';

const LIST = join(dirname(fileURLToPath(import.meta.url)), '../../test/api/FIELDS.md');
const STORED = /^only stored: \S/;

interface Field {
  name: string;
  shownBy: string;
}

function fieldsOf(section: string): Field[] {
  return section
    .split('\n')
    .filter((line) => line.startsWith('- '))
    .map((line) => {
      const [, name = '', shownBy = ''] = /^- `(\w+)` → (.+)$/.exec(line) ?? [];
      return { name, shownBy };
    });
}

describe('The list of fields', () => {
  let service: Field[];
  let workspace: Field[];

  before(async () => {
    const [, first = '', second = ''] = (await readFile(LIST, 'utf8')).split(/^## .*$/m);
    service = fieldsOf(first);
    workspace = fieldsOf(second);
  });

  it('has every field of both configurations once', () => {
    const names = (fields: Field[]) => fields.map(({ name }) => name);
    expect(names(service)).to.deep.equal(Object.keys(DEFAULT_CONFIGURATION).sort());
    expect(names(workspace)).to.deep.equal(Object.keys(DEFAULT_WORKSPACE_CONFIGURATION).sort());
  });

  it('names tests that exist, or says that a field is only stored', async function () {
    this.timeout(240_000);
    const named = [...service, ...workspace]
      .filter(({ shownBy }) => !STORED.test(shownBy))
      .flatMap(({ name, shownBy }) =>
        shownBy.split(' · ').map((test) => {
          const [, file = '', title = ''] = /^`([\w/-]+)` (.+)$/.exec(test) ?? [];
          return { name, file, title };
        }),
      );
    const titles = await titlesOf([...new Set(named.map(({ file }) => file))]);
    expect(named.filter(({ file, title }) => !titles.has(`${file} ${title}`))).to.deep.equal([]);
  });
});
