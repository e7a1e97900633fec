import { readdir, readFile } from 'node:fs/promises';
import { dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';

const ROOT = resolve(dirname(fileURLToPath(import.meta.url)), '../../..');
const TOP = ['README.md', 'CONTRIBUTING.md', 'SECURITY.md', 'CHANGELOG.md'];
const KINDS = ['tutorial', 'how-to', 'reference', 'explanation'];

async function pages(): Promise<string[]> {
  const docs = await readdir(join(ROOT, 'docs'), { recursive: true });
  return [...TOP, ...docs.filter((path) => path.endsWith('.md')).map((path) => join('docs', path))];
}

const withoutCode = (text: string): string => text.replace(/^```[\s\S]*?^```/gm, '');

/** Returns the anchors that GitHub gives to a page's headings. The second heading with the same text gets `-1`. */
function anchorsOf(text: string): Set<string> {
  const anchors = new Set<string>();
  for (const [, heading = ''] of withoutCode(text).matchAll(/^#{1,6} +(.+)$/gm)) {
    const anchor = heading
      .replace(/\[([^\]]*)\]\([^)]*\)/g, '$1')
      .toLowerCase()
      .replace(/[^\p{L}\p{N}\s_-]/gu, '')
      .trim()
      .replace(/\s/g, '-');
    let unique = anchor;
    for (let n = 1; anchors.has(unique); n++) unique = `${anchor}-${n}`;
    anchors.add(unique);
  }
  return anchors;
}

describe('README.md and docs', () => {
  it('have only links and anchors that resolve', async () => {
    const texts = new Map<string, string>();
    const textOf = async (path: string): Promise<string | null> => {
      const text = texts.get(path) ?? (await readFile(join(ROOT, path), 'utf8').catch(() => null));
      if (text !== null) texts.set(path, text);
      return text;
    };
    const broken: string[] = [];
    let links = 0;
    for (const page of await pages()) {
      const text = withoutCode((await textOf(page)) ?? '');
      for (const [, target = ''] of text.matchAll(/\]\(([^)\s]+)\)/g)) {
        if (/^[a-z]+:/.test(target)) continue;
        links++;
        const [path = '', anchor] = target.split('#');
        const file = path === '' ? page : relative(ROOT, resolve(ROOT, dirname(page), path));
        const found =
          file.endsWith('.md') || anchor !== undefined
            ? await textOf(file)
            : await readdir(join(ROOT, file)).catch(() => readFile(join(ROOT, file)).catch(() => null));
        if (found === null) broken.push(`${page}: ${target} does not exist`);
        else if (anchor !== undefined && !anchorsOf(String(found)).has(anchor))
          broken.push(`${page}: ${target} names no heading`);
      }
    }
    expect(links).to.be.greaterThan(100);
    expect(broken).to.deep.equal([]);
  });

  it('are listed in docs/README.md', async () => {
    const index = await readFile(join(ROOT, 'docs/README.md'), 'utf8');
    const unlisted = (await pages())
      .filter((path) => path.startsWith('docs/') && !/^docs\/(README|decisions\/\d.*)\.md$/.test(path))
      .filter((path) => !index.includes(`](${relative('docs', path)})`));
    expect(unlisted).to.deep.equal([]);
  });

  it('say in the first line of each page who reads it', async () => {
    const silent: string[] = [];
    for (const page of await pages()) {
      if (!KINDS.some((kind) => page.startsWith(`docs/${kind}/`))) continue;
      const [title, blank, first = ''] = (await readFile(join(ROOT, page), 'utf8')).split('\n');
      if (!title?.startsWith('# ') || blank !== '' || !first.startsWith('For ')) silent.push(page);
    }
    expect(silent).to.deep.equal([]);
  });
});
