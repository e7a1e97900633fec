import { mkdtemp, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { readFiles } from '../../../workers/builders/reader/read-files.js';
import { type Files, writeFiles } from '../../support/repositories.js';

const HEAD = `
title: Blog
description: A blog
categories: [Publishing]
website: https://blog.example.com
source: https://git.example.com/blog
version: 1.2.3
memoryMb: 100
`;
const STACK = 'stack: { services: { blog: { kind: web } } }';
const folder = '.ranvier/templates';

describe('Templates of a repository', function () {
  this.timeout(60_000);
  const { signal } = new AbortController();
  let app: string;

  beforeEach(async () => {
    app = await realpath(await mkdtemp(join(tmpdir(), 'ranvier-templates-')));
  });
  afterEach(() => rm(app, { recursive: true, force: true }));

  async function read(files: Files) {
    await writeFiles(app, files);
    return readFiles('readTemplates', { app }, { signal });
  }
  async function problem(content: Files[string], name = 'blog.yaml'): Promise<string> {
    await rm(join(app, folder), { recursive: true, force: true });
    const { templates, problems } = await read({ [`${folder}/${name}`]: content });
    expect(templates).to.deep.equal([]);
    return problems[0]?.message ?? '';
  }

  it('are read with what they say of themselves, beside files that are none', async () => {
    const good = `${HEAD}questions: [{ name: title, label: The title }]\n${STACK.replace('web }', `web, variables: { TITLE: "\${title}" } }`)}`;
    const { templates, problems } = await read({
      [`${folder}/blog.yaml`]: good,
      [`${folder}/wiki.yml`]: HEAD + STACK,
      [`${folder}/broken.yaml`]: 'title: Blog',
      [`${folder}/README.md`]: 'no template',
    });
    expect(templates.map(({ name }) => name)).to.deep.equal(['blog', 'wiki']);
    expect(templates[0]).to.include({ title: 'Blog', memoryMb: 100, checked: null, text: good });
    expect(templates[0]?.questions).to.deep.include({
      ...{ name: 'title', label: 'The title', help: '', type: 'text', default: '', example: '', pattern: '' },
      ...{ required: true, secret: false },
    });
    expect(problems.map(({ file }) => file)).to.deep.equal(['broken.yaml']);
  });

  it('are refused with the place of the fault', async () => {
    expect(await problem('title: [')).to.match(/^line \d+, column \d+: /);
    expect(await problem(`${HEAD}colour: red\n${STACK}`)).to.contain('additional properties');
    expect(await problem(HEAD + STACK, 'Blog.yaml')).to.contain('only lower-case letters');
    expect(await problem(`${HEAD}questions: [{ name: a, label: A, pattern: '(a)\\1' }]\n${STACK}`)).to.equal(
      '/questions/0/pattern is no regular expression of RE2',
    );
    expect(await problem(`${HEAD}stack: { services: { blog: { kind: "\${what}" } } }`)).to.contain(`uses \${what}`);
    expect(
      await problem(`${HEAD.replace('title: ', 'title: &t ')}stack: { services: { blog: { kind: *t } } }`),
    ).to.equal('/stack has an alias whose anchor stands outside of it');
  });

  it('cannot fill the memory, or lead out of the repository', async () => {
    const bomb = ['a: &a [x, x, x, x, x, x, x, x, x, x]'];
    for (let i = 0; i < 8; i++)
      bomb.push(
        `a${i}: &a${i} [${Array(10)
          .fill(`*a${i === 0 ? '' : i - 1}`)
          .join(', ')}]`,
      );
    expect(await problem(bomb.join('\n'))).to.contain('200000 values');
    expect(await problem(`${HEAD}${STACK}\n#${'x'.repeat(70_000)}`)).to.contain('larger than 64 KiB');
    expect(await problem({ link: '/etc/hostname' })).to.equal('it is no file of the repository');
  });

  it('need a folder, and are at most fifty', async () => {
    const refusal = (files: Files) => read(files).then(String, (error: Error) => error.message);
    expect(await refusal({ 'README.md': '' })).to.contain('has no folder .ranvier/templates');
    const many = Object.fromEntries(Array.from({ length: 51 }, (_, i) => [`${folder}/t${i}.yaml`, HEAD + STACK]));
    expect(await refusal(many)).to.contain('has 51 templates; at most 50 are read');
  });
});
