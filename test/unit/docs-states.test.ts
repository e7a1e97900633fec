import { readFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { TRANSITIONS } from '../../shared/deployments/model.js';

const ROOT = resolve(dirname(fileURLToPath(import.meta.url)), '../../..');
const SECTION = /<!-- states -->\n([\s\S]*?)<!-- \/states -->/;

/** The lines of the section that name a transition; blank lines and the fence of a code block are left out. */
function transitionLines(text: string): string[] {
  const section = SECTION.exec(text)?.[1] ?? '';
  return section
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '' && !line.startsWith('```'));
}

describe('docs/architecture.md', () => {
  it('lists every transition of a deployment, in the order of the model', async () => {
    const text = await readFile(join(ROOT, 'docs/architecture.md'), 'utf8');
    const expected = Object.entries(TRANSITIONS).flatMap(([from, events]) =>
      Object.entries(events).map(([event, to]) => `${from} --${event}--> ${to}`),
    );
    expect(transitionLines(text)).to.deep.equal(expected);
  });
});
