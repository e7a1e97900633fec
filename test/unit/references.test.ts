import { readdir, readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));
const FOLDERS = ['api', 'workers', 'shared', 'migrations', 'test'];

async function headingsOfSpecification(): Promise<Set<string>> {
  const text = await readFile(`${ROOT}/docs/specification.md`, 'utf8');
  return new Set(
    [...text.matchAll(/^(?:#+ (.+)|(\w+ rules):.*)$/gm)].map(([, heading, title]) => heading ?? title ?? ''),
  );
}

function referencesIn(text: string): string[] {
  const joined = text.replaceAll(/\s*\n\s*(?:\*|\/\/)\s*/g, ' ');
  return [...joined.matchAll(/\(specification,? ([^)]*)\)/g)].map(([, reference = '']) =>
    reference.replace(/:.*$/, '').replace(/ \d[\d, and]*$/, ''),
  );
}

describe('References to the specification', () => {
  it('are found with rule numbers, field names and line breaks', () => {
    const text = '(specification, Limits) (specification, Authentication 2, 5 and 6) (specification, Logs: `logDays`)';
    expect(referencesIn(`${text}\n * (specification,\n   * Create rules 1)`)).to.deep.equal([
      'Limits',
      'Authentication',
      'Logs',
      'Create rules',
    ]);
  });

  it('name a heading that docs/specification.md has', async () => {
    const headings = await headingsOfSpecification();
    expect([...headings]).to.include.members(['Limits', 'Deployment status', 'Create rules']);
    const wrong: string[] = [];
    let found = 0;
    for (const folder of FOLDERS) {
      for (const entry of await readdir(`${ROOT}/${folder}`, { recursive: true })) {
        if (!entry.endsWith('.ts') || entry.endsWith('references.test.ts')) continue;
        const references = referencesIn(await readFile(`${ROOT}/${folder}/${entry}`, 'utf8'));
        found += references.length;
        wrong.push(...references.filter((name) => !headings.has(name)).map((name) => `${folder}/${entry}: ${name}`));
      }
    }
    expect(found).to.be.greaterThan(30);
    expect(wrong).to.deep.equal([]);
  });
});

describe('Documents', () => {
  const DOCUMENTS = ['README.md', 'CONTRIBUTING.md', 'SECURITY.md', 'docs'];
  /** Paths of source files in backticks, from the root or from a folder that the text has named before. */
  const PATHS = /`((?:[\w-]+\/)+[\w.-]+\.ts)`/g;

  it('name source files that exist', async () => {
    const files: string[] = [];
    for (const folder of FOLDERS) {
      const entries = await readdir(`${ROOT}/${folder}`, { recursive: true });
      files.push(...entries.map((entry) => `${folder}/${entry}`));
    }
    const wrong: string[] = [];
    let found = 0;
    for (const name of DOCUMENTS) {
      const documents = name.endsWith('.md')
        ? [name]
        : (await readdir(`${ROOT}/${name}`, { recursive: true })).map((path) => `${name}/${path}`);
      for (const document of documents.filter((path) => path.endsWith('.md'))) {
        for (const [, path = ''] of (await readFile(`${ROOT}/${document}`, 'utf8')).matchAll(PATHS)) {
          found += 1;
          if (!files.some((file) => file === path || file.endsWith(`/${path}`))) wrong.push(`${document}: ${path}`);
        }
      }
    }
    expect(found).to.be.greaterThan(20);
    expect(wrong).to.deep.equal([]);
  });

  it('say of each folder of tests what its tests prove', async () => {
    const text = await readFile(`${ROOT}/docs/development.md`, 'utf8');
    const named = [...text.matchAll(/^\| `test\/([\w-]+)\/` \| \S/gm)].map(([, folder]) => folder);
    const entries = await readdir(`${ROOT}/test`, { withFileTypes: true });
    const folders = entries.filter((entry) => entry.isDirectory()).map(({ name }) => name);
    expect(named.sort()).to.deep.equal(folders.sort());
  });
});
