import { expect } from 'chai';
import { DEFAULT_CONFIGURATION } from '../../../../shared/services/configuration.js';
import type { BuildContext } from '../../../../workers/builders/builder.js';
import { createProcessDataBuilder, isDataImage } from '../../../../workers/data/data-builder.js';
import { findHostServers } from '../../../../workers/data/data-kinds.js';
import { isRoot } from '../../../../workers/sandbox/service-users.js';

describe('The image of a data server', () => {
  const context = { signal: new AbortController().signal, log: async () => undefined } as unknown as BuildContext;
  const build = (kind: 'postgres' | 'redis', databaseVersion: '17' | '18' = '18') =>
    createProcessDataBuilder({ providePostgres: async (version) => `postgres-${version}` }).build(
      kind,
      { ...DEFAULT_CONFIGURATION, databaseVersion },
      context,
    );

  it('names the program only, so that each version has a digest of its own', async () => {
    const images = [await build('postgres', '17'), await build('postgres', '18'), await build('redis')];
    expect(images.map(({ manifest }) => manifest.tools)).to.deep.equal([['postgres-17'], ['postgres-18'], []]);
    expect(new Set(images.map(({ digest }) => digest)).size).to.equal(3);
    expect((await build('postgres', '17')).digest).to.equal(images[0]?.digest);
    expect(images.every(({ manifest }) => isDataImage(manifest))).to.equal(true);
  });

  it('is told apart from one of an application, and from one of a registry', () => {
    expect(isDataImage({ runtime: 'node' })).to.equal(false);
    expect(isDataImage({ runtime: 'postgres', reference: 'registry.example.org/postgres:18' })).to.equal(false);
  });

  it('of PostgreSQL runs on no host on which it would run as root', async () => {
    const { kinds } = await findHostServers({ level: 'none' });
    expect(kinds.includes('postgres')).to.equal(!isRoot());
  });
});
