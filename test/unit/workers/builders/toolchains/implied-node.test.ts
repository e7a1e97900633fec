import { expect } from 'chai';
import { newestVersion } from '../../../../../workers/builders/toolchains/choose-tools.js';
import {
  bothWishes,
  frameworkNode,
  impliedNode,
  scriptNode,
  wishedNode,
} from '../../../../../workers/builders/toolchains/implied-node.js';
import { npmEngines, pnpmEngines } from '../../../../../workers/builders/toolchains/locked-engines.js';

describe('The Node.js that the packages of a project need', () => {
  it('is read from the lock file of npm', () => {
    const lock = {
      packages: {
        '': { engines: { node: '>=30' } },
        'node_modules/astro': { engines: { node: '>=22.12.0' } },
        'node_modules/@a/b': { engines: { node: '>=18' } },
        'node_modules/astro/node_modules/c': { engines: { node: '>=24' } },
        'node_modules/old': { engines: ['node >= 0.8'] },
      },
    };
    expect(npmEngines(JSON.stringify(lock))).to.deep.equal({ astro: '>=22.12.0', '@a/b': '>=18' });
    expect(npmEngines('{')).to.deep.equal({});
  });

  it('is read from the lock file of pnpm, in each of its formats', () => {
    const nine = `packages:\n\n  '@a/b@1.0.0':\n    resolution: {integrity: x}\n    engines: {node: '>=18'}\n\n  astro@6.0.0:\n    engines: {node: '>=22.12.0', npm: '>=9'}\n`;
    expect(pnpmEngines(nine)).to.deep.equal({ '@a/b': '>=18', astro: '>=22.12.0' });
    expect(pnpmEngines('  /@a/b@1.0.0(c@2.0.0):\n    engines: {node: ">=16"}\n')).to.deep.equal({ '@a/b': '>=16' });
    expect(pnpmEngines('  /astro/1.0.0:\n    engines: {node: ^14.15.0 || >=16.0.0, npm: x}\n')).to.deep.equal({
      astro: '^14.15.0 || >=16.0.0',
    });
  });

  it('is the least one on which all of them run', () => {
    const engines = { astro: '^20.19.5 || >=22.12.0', vite: '>=18', transitive: '>=26' };
    expect(impliedNode({ astro: '^6', vite: '^6' }, engines)).to.deep.equal({
      range: '>=20.19.5',
      source: 'astro',
      lowest: true,
    });
    expect(impliedNode({ vite: '^6' }, engines)).to.equal(null);
    expect(impliedNode({ a: '1' }, { a: 'no version' })).to.equal(null);
  });

  it('is an old one for bundlers that do not run on newer ones, unless another package needs those', () => {
    expect(impliedNode({ 'react-scripts': '4.0.1' }, {})).to.include({ range: '16.x', optional: true });
    expect(impliedNode({ 'react-scripts': '3', 'node-sass': '^4.14' }, {})).to.include({ range: '14.x' });
    expect(impliedNode({ 'react-scripts': '4.0.1', b: '1' }, { b: '>=18' })).to.equal(null);
    for (const range of ['5.0.1', '*', '>=3', 'latest', 'github:a/b', '']) {
      expect(impliedNode({ 'react-scripts': range }, {}), range).to.equal(null);
    }
  });

  it('narrows a range of engines, and nothing that pins a version', () => {
    const implied = { range: '16.x', source: 'webpack in package.json', optional: true };
    const engines = { range: '>=8.9', source: 'engines.node in package.json' };
    expect(wishedNode(engines, implied)?.source).to.equal('engines.node in package.json and webpack in package.json');
    expect(newestVersion('node', ['14.1.0', '16.2.0', '20.1.0'], wishedNode(engines, implied) ?? engines)).to.equal(
      '16.2.0',
    );
    const pinned = { range: '20', source: '.nvmrc' };
    expect(wishedNode(pinned, implied)).to.equal(pinned);
    expect(wishedNode({ ...engines, range: '>=18' }, implied)?.range).to.equal('>=18');
    expect(wishedNode(engines, { range: '>=22', source: 'astro', lowest: true })).to.equal(engines);
  });

  describe('by its framework', () => {
    const named = (range: string, source = '.nvmrc') => ({ range, source });
    const next = { range: '>=20.9.0', source: 'next' };

    it('is that of the most demanding framework or build tool, and of no other package', () => {
      const engines = { next: '>=20.9.0', vite: '^20.19.0 || >=22.12.0', express: '>=24', any: '>=26' };
      expect(frameworkNode({ next: '16', express: '5', any: '1' }, engines)).to.deep.equal(next);
      expect(frameworkNode({ next: '16', vite: '7' }, engines)).to.deep.equal({
        range: '^20.19.0 || >=22.12.0',
        source: 'vite',
      });
      expect(frameworkNode({ express: '5', any: '1' }, engines)).to.equal(null);
      expect(frameworkNode({ next: '16' }, {})).to.equal(null);
      expect(frameworkNode({ next: '16' }, { next: '*' })).to.equal(null);
    });

    it('may be newer than those that the framework knows', () => {
      const angular = frameworkNode({ '@angular/core': '17' }, { '@angular/core': '^18.13.0 || ^20.9.0' });
      const pinned = named('24');
      expect(wishedNode(pinned, null, angular)).to.equal(pinned);
      expect(wishedNode(named('19'), null, angular)?.source).to.equal('@angular/core');
    });

    it('overrules a version on which the framework does not run, and says so', () => {
      for (const source of ['.nvmrc', 'volta.node in package.json', '.tool-versions', 'engines.node in package.json']) {
        const overrules = `${source} asks for Node.js 18`;
        expect(wishedNode(named('18', source), null, next), source).to.deep.equal({ ...next, overrules });
      }
    });

    it('narrows a version that has both', () => {
      const both = wishedNode(named('>=18'), null, next);
      expect(both?.source).to.equal('.nvmrc and next');
      expect(newestVersion('node', ['18.1.0', '20.8.0', '20.10.0'], both ?? next)).to.equal('20.10.0');
      expect(newestVersion('node', ['18.1.0', '20.8.0'], both ?? next)).to.equal(null);
      const exact = named('22.1.0');
      expect(wishedNode(exact, null, next)).to.equal(exact);
      expect(wishedNode({ ...named('*'), newest: true }, null, next)).to.include({ newest: true });
    });
  });

  it('is installed in its lowest major version with long-term support', () => {
    const versions = ['20.1.0', '22.11.0', '22.12.0', '22.20.0', '23.0.0', '24.0.0'];
    const wish = { range: '>=22.12.0', source: 'astro' };
    expect(newestVersion('node', versions, { ...wish, lowest: true })).to.equal('22.20.0');
    expect(newestVersion('node', versions, wish)).to.equal('24.0.0');
    expect(newestVersion('node', ['23.0.0'], { ...wish, lowest: true })).to.equal('23.0.0');
  });

  it('runs TypeScript as it is if the start script does', () => {
    const range = (start: string) => scriptNode({ start })?.range;
    expect(range('node server.ts')).to.equal('>=22.18.0');
    expect(range('NODE_ENV=production node --env-file=.env src/index.mts')).to.equal('>=22.18.0');
    expect(range('node --experimental-strip-types server.ts')).to.equal('>=22.6.0');
    expect(range('node --import=tsx server.ts')).to.equal(undefined);
    expect(range('node --import tsx server.ts')).to.equal(undefined);
    expect(range('node -r ts-node/register server.ts')).to.equal(undefined);
    expect(range('tsx server.ts')).to.equal(undefined);
    expect(scriptNode({ dev: 'node --watch server.ts' })?.range).to.equal('>=22.18.0');
    expect(scriptNode(undefined)).to.equal(null);
    const named = { range: '>=20', source: 'engines.node in package.json' };
    const both = bothWishes(named, scriptNode({ start: 'node a.ts' }));
    expect(both?.source).to.equal(named.source);
    expect(both?.range).to.match(/22\.18\.0/);
  });
});
