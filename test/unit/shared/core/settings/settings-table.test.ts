import { readFile } from 'node:fs/promises';
import { expect } from 'chai';
import { settingsTable } from '../../../../../shared/core/settings/settings-table.js';

const DOCUMENT = new URL('../../../../../../docs/reference/settings.md', import.meta.url);
const COMMAND = 'npm run build && node dist/shared/core/settings/settings-table.js';

describe('docs/reference/settings.md', () => {
  it('has the table of the settings that the code reads', async () => {
    const [, table] = /<!-- settings -->\n([\s\S]*?)<!-- \/settings -->/.exec(await readFile(DOCUMENT, 'utf8')) ?? [];
    expect(table, `put the output of "${COMMAND}" between the markers`).to.equal(settingsTable());
  });
});
