import { mkdir, realpath, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'chai';
import {
  isExact,
  isForOthers,
  isInstalled,
  lockedInstall,
} from '../../../../../workers/builders/dependencies/locked-install.js';
import { useFolders } from '../../../../support/folders.js';

const PACKAGE = { version: '1.0.0', integrity: 'sha512-abc' };
const LOCK = { lockfileVersion: 3, packages: { '': { name: 'app' }, 'node_modules/a': PACKAGE } };

describe('An installation that its lock file decides', () => {
  const newFolder = useFolders();
  it('has a checksum for each package and runs no script', () => {
    const exact = (entry: object, path = 'node_modules/a') => isExact({ '': {}, [path]: entry });
    expect(exact(PACKAGE)).to.equal(true);
    expect(exact({ version: '1.0.0', inBundle: true })).to.equal(true);
    expect(exact({ version: '1.0.0' })).to.equal(false);
    expect(exact({ ...PACKAGE, integrity: 'sha1-abc' })).to.equal(false);
    expect(exact({ ...PACKAGE, hasInstallScript: true })).to.equal(false);
    const foreign = { ...PACKAGE, hasInstallScript: true, os: [`!${process.platform}`] };
    expect(exact({ ...foreign, optional: true }), 'it is not installed').to.equal(true);
    expect(exact(foreign)).to.equal(false);
    expect(exact({ ...foreign, os: undefined, libc: ['musl'], optional: true }), 'which a host may have').to.equal(
      false,
    );
    expect(exact({ ...PACKAGE, link: true })).to.equal(false);
    expect(exact(PACKAGE, 'packages/a')).to.equal(false);
    expect(isExact(null)).to.equal(false);
  });

  it('has put there what this host needs', async () => {
    const folder = await newFolder();
    const foreign = { optional: true, os: [`!${process.platform}`], dependencies: { helper: '1' } };
    const wanted = {
      '': { dependencies: { a: '1' } },
      'node_modules/a': { optionalDependencies: { foreign: '1', native: '1' } },
      'node_modules/foreign': foreign,
      'node_modules/helper': { optional: true },
      'node_modules/native': { optional: true },
    };
    const isWhole = async (...installed: string[]) => {
      const packages = Object.fromEntries(installed.map((name) => [`node_modules/${name}`, {}]));
      await mkdir(join(folder, 'node_modules'), { recursive: true });
      await writeFile(join(folder, 'node_modules/.package-lock.json'), JSON.stringify({ packages }));
      await writeFile(join(folder, 'package-lock.json'), JSON.stringify({ packages: wanted }));
      return isInstalled({ app: await realpath(folder), folder: '', dependencies: 'node_modules' });
    };
    expect(await isWhole('a', 'native'), 'the helper is one of the foreign package').to.equal(true);
    expect(await isWhole('a'), 'npm goes on without an optional package').to.equal(false);
    expect(await isWhole('native')).to.equal(false);
  });

  it('may leave out packages for other platforms only', () => {
    const place = { os: 'linux', cpu: 'x64' };
    expect(isForOthers({ ...PACKAGE, optional: true }, place)).to.equal(false);
    expect(isForOthers({ os: ['darwin'] }, place)).to.equal(true);
    expect(isForOthers({ os: ['!linux'] }, place)).to.equal(true);
    expect(isForOthers({ os: ['!win32'], cpu: ['x64'] }, place)).to.equal(false);
    expect(isForOthers({ os: ['linux'], cpu: ['arm64'] }, place)).to.equal(true);
    expect(isForOthers({ os: ['linux'], cpu: ['x64'], libc: ['musl'] }, place)).to.equal(true);
    expect(isForOthers({ os: ['linux'], cpu: ['x64'], libc: ['glibc'] }, place)).to.equal(false);
    expect(isForOthers(null, place)).to.equal(false);
  });

  describe('is named', () => {
    const MANIFESTS = ['package.json', 'package-lock.json'];
    const PLAN = {
      install: ['npm ci'],
      build: [] as string[],
      manifests: MANIFESTS,
      dependencies: 'node_modules',
      folders: { install: '', build: '', project: '' },
    };
    let folder: string;
    beforeEach(async () => {
      folder = await newFolder();
      await write('package.json', { name: 'app' });
      await write('package-lock.json', LOCK);
    });

    const write = (name: string, content: object) => writeFile(join(folder, name), JSON.stringify(content));

    it('by the text of all its files', async () => {
      const first = await lockedInstall(folder, PLAN);
      expect(first).to.match(/^[0-9a-f]{64}$/);
      expect(await lockedInstall(folder, PLAN)).to.equal(first);
      await write('package.json', { name: 'app', version: '2.0.0' });
      expect(await lockedInstall(folder, PLAN))
        .to.match(/^[0-9a-f]{64}$/)
        .and.not.equal(first);
    });

    it('only if nothing else decides it', async () => {
      expect(await lockedInstall(folder, { ...PLAN, install: ['npm install'] })).to.equal(null);
      expect(await lockedInstall(folder, { ...PLAN, manifests: null })).to.equal(null);
      expect(await lockedInstall(folder, { ...PLAN, manifests: [...MANIFESTS, '.npmrc'] })).to.equal(null);
      await write('package.json', { scripts: { dependencies: 'node change.js' } });
      expect(await lockedInstall(folder, PLAN)).to.equal(null);
      await write('package.json', {});
      await write('npm-shrinkwrap.json', { lockfileVersion: 1, dependencies: {} });
      const both = { ...PLAN, manifests: [...MANIFESTS, 'npm-shrinkwrap.json'] };
      expect(await lockedInstall(folder, both), 'the other lock file counts').to.equal(null);
    });
  });
});
