import { expect } from 'chai';
import { manifestOf } from '../../../../../workers/builders/files/package-manifest.js';
import { projectFiles } from '../../../../../workers/builders/files/project-files.js';
import { nodeWish } from '../../../../../workers/builders/toolchains/node-version.js';
import { packageManagerOf } from '../../../../../workers/builders/toolchains/package-manager.js';
import { intersection, versionWish } from '../../../../../workers/builders/toolchains/version-wish.js';

type Texts = Record<string, string>;

function folder(manifest: object, texts: Texts = {}) {
  const all = { 'package.json': JSON.stringify(manifest), ...texts };
  const files = projectFiles(Object.keys(all), all);
  return { files, manifest: manifestOf(files) };
}

const nodeOf = (manifest: object, texts: Texts = {}) => nodeWish(folder(manifest, texts));

function managerOf(manifest: object, texts: Texts = {}): string {
  const { files, manifest: read } = folder(manifest, texts);
  const { name, wish } = packageManagerOf(files, read);
  return wish === null ? name : `${name} ${wish.range} (${wish.source})`;
}

function installOf(manifest: object, texts: Texts = {}): string {
  const { files, manifest: read } = folder(manifest, texts);
  return packageManagerOf(files, read).install;
}

describe('The Node.js that a project names', () => {
  it('is none if nothing says so', () => {
    expect(nodeOf({})).to.equal(null);
    expect(nodeOf({ engines: { npm: '>=8' }, volta: { npm: '9.0.0' } }, { '.nvmrc': '\n# later\n' })).to.equal(null);
  });

  it('is read from each place, and a pinned version wins over a range', () => {
    const engines = { node: '>=18 <23' };
    expect(nodeOf({ engines })).to.deep.equal({ range: '>=18 <23', source: 'engines.node in package.json' });
    expect(nodeOf({ engines, devEngines: { runtime: { name: 'node', version: '^22' } } })?.range).to.equal('^22');
    expect(nodeOf({ engines }, { '.tool-versions': 'ruby 3.1\nnodejs 20.11.0 18.0.0\n' })?.range).to.equal('20.11.0');
    expect(nodeOf({ engines }, { 'mise.toml': '[tools]\nnode = "22"\n' })?.source).to.equal('mise.toml');
    expect(nodeOf({}, { 'mise.toml': '[tools]\nnode = { version = "20.1" }\n' })?.range).to.equal('20.1');
    expect(nodeOf({}, { '.tool-versions': 'nodejs system\n', '.mise.toml': 'node = ["lts"]' })?.range).to.equal('*');
    expect(nodeOf({ engines }, { '.node-version': 'v21.1.0\n' })?.range).to.equal('21.1.0');
    expect(nodeOf({ engines }, { '.nvmrc': '22 # ours\n' })).to.deep.equal({ range: '22', source: '.nvmrc' });
    expect(nodeOf({ engines, volta: { node: '20.9.0' } }, { '.nvmrc': '22' })?.range).to.equal('20.9.0');
  });

  it('is that of the workspace if the project names none', () => {
    const root = folder({ engines: { node: '22.x' } }, { '.nvmrc': '20' });
    expect(nodeWish(folder({ engines: { node: '>=18' } }), root)?.source).to.equal('.nvmrc');
    expect(nodeWish(folder({}), folder({ engines: { node: '22.x' } }))?.range).to.equal('22.x');
  });

  it('may have the names that version managers know', () => {
    const range = (text: string) => versionWish(text, '.nvmrc', 'Node.js').range;
    expect(range('lts/jod')).to.equal('22.x');
    expect(range('lts/*')).to.equal('*');
    expect(range('node-20.1.0')).to.equal('20.1.0');
    expect(range('v18')).to.equal('18');
    expect(versionWish('latest', '.nvmrc', 'Node.js').newest).to.equal(true);
  });

  it('is refused with what to write if it is no version', () => {
    expect(() => nodeOf({}, { '.nvmrc': 'the newest please' })).to.throw(
      /^\.nvmrc asks for Node\.js "the newest please", which is no version\. Write a version such as 22 or >=20, or remove/,
    );
    expect(() => nodeOf({ engines: { node: `${'>=1 '.repeat(10_000)}` } })).to.throw(/which is no version/);
  });
});

describe('The package manager that a project names', () => {
  const lock = (version: string) => ({ 'pnpm-lock.yaml': `lockfileVersion: '${version}'\n\nsettings:\n` });
  const berry = (version: number) => ({
    'yarn.lock': `# This file is generated\n\n__metadata:\n  version: ${version}\n`,
  });

  it('is the one of packageManager, whatever lock files are left', () => {
    const hash = 'sha512.abcdef';
    expect(managerOf({ packageManager: `pnpm@9.1.1+${hash}` }, { 'package-lock.json': '{}' })).to.equal(
      'pnpm 9.1.1 (packageManager in package.json)',
    );
    expect(managerOf({ packageManager: 'yarn@4.5.0' })).to.match(/^yarn 4\.5\.0 /);
    expect(managerOf({ packageManager: 'bun@1.2.0' })).to.match(/^bun 1\.2\.0 /);
    expect(managerOf({ packageManager: 'npm@10.8.1' })).to.match(/^npm 10\.8\.1 /);
    expect(managerOf({ packageManager: 'cnpm@1.0.0' })).to.equal('npm');
    const devEngines = { packageManager: [{ name: 'pnpm', version: '^10.2.0' }] };
    expect(managerOf({ devEngines })).to.equal('pnpm ^10.2.0 (devEngines.packageManager in package.json)');
    expect(() => managerOf({ packageManager: 'pnpm@https://x.test/pnpm.tgz' })).to.throw(/which is no version/);
  });

  it('is else the one that wrote the lock file, in a version that reads its format', () => {
    expect(managerOf({}, lock('5.3'))).to.equal('pnpm 6.x (pnpm-lock.yaml)');
    expect(managerOf({}, lock('5.4'))).to.equal('pnpm 7.x (pnpm-lock.yaml)');
    expect(managerOf({}, lock('6.0'))).to.equal('pnpm 8.x (pnpm-lock.yaml)');
    expect(managerOf({}, lock('9.0'))).to.equal('pnpm 9.x (pnpm-lock.yaml)');
    expect(managerOf({}, { 'yarn.lock': '# yarn lockfile v1\n' })).to.equal('yarn 1.x (yarn.lock)');
    expect(managerOf({}, berry(6))).to.equal('yarn 3.x (yarn.lock)');
    expect(managerOf({}, berry(8))).to.equal('yarn >=4 (yarn.lock)');
    expect(managerOf({}, { 'bun.lock': '{}', 'package-lock.json': '{}' })).to.equal('bun 1.x (bun)');
    expect(managerOf({}, { 'package-lock.json': '{}' })).to.equal('npm');
    // pnpm ignores this field.
    expect(managerOf({ workspaces: ['a'] }, lock('9.0'))).to.equal('npm');
    expect(managerOf({ workspaces: ['a'] }, { ...lock('9.0'), 'pnpm-workspace.yaml': 'packages: [a]' })).to.match(
      /^pnpm/,
    );
    expect(managerOf({})).to.equal('npm');
  });

  it('is pnpm 10 if only that reads the settings or the patches', () => {
    const workspace = (text: string) => ({ ...lock('9.0'), 'pnpm-workspace.yaml': text });
    expect(managerOf({}, workspace('packages: [a]\ncatalog: {}\n'))).to.match(/^pnpm 9\.x/);
    expect(managerOf({}, workspace('packages: [a]\nonlyBuiltDependencies: [esbuild]\n'))).to.match(/^pnpm 10\.x/);
    const patched = `lockfileVersion: '9.0'\n\npatchedDependencies:\n  a@1.0.0:\n    hash: ${'0f'.repeat(32)}\n    path: p\n`;
    expect(managerOf({}, { 'pnpm-lock.yaml': patched })).to.match(/^pnpm 10\.x/);
    expect(() => managerOf({}, workspace('a: ['))).to.throw(/^pnpm-workspace\.yaml is no valid YAML: .*Correct/);
  });

  it('keeps to engines, volta and .tool-versions', () => {
    const both = managerOf({ engines: { pnpm: '>=9.4' } }, lock('9.0'));
    expect(both).to.equal('pnpm >=9.0.0 <10.0.0-0 >=9.4.0 (engines.pnpm in package.json and pnpm-lock.yaml)');
    expect(managerOf({ engines: { pnpm: '10.x' } }, lock('9.0'))).to.match(/^pnpm >=10\.0\.0 <11\.0\.0-0 \(engines/);
    expect(managerOf({ volta: { yarn: '1.22.19' } })).to.equal('yarn 1.22.19 (volta.yarn in package.json)');
    expect(managerOf({}, { ...lock('9.0'), '.tool-versions': 'pnpm 9.12.0' })).to.match(/^pnpm 9\.12\.0 \(\.tool/);
    expect(managerOf({ engines: { npm: 'please-use-yarn', yarn: '>=1.22' } })).to.match(/^yarn >=1\.22\.0 /);
  });

  it('is the release of yarn that the repository has, in its version from the registry', () => {
    const rc = { '.yarnrc.yml': 'nodeLinker: node-modules\nyarnPath: .yarn/releases/yarn-3.6.4.cjs\n' };
    expect(managerOf({}, { ...berry(6), ...rc })).to.equal('yarn 3.6.4 (yarnPath in .yarnrc.yml)');
    const { files, manifest } = folder({}, { ...berry(6), ...rc });
    expect(packageManagerOf(files, manifest).environment).to.include({ YARN_IGNORE_PATH: '1' });
    const own = { 'yarn.lock': '# yarn lockfile v1\n', '.yarnrc': 'yarn-path ".yarn/releases/yarn-1.22.19.cjs"\n' };
    expect(managerOf({}, own)).to.equal('yarn 1.22.19 (yarn-path in .yarnrc)');
  });

  it('installs what the lock file says if there is one', () => {
    expect(installOf({}, { 'package-lock.json': '{}' })).to.equal('npm ci');
    expect(installOf({})).to.equal('npm install');
    expect(installOf({}, lock('9.0'))).to.equal('pnpm install --frozen-lockfile');
    expect(installOf({ packageManager: 'pnpm@9.0.0' }, { 'yarn.lock': '' })).to.equal(
      'pnpm install --no-frozen-lockfile',
    );
    expect(installOf({}, { 'yarn.lock': '# yarn lockfile v1\n' })).to.equal(
      'yarn install --frozen-lockfile --ignore-engines',
    );
    expect(installOf({}, berry(8))).to.equal('yarn install --immutable');
    expect(installOf({ packageManager: 'yarn@4.5.0' })).to.equal('yarn install --no-immutable');
    expect(installOf({}, { 'bun.lockb': '' })).to.equal('bun install --frozen-lockfile');
  });

  it('puts the dependencies of yarn 2 and later where the image has them', () => {
    const environment = (texts: Texts) => {
      const { files, manifest } = folder({ packageManager: 'yarn@4.5.0' }, texts);
      const { environment: both, caches } = packageManagerOf(files, manifest);
      return { linker: both.YARN_NODE_LINKER, global: both.YARN_ENABLE_GLOBAL_CACHE, kept: caches.YARN_GLOBAL_FOLDER };
    };
    expect(environment({})).to.deep.equal({ linker: 'node-modules', global: undefined, kept: 'yarn-berry' });
    const pnp = { linker: undefined, global: 'false', kept: undefined };
    expect(environment({ '.yarnrc.yml': 'nodeLinker: pnp\n' })).to.deep.equal(pnp);
    expect(environment({ '.pnp.cjs': '' })).to.deep.equal(pnp);
  });
});

describe('The intersection of two ranges', () => {
  it('contains what both contain', () => {
    expect(intersection('^20 || ^22', '>=21')).to.equal('>=22.0.0 <23.0.0-0 >=21.0.0');
    expect(intersection('18.x', '>=20')).to.equal(null);
    expect(intersection('*', '*')).to.equal('*');
  });
});
