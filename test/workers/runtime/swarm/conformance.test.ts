import { NO_DOCKER, NODE_IMAGE } from '../../../support/docker.js';
import { describeRuntime } from '../conformance.js';
import { SwarmHost } from './host.js';

describeRuntime(
  'swarm',
  async () => {
    const host = await SwarmHost.create();
    let apps = 0;
    // Each application has its own image, which a test can replace by a failing one.
    async function app(changes: Parameters<typeof host.app>[0]) {
      const [repo, tag] = [`local/app${++apps}`, 'latest'];
      await host.manager.docker.getImage(NODE_IMAGE).tag({ repo, tag });
      return host.app({
        image: `${repo}:${tag}`,
        command: 'test -z "$BROKEN" && exec node -e "$PROGRAM"',
        ...changes,
      });
    }
    return {
      runtime: await host.runtime(),
      healthy: (replicas) => app({ configuration: { replicas } }),
      broken: () => app({ program: 'process.exit(1)' }),
      slow: () => app({ program: 'setInterval(() => {}, 1000)' }),
      breakNow: (spec) => host.manager.derive(spec.image.manifest.reference ?? '', ['ENV BROKEN=1']),
      close: () => host.destroy(),
    };
  },
  NO_DOCKER,
);
