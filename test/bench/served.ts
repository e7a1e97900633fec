import { setTimeout as delay } from 'node:timers/promises';
import { visit } from '../support/client.js';
import { type Deployment, queueDeploy, type Service } from '../support/deployments.js';
import type { Platform } from '../support/platform.js';
import { eventually } from '../support/processes.js';
import { median, print } from './measure.js';
import { type Figure, record } from './table.js';

/** Deploys, and waits for the first answer with the new content. The pauses leave processor time to the platform. */
export async function served(platform: Platform, service: Service, word: string, pauseMs: number): Promise<void> {
  await queueDeploy(platform.client, service.id);
  for (;;) {
    if ((await visit(service.url, platform.edgePort)).body.toString().includes(word)) return;
    await delay(pauseMs);
  }
}

export async function openDeployments(platform: Platform): Promise<number> {
  const row = await platform.database.db('deployments').whereNull('finished_at').count({ count: '*' }).first();
  return Number(row?.count);
}

/** Resolves when no deployment is open, and the work after the last one has had time to end. */
export async function quiet(platform: Platform): Promise<void> {
  await eventually('nothing is open', async () => (await openDeployments(platform)) === 0);
  await delay(500);
}

/** Records and prints how much longer deployments took than the same work by hand. */
export function report(figure: Figure, what: string, hand: readonly number[], ours: readonly number[]): void {
  const above = median(ours.map((time, i) => time - (hand[i] ?? 0)));
  const figures = [median(hand), median(ours)].map(Math.round);
  record(figure, above, `by hand ${figures[0]} ms`);
  print(`  ${what}: by hand ${figures[0]} ms, deployed ${figures[1]} ms, above by hand ${Math.round(above)} ms`);
}

/** Prints the median duration of each step, without the first deployment. */
export async function printSteps({ client }: Platform, { id }: Service): Promise<void> {
  const { items } = await client.expect<{ items: Deployment[] }>('GET', `/services/${id}/deploys?limit=100`);
  const times = new Map<string, number[]>();
  for (const { name, startedAt, finishedAt } of items.slice(0, -1).flatMap(({ steps }) => steps)) {
    if (finishedAt === null) continue;
    times.set(name, [...(times.get(name) ?? []), Date.parse(finishedAt) - Date.parse(startedAt)]);
  }
  print(`    steps: ${[...times].map(([name, all]) => `${name} ${median(all)} ms`).join(', ')}`);
}
