import { expect } from 'chai';
import { projectFiles } from '../../../../../workers/builders/files/project-files.js';
import { deno } from '../../../../../workers/builders/languages/deno.js';
import { languageOf } from '../../../../../workers/builders/languages/languages.js';
import { packageJson } from '../../../../support/repositories.js';

const filesOf = (texts: Record<string, string>) => projectFiles(Object.keys(texts), texts);
const plan = (texts: Record<string, string>) => deno.plan(filesOf(texts));
const tasks = (all: Record<string, unknown>) => JSON.stringify({ tasks: all });

describe('The plan of a Deno project', () => {
  const starts: Record<string, [texts: Record<string, string>, start: string | null]> = {
    'its task': [{ 'deno.json': tasks({ start: 'deno run -A x.ts' }) }, 'deno task start'],
    'a task with a description': [{ 'deno.json': tasks({ start: { command: 'deno run x.ts' } }) }, 'deno task start'],
    'what was built, for people watch': [
      { 'deno.json': tasks({ start: 'deno run -A --watch dev.ts', preview: 'deno run main.ts' }) },
      'deno task preview',
    ],
    'its file': [
      { 'deno.json': '{}', 'main.ts': 'Deno.serve(x)' },
      'deno run --allow-net --allow-env --allow-read main.ts',
    ],
    'its file instead of a watcher': [
      { 'deno.json': tasks({ start: 'deno run --watch main.ts' }), 'main.ts': '' },
      'deno run --allow-net --allow-env --allow-read main.ts',
    ],
    'a handler': [
      { 'server.ts': 'import x from "jsr:@a/b";\nexport default { fetch() {} };' },
      'deno serve --host 0.0.0.0 --port $PORT --allow-net --allow-env --allow-read server.ts',
    ],
    'a watcher, if there is nothing else': [
      { 'deno.json': tasks({ start: 'deno run --watch x.ts' }) },
      'deno task start',
    ],
    nothing: [{ 'deno.json': '{}' }, null],
  };
  for (const [kind, [texts, start]] of Object.entries(starts)) {
    it(`starts ${kind}`, () => expect(plan(texts).start).to.equal(start));
  }

  it('reads a configuration with comments', () => {
    const text =
      '{ // all\n "tasks": { /* one */ "build": "deno run -A dev.ts build", "start": "deno serve https://x" , }, }';
    const { start, build, install, manifests, dependencies } = plan({
      'deno.jsonc': text,
      'deno.lock': '',
      'main.ts': '',
    });
    expect({ start, build, install }).to.deep.equal({
      start: 'deno task start',
      build: ['deno task build', 'deno cache main.ts'],
      install: ['deno install'],
    });
    expect({ manifests, dependencies }).to.deep.equal({
      manifests: ['deno.jsonc', 'deno.lock'],
      dependencies: '.deno',
    });
  });

  it('leads a project with a package.json only if that starts nothing', () => {
    const runtime = (texts: Record<string, string>) => languageOf(filesOf(texts))?.runtime;
    const own = { 'deno.json': tasks({ start: 'deno run main.ts' }) };
    expect(runtime(own)).to.equal('deno');
    expect(runtime({ ...own, 'package.json': packageJson({ dependencies: { preact: '10' } }) })).to.equal('deno');
    expect(runtime({ ...own, 'package.json': packageJson({ scripts: { start: 'node x' } }) })).to.equal('node');
    expect(runtime({ 'main.ts': 'Deno.serve(() => new Response("x"))' })).to.equal('deno');
    expect(runtime({ 'main.ts': 'import { createServer } from "node:http"' })).to.equal(undefined);
  });

  it('takes the version of .dvmrc, or of .tool-versions', () => {
    const wish = (texts: Record<string, string>) => plan(texts).versions.languages?.[0];
    expect(wish({ '.dvmrc': '2.1.4' })).to.deep.equal({ name: 'deno', wish: { range: '~2.1.4', source: '.dvmrc' } });
    expect(wish({ '.tool-versions': 'deno 2' })?.wish?.range).to.equal('2');
    expect(wish({})?.wish).to.equal(null);
  });
});
