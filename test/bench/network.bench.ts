import { setTimeout as delay } from 'node:timers/promises';
import { npmApp } from '../support/apps.js';
import { visit } from '../support/client.js';
import { createService, deploy, queueDeploy, type Service } from '../support/deployments.js';
import { type EngineName, type Platform, startPlatform } from '../support/platform.js';
import { endedChildrenMs, processorMs } from '../support/processor-time.js';
import { createPlatformRepository, type TestRepository } from '../support/repositories.js';
import { measure, median, print } from './measure.js';

const ROUNDS = 12;
const KINDS = {
  site: (word: string) => ({ 'index.html': word }),
  'npm application': (word: string) => npmApp(word),
};

interface Cost {
  wallMs: number[];
  cpuMs: number[];
}

/** Measures what network isolation costs a deployment, on a platform with it and one without, in turns. */
export async function benchNetwork(engine: EngineName): Promise<void> {
  const platforms = {
    shared: await startPlatform({ engine, env: { NETWORK: 'shared' } }),
    namespaces: await startPlatform({ engine, env: { NETWORK: 'auto' } }),
  };
  const repositories: TestRepository[] = [];
  try {
    const [row] = await platforms.namespaces.database.db('workers').select('network_isolation');
    if (row?.network_isolation !== true) return print('  SKIPPED: this host gives no network namespaces');
    for (const [kind, files] of Object.entries(KINDS)) {
      const repository = await createPlatformRepository(files('round 0.'));
      repositories.push(repository);
      await benchKind(kind, files, repository, platforms);
    }
  } finally {
    await Promise.all(Object.values(platforms).map((platform) => platform.stop()));
    for (const repository of repositories) await repository.remove();
  }
}

async function benchKind(
  kind: string,
  files: (word: string) => Record<string, string>,
  repository: TestRepository,
  platforms: Record<'shared' | 'namespaces', Platform>,
): Promise<void> {
  const services = new Map<Platform, Service>();
  const costs = new Map<Platform, Cost>();
  for (const platform of Object.values(platforms)) {
    const service = await createService(platform.client, {
      name: 'one',
      configuration: { repository: repository.url },
    });
    await deploy(platform.client, service.id);
    services.set(platform, service);
    costs.set(platform, { wallMs: [], cpuMs: [] });
  }
  for (let round = 1; round <= ROUNDS; round++) {
    await repository.commit(`round ${round}`, files(`round ${round}.`));
    const turns = Object.values(platforms);
    for (const platform of round % 2 === 0 ? turns : turns.reverse()) {
      const service = services.get(platform);
      const cost = costs.get(platform);
      if (service === undefined || cost === undefined) continue;
      const before = await cpuOf(platform);
      cost.wallMs.push(await measure(() => served(platform, service, `round ${round}.`)));
      await settled(platform);
      cost.cpuMs.push((await cpuOf(platform)) - before);
    }
  }
  const figures = (platform: Platform) => {
    const { wallMs, cpuMs } = costs.get(platform) ?? { wallMs: [], cpuMs: [] };
    return { wall: median(wallMs), cpu: median(cpuMs) };
  };
  const [own, shared] = [figures(platforms.namespaces), figures(platforms.shared)];
  print(
    `  ${kind}: a network of its own ${own.wall.toFixed(0)} ms, processor ${own.cpu.toFixed(0)} ms; ` +
      `shared ${shared.wall.toFixed(0)} ms, ${shared.cpu.toFixed(0)} ms; ` +
      `ratio ${(own.wall / shared.wall).toFixed(2)}, of processor ${(own.cpu / shared.cpu).toFixed(2)}`,
  );
}

async function served(platform: Platform, service: Service, word: string): Promise<void> {
  await queueDeploy(platform.client, service.id);
  while (!(await visit(service.url, platform.edgePort)).body.toString().includes(word)) await delay(5);
}

async function settled({ database: { db } }: Platform): Promise<void> {
  for (;;) {
    const open = await db('deployments').whereNotIn('status', ['live', 'failed', 'cancelled']).first();
    const running = await db('replicas').whereNot({ state: 'stopped' }).select('service_id');
    if (open === undefined && new Set(running.map((row) => row.service_id)).size === running.length) return;
    await delay(50);
  }
}

/** Returns the processor time of the worker and of its ended processes, in milliseconds. */
async function cpuOf({ workers }: Platform): Promise<number> {
  let sum = 0;
  for (const { pid = 0 } of workers.map(({ child }) => child))
    sum += (await processorMs(pid)) + (await endedChildrenMs(pid));
  return sum;
}
