import type { Json } from '../support/api.js';
import { type EngineName, startPlatform } from '../support/platform.js';
import { measure, median, print } from './measure.js';
import { record } from './table.js';

const SERVICES = 200;
const VARIABLES = 5;
const ROUNDS = 9;

/** Measures the plan of a large environment that already is as its document says. */
export async function benchStacks(engine: EngineName): Promise<void> {
  const platform = await startPlatform({ engine, workers: 0 });
  try {
    const { client } = platform;
    const { project } = await client.expect<Json>('POST', '/projects', { name: 'Large', color: 'blue' });
    const environmentId = project.environments[0].id;
    for (let index = 0; index < SERVICES; index++) {
      const { service } = await client.expect<Json>('POST', '/services', {
        name: `service-${index}`,
        kind: 'web',
        projectId: project.id,
        environmentId,
        configuration: { repository: 'https://example.test/a/b.git' },
      });
      const set = Array.from({ length: VARIABLES }, (_, i) => ({ key: `KEY_${i}`, value: `value ${i}` }));
      await client.expect('PUT', `/services/${service.id}/variables`, { set });
    }
    const { document } = await client.expect<Json>('GET', `/environments/${environmentId}/stack`);
    const body = { name: 'large', document, environmentId };
    const times: number[] = [];
    for (let round = 0; round < ROUNDS; round++) {
      times.push(
        await measure(async () => {
          const { plan } = await client.expect<Json>('POST', '/stacks/plan', body);
          if (plan.changes.length > 0) throw new Error(`${plan.changes.length} changes were planned`);
        }),
      );
    }
    print(
      `  the plan of ${SERVICES} services: ${median(times).toFixed(0)} ms, at most ${Math.max(...times).toFixed(0)}`,
    );
    record('plan', median(times), `${(document.length / 1024).toFixed(0)} kB`);
  } finally {
    await platform.stop();
  }
}
