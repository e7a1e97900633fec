import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { FakeRuntime } from '../../support/fake-runtime.js';
import { describeRuntime } from './conformance.js';
import { TestHost } from './host.js';

describeRuntime('process', async () => {
  const host = await TestHost.create();
  return {
    runtime: await host.runtime(),
    healthy: (replicas) => host.app({ configuration: { replicas } }),
    broken: () => host.app({ program: 'process.exit(1)' }),
    slow: () => host.app({ program: 'setInterval(() => {}, 1000)' }),
    breakNow: async (spec) => {
      const file = join(host.config.dataDir, 'images', spec.image.digest, 'server.js');
      // Written as a new file, because running replicas have the old one mounted.
      await rm(file);
      await writeFile(file, 'process.exit(1)');
    },
    close: () => host.destroy(),
  };
});

describeRuntime('fake', async () => {
  const host = await TestHost.create();
  const runtime = new FakeRuntime(host.database.db, host.hostId);
  return {
    runtime,
    healthy: (replicas) => host.app({ configuration: { replicas } }),
    broken: async () => {
      const spec = await host.app();
      runtime.script(spec.serviceId, { fail: 'exited with code 1' });
      return spec;
    },
    slow: async () => {
      const spec = await host.app();
      runtime.script(spec.serviceId, { until: () => new Promise(() => undefined) });
      return spec;
    },
    breakNow: async (spec) => runtime.script(spec.serviceId, { fail: 'exited with code 1' }),
    close: () => host.destroy(),
  };
});
