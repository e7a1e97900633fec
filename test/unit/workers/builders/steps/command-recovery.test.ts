import { spawnSync } from 'node:child_process';
import { mkdir, readdir, realpath, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'chai';
import {
  buildRecovery,
  hidePackages,
  installRecovery,
  nodeRecovery,
} from '../../../../../workers/builders/steps/command-recovery.js';
import { hasHeaders } from '../../../../../workers/builders/toolchains/node-headers.js';
import { useFolders } from '../../../../support/folders.js';

describe('A second attempt of an installation', () => {
  const newFolder = useFolders();
  const instead = (command: string, line: string) => installRecovery(command, ['before', line, 'after'])?.command;

  it('ignores conflicts of peer dependencies', () => {
    expect(instead('npm ci', 'npm error code ERESOLVE')).to.equal('npm ci --legacy-peer-deps');
    expect(instead('npm install', 'npm ERR! code ERESOLVE')).to.equal('npm install --legacy-peer-deps');
    expect(instead('npm ci --legacy-peer-deps', 'npm error code ERESOLVE')).to.equal(undefined);
    expect(instead('npm ci', 'npm warn ERESOLVE overriding peer dependency')).to.equal(undefined);
  });

  it('installs what package.json says if the lock file does not match it', () => {
    const npm =
      'npm error `npm ci` can only install packages when your package.json and package-lock.json are in sync.';
    expect(instead('npm ci', npm)).to.equal('npm install');
    expect(instead('npm ci --legacy-peer-deps', npm)).to.equal('npm install --legacy-peer-deps');
    const pnpm = 'ERR_PNPM_OUTDATED_LOCKFILE  Cannot install with "frozen-lockfile"';
    expect(instead('pnpm install --frozen-lockfile', pnpm)).to.equal('pnpm install --no-frozen-lockfile');
    const yarn = 'error Your lockfile needs to be updated, but yarn was run with `--frozen-lockfile`.';
    expect(instead('yarn install --frozen-lockfile --ignore-engines', yarn)).to.equal('yarn install --ignore-engines');
    expect(instead('yarn install --immutable', '➤ YN0028: The lockfile')).to.equal('yarn install --no-immutable');
    expect(instead('bun install --frozen-lockfile', 'error: lockfile had changes, but lockfile is frozen')).to.equal(
      'bun install',
    );
  });

  it('compiles native modules with the headers of this host if none can be fetched', () => {
    const line = 'gyp ERR! stack Error: This is most likely not a problem with node-gyp or the package itself and';
    expect(installRecovery('yarn install', [line])).to.deep.include({ command: 'yarn install', ownHeaders: true });
  });

  it('finds the headers beside the Node.js that a build uses, and takes no others', async () => {
    const folder = await newFolder();
    const place = await realpath(folder);
    for (const name of ['own', 'tool', 'bare']) {
      await mkdir(join(place, name, 'bin'), { recursive: true });
      await writeFile(join(place, name, 'bin/node'), '');
      if (name === 'bare') continue;
      await mkdir(join(place, name, 'include/node'), { recursive: true });
      await writeFile(join(place, name, 'include/node/node.h'), '');
    }
    const own = join(place, 'own/bin/node');
    expect(await hasHeaders([], own)).to.equal(true);
    expect(await hasHeaders([join(place, 'npm'), join(place, 'tool')], join(place, 'bare/bin/node'))).to.equal(true);
    expect(await hasHeaders([join(place, 'bare')], own)).to.equal(false);
  });

  it('hides packages of a workspace until the command ends, whatever their names and its end', async () => {
    const place = await newFolder();
    const names = ['-a', "it's $(touch made)", 'b'];
    for (const name of names) await mkdir(join(place, name));
    for (const name of names.slice(0, 2)) await writeFile(join(place, name, 'package.json'), '{}');
    const { status, stdout } = spawnSync('sh', ['-c', `${hidePackages(names)}ls ./*/*; exit 3`], { cwd: place });
    expect([status, stdout.toString()]).to.deep.equal([3, '']);
    for (const name of names.slice(0, 2)) expect(await readdir(join(place, name))).to.deep.equal(['package.json']);
    expect((await readdir(place)).sort()).to.deep.equal([...names].sort());
  });

  it('is not made for other failures', () => {
    expect(instead('npm ci', 'npm error code E404')).to.equal(undefined);
    expect(instead('make', 'ERESOLVE')).to.equal(undefined);
  });

  it('builds without CI if warnings would count as errors', () => {
    const line = 'Treating warnings as errors because process.env.CI = true.';
    expect(buildRecovery(['yarn install'], [line])).to.deep.include({ install: null, environment: { CI: 'false' } });
  });

  it('has an empty history for commands that ask git', () => {
    const line = 'fatal: not a git repository (or any of the parent directories): .git';
    expect(buildRecovery(['npm ci'], [line])?.install).to.match(/^git init -q && git .*commit -q --allow-empty/);
    const second = instead('npm ci', 'fatal: not in a git directory') ?? '';
    expect(second).to.match(/^git init .* && npm ci$/);
    expect(instead(second, line)).to.equal(undefined);
  });

  it('leaves out a lock file that lacks the programs of this platform', () => {
    const line =
      'Error: Cannot find module @rollup/rollup-linux-x64-gnu. npm has a bug related to optional dependencies';
    expect(buildRecovery(['npm ci'], [line])?.install).to.match(
      /^rm -rf node_modules package-lock\.json && npm install/,
    );
    expect(buildRecovery(['pnpm install --frozen-lockfile'], [line])).to.equal(null);
    expect(buildRecovery(['npm ci'], ['Cannot find module ./linux'])).to.equal(null);
  });

  it('uses the Node.js that a failed installation asks for', () => {
    const wanted = (...lines: string[]) => nodeRecovery(['before', ...lines, 'after'])?.range;
    const yarn =
      'error x@1.0.0: The engine "node" is incompatible with this module. Expected version "^22 || >=24". Got "20.1.0"';
    expect(wanted(yarn)).to.equal('^22 || >=24');
    expect(wanted('npm error notsup Required: {"node":">=22.13"}')).to.equal('>=22.13');
    expect(wanted('ERR_PNPM_UNSUPPORTED_ENGINE', 'Expected version: >=22.13', 'Got: v20.20.2')).to.equal('>=22.13');
    expect(wanted('Node.js version ">=22.12.0" is required.')).to.equal('>=22.12.0');
    expect(wanted('gyp info it worked', '../nan/nan.h:62:2: error: #error x')).to.equal('16.x');
    expect(wanted('gyp ERR! not ok', 'fatal error: vips/vips8: No such file or directory')).to.equal(undefined);
    expect(wanted('Expected version "whatever". Got "1"', 'npm error code E404')).to.equal(undefined);
  });
});
