import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'chai';
import { repositoryProblem } from '../../../../shared/services/service-source.js';
import { createSources } from '../../../../workers/sources/pushed-source.js';
import type { RepositorySource } from '../../../../workers/sources/repository-source.js';
import { useFolders } from '../../../support/folders.js';

describe('The empty Node.js project of the platform', () => {
  const newFolder = useFolders();
  /** Fails each request, because no server may be asked. */
  const refusing = new Proxy({} as RepositorySource, {
    get: (_, name) => () => Promise.reject(new Error(`${String(name)} was asked of another source`)),
  });
  const source = createSources({ git: refusing, pushed: refusing });
  const request = { url: 'starter:node@22', signal: new AbortController().signal };

  it('is allowed on every installation, and no other address of its kind', () => {
    for (const own of ['starter:node', 'starter:node@22']) expect(repositoryProblem(own, false)).to.equal(null);
    for (const other of [
      ...['starter:', 'starter:node/../x', 'starter:python', 'Starter:node', 'starter:node@'],
      'starter:node@22.1',
    ])
      expect(repositoryProblem(other, true), other).to.contain('is not supported');
  });

  it('has one commit on every branch, with a package.json', async () => {
    const directory = await newFolder();
    const { sha, message } = await source.resolve({ ...request, ref: 'main' });
    expect(sha).to.match(/^[0-9a-f]{40}$/);
    expect(message).to.equal('Empty Node.js project');
    expect(await source.messageOf({ ...request, sha })).to.equal(message);
    expect([...(await source.heads({ ...request, branches: ['main'] }))]).to.deep.equal([['main', sha]]);
    expect(await source.changedPaths({ ...request, before: sha, after: sha })).to.deep.equal([]);
    await source.checkout({ ...request, sha, directory });
    expect(JSON.parse(await readFile(join(directory, 'package.json'), 'utf8'))).to.deep.include({
      private: true,
      engines: { node: '22' },
    });
    const other = await source.resolve({ ...request, url: 'starter:node', ref: 'main' });
    expect(other.sha).not.to.equal(sha);
  });
});
