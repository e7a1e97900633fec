import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'chai';
import { hasNothingToInstall } from '../../../../../workers/builders/dependencies/locked-install.js';
import { useFolders } from '../../../../support/folders.js';

const PLAN = {
  install: ['npm install'],
  manifests: ['package.json'] as string[] | null,
  folders: { install: '', build: '', project: '' },
};
const LOCKED = { ...PLAN, install: ['npm ci'], manifests: ['package.json', 'package-lock.json'] };

describe('An installation that installs nothing', () => {
  const newFolder = useFolders();
  let folder: string;
  beforeEach(async () => {
    folder = await newFolder();
  });

  const write = (name: string, content: object) => writeFile(join(folder, name), JSON.stringify(content));

  it('is that of a project without dependencies', async () => {
    await write('package.json', { name: 'app', scripts: { start: 'node server.js' }, dependencies: {} });
    expect(await hasNothingToInstall(folder, PLAN)).to.equal(true);
    await write('package-lock.json', { lockfileVersion: 3, packages: { '': { name: 'app' } } });
    expect(await hasNothingToInstall(folder, LOCKED)).to.equal(true);
  });

  for (const field of ['dependencies', 'devDependencies', 'optionalDependencies', 'peerDependencies']) {
    it(`has no ${field}`, async () => {
      await write('package.json', { [field]: { ms: '2.1.3' } });
      expect(await hasNothingToInstall(folder, PLAN)).to.equal(false);
    });
  }

  it('has no packages in the repository, and no script that runs', async () => {
    await write('package.json', { workspaces: ['packages/*'] });
    expect(await hasNothingToInstall(folder, PLAN)).to.equal(false);
    await write('package.json', { scripts: { dependencies: 'node change.js' } });
    expect(await hasNothingToInstall(folder, PLAN)).to.equal(false);
    await write('package.json', {});
    expect(await hasNothingToInstall(folder, { ...PLAN, manifests: null }), 'a script of an installation').to.equal(
      false,
    );
  });

  it('is one by npm, and its files can be read', async () => {
    await write('package.json', {});
    expect(await hasNothingToInstall(folder, { ...PLAN, install: ['yarn install'] })).to.equal(false);
    await writeFile(join(folder, 'package.json'), '{');
    expect(await hasNothingToInstall(folder, PLAN)).to.equal(false);
  });

  it('has a lock file without packages', async () => {
    await write('package.json', {});
    await write('package-lock.json', { lockfileVersion: 3, packages: { '': {}, 'node_modules/ms': {} } });
    expect(await hasNothingToInstall(folder, LOCKED)).to.equal(false);
    await write('package-lock.json', { lockfileVersion: 1, dependencies: { ms: {} } });
    expect(await hasNothingToInstall(folder, LOCKED)).to.equal(false);
  });
});
