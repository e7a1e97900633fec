import { expect } from 'chai';
import { type ImageTask, pull } from '../../../../../workers/builders/oci-images/image-builder.js';
import type { RegistryClient } from '../../../../../workers/builders/oci-images/registry-client.js';

const ACCOUNT = { username: 'u', password: 'p', serveraddress: 'localhost:5000' };

describe('The registry of an image that a Dockerfile names', () => {
  async function pulled(allowLocal: boolean, account: typeof ACCOUNT | undefined): Promise<string> {
    const copied: string[] = [];
    const registry = { copy: async (name: string) => void copied.push(name) } as unknown as RegistryClient;
    const limit = { signal: new AbortController().signal } as ImageTask['limit'];
    const failed = await pull(
      { options: { registry, allowLocal }, limit },
      'localhost:5000/x',
      '/layout',
      account,
    ).catch((error: Error) => error.message);
    return failed ?? copied.join();
  }

  it('is not at a private address, unless the installation allows it or an operator has named it', async () => {
    expect(await pulled(false, undefined)).to.match(/is at the private address/);
    expect(await pulled(true, undefined)).to.equal('localhost:5000/x');
    expect(await pulled(false, ACCOUNT)).to.equal('localhost:5000/x');
  });
});
