import { existsSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { TRANSITIONS } from '../../shared/deployments/model.js';

const ROOT = resolve(dirname(fileURLToPath(import.meta.url)), '../../..');
const SECTION = /<!-- states -->\n([\s\S]*?)<!-- \/states -->/;

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

  it('names files and folders that exist, and describes every folder of the first two levels', async () => {
    const text = await readFile(join(ROOT, 'docs/architecture.md'), 'utf8');
    const named = [...text.matchAll(/`((?:api|shared|workers|migrations|test)\/[\w./-]*)`/g)].map(
      ([, path = '']) => path,
    );
    expect(named.length).to.be.greaterThan(80);
    expect(named.filter((path) => !existsSync(join(ROOT, path)))).to.deep.equal([]);
    const table = /<!-- folders -->([\s\S]*)<!-- \/folders -->/.exec(text)?.[1] ?? '';
    for (const room of ['api', 'workers']) {
      const folders = (await readdir(join(ROOT, room), { withFileTypes: true })).filter((entry) => entry.isDirectory());
      for (const { name } of folders) expect(table).to.include(`\`${room}/${name}/\``);
    }
  });

  it('walks the road of a deployment through at most 20 files', async () => {
    const text = await readFile(join(ROOT, 'docs/architecture.md'), 'utf8');
    const road = /## The road of a deployment([\s\S]*?)\nEverything else/.exec(text)?.[1] ?? '';
    const stations = [...road.matchAll(/^\|[^|]*\| `([^`]+)`/gm)];
    expect(stations.length).to.be.within(12, 20);
  });
});
