import { templates } from '../../api/resources/stacks/templates/catalog.js';
import { PLANS } from '../../shared/services/plan-catalog.js';
import type { Json } from '../support/api.js';
import { visit } from '../support/client.js';
import { deployTemplate, reasonAgainst } from '../support/deploy-template.js';
import { startPlatform } from '../support/platform.js';
import { mochaGlobalSetup, mochaGlobalTeardown } from '../support/postgres.js';
import { eventually } from '../support/processes.js';

/** `npm run check:templates [-- part of a name …]`: deploys each template. Needs npm and image registries. */
const words = process.argv.slice(2).map((word) => word.toLowerCase());
const chosen = [...templates().values()].filter(
  ({ name }) => words.length === 0 || words.some((word) => name.includes(word)),
);
const counts = { live: 0, skipped: 0, FAILED: 0 };
await mochaGlobalSetup();
try {
  const platform = await startPlatform({ engine: 'postgres', env: { METRICS_SECONDS: '5' } });
  try {
    const { project } = await platform.client.expect<Json>('POST', '/projects', { name: 'Templates', color: 'blue' });
    for (const template of chosen) {
      const began = Date.now();
      const reason = await reasonAgainst(template);
      const { result, text } =
        reason === null ? await check(template.name) : { result: 'skipped' as const, text: reason };
      counts[result] += 1;
      const seconds = Math.round((Date.now() - began) / 1000);
      process.stdout.write(`${result.padEnd(7)} ${template.name.padEnd(14)} ${seconds} s  ${text}\n`);
    }

    async function check(name: string): Promise<{ result: 'live' | 'FAILED'; text: string }> {
      const [environment] = project.environments;
      try {
        const service = await deployTemplate(platform, name, environment.id);
        const page = await visit(service.url, platform.edgePort, service.configuration.healthCheckPath || '/');
        const memory = await eventually(`${name} is measured`, () => memoryOf(service));
        await platform.client.expect('DELETE', `/stacks/${name}`, { confirm: name });
        const text = `its page answers ${page.status}, it uses ${memory} MiB`;
        return { result: page.status < 400 ? 'live' : 'FAILED', text };
      } catch (error) {
        return { result: 'FAILED', text: String(error) };
      }
    }

    async function memoryOf({ id, configuration }: Json): Promise<number | undefined> {
      const { metrics } = await platform.client.expect<Json>('GET', `/services/${id}/metrics`);
      const { points } = metrics.series.find(({ name }: Json) => name === 'memory');
      const plan = PLANS.find((each) => each.id === configuration.plan);
      const percent = Math.max(...points.map(([, value]: [string, number]) => value));
      return points.length === 0 ? undefined : Math.round((percent / 100) * (plan?.memoryMb ?? 0));
    }
  } finally {
    await platform.stop();
  }
} finally {
  await mochaGlobalTeardown();
}
process.stdout.write(`${counts.live} are live, ${counts.skipped} were skipped, ${counts.FAILED} failed\n`);
process.exit(counts.FAILED === 0 ? 0 : 1);
