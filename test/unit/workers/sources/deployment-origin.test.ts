import { expect } from 'chai';
import { DEFAULT_CONFIGURATION } from '../../../../shared/services/configuration.js';
import { createOriginResolver, type OriginOptions } from '../../../../workers/sources/deployment-origin.js';
import type { RepositorySource } from '../../../../workers/sources/repository-source.js';

const ADDRESSES: Record<string, string[]> = {
  'registry.test': ['93.184.216.34'],
  'inside.test': ['10.0.0.5'],
  'both.test': ['93.184.216.34', '169.254.169.254'],
};

describe('The registry of an image', () => {
  const asked: string[] = [];
  const resolveDigest = async (name: string) => {
    asked.push(name);
    return 'a'.repeat(64);
  };
  const resolver = (allowLocal: boolean, account: Awaited<ReturnType<Account>> = null) =>
    createOriginResolver({
      source: {} as RepositorySource,
      policy: { allowLocal, ownPrefix: null },
      images: { resolveDigest, findAccount: async () => account },
      addresses: {
        allowLocal,
        resolve: async (host) => ADDRESSES[host] ?? Promise.reject(new Error('no such name')),
        isPrivate: (address) => address !== '93.184.216.34',
      },
    });
  type Account = NonNullable<OriginOptions['images']>['findAccount'];
  const resolve = (image: string, { allowLocal = false, account }: { allowLocal?: boolean; account?: string } = {}) => {
    const found = account === undefined ? null : { username: 'u', password: 'p', serveraddress: account };
    return resolver(allowLocal, found).resolve({
      workspaceId: 'w',
      configuration: { ...DEFAULT_CONFIGURATION, sourceType: 'image', image, registryId: account ?? '' },
      sha: '',
      signal: new AbortController().signal,
    });
  };
  beforeEach(() => asked.splice(0));

  it('is not asked if its name leads to a private address', async () => {
    for (const host of ['inside.test', 'both.test:5000', 'INSIDE.test:80'])
      expect(await resolve(`${host}/team/app:1`).catch((error: Error) => error.message), host).to.match(
        /is at the private address (10|169)/,
      );
    expect(asked).to.deep.equal([]);
  });

  it('is asked if it is public, unknown here, of an account that an operator made, or if private addresses are allowed', async () => {
    await resolve('registry.test/team/app:1');
    await resolve('elsewhere.test/team/app:1');
    await resolve('inside.test/team/app:1', { account: 'inside.test' });
    await resolve('inside.test/team/app:1', { allowLocal: true });
    expect(asked.map((name) => name.split('/')[0])).to.deep.equal([
      ...['registry.test', 'elsewhere.test', 'inside.test', 'inside.test'],
    ]);
  });
});
