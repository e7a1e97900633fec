import { setTimeout as delay } from 'node:timers/promises';
import { deploy } from '../support/deployments.js';
import { type EngineName, startPlatform } from '../support/platform.js';
import { median, print } from './measure.js';
import { record } from './table.js';

const RELEASES = 5;
const START_MS = 300;
const PAUSE_MS = 5;

const APPLICATION = {
  'server.js': `
    const server = require('node:http').createServer((_, response) => response.end('x'));
    setTimeout(() => server.listen(process.env.PORT), ${START_MS});
    process.on('SIGTERM', () => process.exit(0));`,
};

/** Measures the longest wait of a request while a service with a volume is released. */
export async function benchVolumes(engine: EngineName): Promise<void> {
  const platform = await startPlatform({ engine });
  try {
    const { client } = platform;
    const { service } = await platform.serviceOf('keeper', APPLICATION, { startCommand: 'node server.js' });
    await client.expect('POST', `/services/${service.id}/volumes`, { name: 'data', mountPath: '/data', sizeGb: 1 });
    await deploy(client, service.id);
    const longest: number[] = [];
    for (let release = 0; release < RELEASES; release++) {
      let [waits, isOver] = [0, false];
      const visits = (async () => {
        while (!isOver) {
          const begun = performance.now();
          const { status } = await platform.visit(service);
          if (status !== 200) throw new Error(`a request was answered with ${status}`);
          waits = Math.max(waits, performance.now() - begun);
          await delay(PAUSE_MS);
        }
      })();
      await deploy(client, service.id);
      isOver = true;
      await visits;
      longest.push(waits);
    }
    const reference = `${START_MS} ms to start`;
    print(`  the longest request in each of ${RELEASES} releases: ${median(longest).toFixed(0)} ms, ${reference}`);
    record('hold', median(longest), reference);
  } finally {
    await platform.stop();
  }
}
