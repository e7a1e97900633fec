import { execFile } from 'node:child_process';
import { copyFile, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect } from 'chai';
import { RegistryClient } from '../../../../workers/builders/oci-images/registry-client.js';
import { NO_REGISTRY, startRegistry, type TestRegistry } from '../../../support/docker-registry.js';
import { NO_IMAGES, pushImage } from '../../../support/test-image.js';

const run = promisify(execFile);
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
    const context = await mkdtemp(join(folder, 'context-'));
    await copyFile('/bin/busybox', join(context, 'busybox'));
    await writeFile(
      join(context, 'Dockerfile'),
      'FROM scratch\nCOPY busybox /\nHEALTHCHECK --interval=2s CMD ["/busybox", "true"]\nCMD ["/busybox"]\n',
    );
    const name = `${registry.address}/checked:1`;
    const place = ['--root', join(folder, 'storage'), '--runroot', join(folder, 'run'), '--storage-driver', 'vfs'];
    await run('buildah', [...place, 'build', '--isolation', 'chroot', '--format', 'docker', '--tag', name, context]);
    await run('buildah', [...place, 'push', '--tls-verify=false', name]);
    expect(await client.healthcheck(name, undefined, SIGNAL)).to.include({ Interval: 2e9 });
    const plain = `${registry.address}/plain:1`;
    await pushImage(folder, plain, {});
    expect(await client.healthcheck(plain, undefined, SIGNAL)).to.equal(null);
  });
});
