import { expect } from 'chai';
import { projectFiles } from '../../../../../workers/builders/files/project-files.js';
import { languageOf } from '../../../../../workers/builders/languages/languages.js';
import { shell } from '../../../../../workers/builders/languages/shell.js';

const filesOf = (texts: Record<string, string>) => projectFiles(Object.keys(texts), texts);

describe('The plan of a project with a script of the shell', () => {
  it('starts start.sh before run.sh, with the shell that the script names', () => {
    expect(shell.plan(filesOf({ 'start.sh': '', 'run.sh': '' })).start).to.equal('sh ./start.sh');
    expect(shell.plan(filesOf({ 'run.sh': '#!/usr/bin/env bash\n' })).start).to.equal('bash ./run.sh');
  });

  it('decides only if nothing else says what the project is', () => {
    const runtime = (...names: string[]) =>
      languageOf(filesOf(Object.fromEntries(['start.sh', ...names].map((name) => [name, '']))))?.runtime;
    expect(runtime()).to.equal('shell');
    expect(runtime('README.md')).to.equal('shell');
    expect(runtime('index.html')).to.equal(undefined);
    expect(runtime('server.js')).to.equal(undefined);
    for (const [mark, language] of [
      ['main.py', 'python'],
      ['go.mod', 'go'],
      ['package.json', 'node'],
      ['pom.xml', 'java'],
    ] as const) {
      expect(runtime(mark), mark).to.equal(language);
    }
  });
});
