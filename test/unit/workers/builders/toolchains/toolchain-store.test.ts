import { execFile } from 'node:child_process';
import { chmod, mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { promisify } from 'node:util';
import { expect } from 'chai';
import { createLogger } from '../../../../../shared/core/log.js';
import { RegistryFault } from '../../../../../workers/builders/toolchains/npm-registry.js';
import { unpackNode } from '../../../../../workers/builders/toolchains/packed-node.js';
import { ToolchainStore } from '../../../../../workers/builders/toolchains/toolchain-store.js';
import type { ToolWishes } from '../../../../../workers/builders/toolchains/version-wish.js';
import { BuildError } from '../../../../../workers/failures/explained-errors.js';
import { useFolders } from '../../../../support/folders.js';
import { failureOf } from '../../../../support/outcomes.js';

const log = createLogger('test', 'silent');
const signal = new AbortController().signal;

class FakeRegistry {
  isAway = false;
  installed: string[] = [];

  async versions(name: string): Promise<string[]> {
    if (this.isAway) throw new RegistryFault('the package registry did not answer');
    return name === 'pnpm' ? ['9.0.0', '9.1.0'] : [];
  }

  async install(name: string, version: string, folder: string): Promise<boolean> {
    if (!(await this.versions(name)).includes(version)) return false;
    this.installed.push(`${name}@${version}`);
    const target = join(folder, 'node_modules', name);
    await mkdir(join(target, 'bin'), { recursive: true });
    await writeFile(join(target, 'package.json'), JSON.stringify({ name, version, bin: { pnpm: 'bin/pnpm.cjs' } }));
    await writeFile(join(target, 'bin/pnpm.cjs'), `pnpm ${version}`);
    await chmod(join(target, 'bin/pnpm.cjs'), 0o600);
    return true;
  }
}

describe('The package of an old Node.js', () => {
  const newFolder = useFolders();
  it('is unpacked if it contains an archive instead of the program', async () => {
    const folder = await newFolder();
    const place = join(folder, 'node-v4.0.0-linux-x64');
    await mkdir(join(place, 'bin'), { recursive: true });
    await writeFile(join(place, 'bin/node'), 'the program');
    await promisify(execFile)('tar', ['-czf', `${place}.tar.gz`, '-C', folder, basename(place)]);
    await unpackNode(folder, signal);
    expect(await readFile(join(folder, 'bin/node'), 'utf8')).to.equal('the program');
    await rm(`${place}.tar.gz`);
    await unpackNode(folder, signal);
  });
});

describe('The store of tools', () => {
  const newFolder = useFolders();
  let dataDir: string;
  let registry: FakeRegistry;

  beforeEach(async () => {
    dataDir = await newFolder();
    registry = new FakeRegistry();
  });

  const open = () => new ToolchainStore({ dataDir, log, registry });
  const pnpm = (range: string): ToolWishes => ({
    node: null,
    manager: { name: 'pnpm', wish: { range, source: 'package.json' } },
  });
  const provide = (store: ToolchainStore, range: string) =>
    store.provide(pnpm(range), { signal, log: async () => undefined });

  it('installs a version once, also for several stores at a time, and links its programs', async () => {
    const stores = [open(), open(), open()];
    const names = await Promise.all(stores.map((store) => provide(store, '9.x')));
    expect(names).to.deep.equal(Array(3).fill(['pnpm-9.1.0']));
    expect(registry.installed).to.deep.equal(['pnpm@9.1.0']);
    expect(await readFile(join(dataDir, 'toolchains/pnpm-9.1.0/bin/pnpm'), 'utf8')).to.equal('pnpm 9.1.0');
    expect((await readdir(join(dataDir, 'toolchains'))).sort()).to.deep.equal(['pnpm-9.1.0']);
  });

  it('uses what is installed while the registry is away', async () => {
    await provide(open(), '9.0.0');
    registry.isAway = true;
    expect(await provide(open(), '9.0.0')).to.deep.equal(['pnpm-9.0.0']);
    expect(await provide(open(), '9.x')).to.deep.equal(['pnpm-9.0.0']);
    expect(await failureOf(provide(open(), '10.x'))).to.be.instanceOf(RegistryFault);
    expect(await failureOf(provide(open(), '9.1.0'))).to.be.instanceOf(RegistryFault);
  });

  it('leaves nothing of a version that does not exist', async () => {
    const error = await failureOf(provide(open(), '9.2.0'));
    expect(error).to.be.instanceOf(BuildError);
    expect(String(error)).to.contain(
      'asks for pnpm 9.2.0, which the package registry does not have; the newest is 9.1.0',
    );
    expect(await readdir(join(dataDir, 'toolchains'))).to.deep.equal([]);
  });

  it('restores what an image needs, and refuses names of no tool', async () => {
    expect(await open().restore(['pnpm-9.1.0'], signal)).to.deep.equal([join(dataDir, 'toolchains/pnpm-9.1.0')]);
    expect(await failureOf(open().restore(['../x'], signal))).to.be.instanceOf(BuildError);
    expect(() => open().pathOf('../x')).to.throw(/no name of a tool/);
  });

  it('sweeps nothing that was used just now', async () => {
    await provide(open(), '9.x');
    expect(await open().sweep(() => false)).to.equal(0);
  });
});
