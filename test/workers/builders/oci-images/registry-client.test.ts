import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { RegistryClient } from '../../../../workers/builders/oci-images/registry-client.js';
import { NO_REGISTRY, startRegistry, type TestRegistry } from '../../../support/docker-registry.js';
import { NO_IMAGES, pushBuilt, pushImage } from '../../../support/test-image.js';

const REASON = NO_IMAGES || NO_REGISTRY;
const PORT = 5079;
const SIGNAL = new AbortController().signal;

describe(`RegistryClient${REASON === '' ? '' : `: ${REASON}`}`, function () {
  this.timeout(60_000);
  let folder: string;
  let registry: TestRegistry;
  let client: RegistryClient;

  before(async function () {
    if (REASON !== '') this.skip();
    folder = await mkdtemp(join(tmpdir(), 'ranvier-registry-'));
    registry = await startRegistry(null, folder, PORT);
    client = new RegistryClient({ dataDir: join(folder, 'data'), buildEnvironment: {} });
  });
  after(async () => {
    await registry?.stop();
    if (folder) await rm(folder, { recursive: true, force: true });
  });

  it('reads the HEALTHCHECK of an image in the format of Docker, and none in that of OCI', async () => {
    const name = `${registry.address}/checked:1`;
    await pushBuilt(folder, name, ['FROM scratch', 'HEALTHCHECK --interval=2s CMD ["/busybox", "true"]']);
    const checkOf = async (image: string) => {
      return JSON.parse(await client.config(image, undefined, SIGNAL)).config.Healthcheck;
    };
    expect(await checkOf(name)).to.include({ Interval: 2e9 });
    const plain = `${registry.address}/plain:1`;
    await pushImage(folder, plain, {});
    expect(await checkOf(plain)).to.equal(undefined);
  });
});
