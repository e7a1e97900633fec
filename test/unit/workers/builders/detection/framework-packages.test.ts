import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { expect } from 'chai';
import { mayUseFramework, PACKAGES } from '../../../../../workers/builders/detection/framework-packages.js';

interface Framework {
  npmDependencies: string[];
}

describe('Packages of frameworks', () => {
  it('are those by which build-info knows a framework', async () => {
    const main = createRequire(import.meta.url).resolve('@netlify/build-info');
    const { frameworks } = (await import(join(dirname(main), 'frameworks/index.js'))) as {
      frameworks: (new (project: object, path: string) => Framework)[];
    };
    const known = frameworks.flatMap((Found) => new Found({}, '/').npmDependencies);
    expect([...PACKAGES].sort()).to.deep.equal([...new Set(known)].sort());
  });

  it('are looked for among the dependencies of all kinds that build-info reads', () => {
    const uses = (value: object) => mayUseFramework(JSON.stringify(value));
    expect(uses({ dependencies: { vite: '' } })).to.equal(true);
    expect(uses({ devDependencies: { '@sveltejs/kit': '2' } })).to.equal(true);
    expect(
      uses({ dependencies: { ms: '2.1.3' }, devDependencies: ['vite'], peerDependencies: { vite: '8' } }),
    ).to.equal(false);
    expect(uses({})).to.equal(false);
  });
});
