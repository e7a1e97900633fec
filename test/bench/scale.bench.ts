import { setTimeout as delay } from 'node:timers/promises';
import { createService, deploy, type Service } from '../support/deployments.js';
import { type EngineName, type Platform, startPlatform } from '../support/platform.js';
import { endedChildrenMs, processorMs } from '../support/processor-time.js';
import { createPlatformRepository, type TestRepository } from '../support/repositories.js';
import { median, print } from './measure.js';
import { postgresMs } from './postgres-time.js';
import { addHistory, addSites } from './scale-records.js';
import { countLogged } from './statements.js';
import { record } from './table.js';

const SIZES = [10, 200, 1000];
const APPLICATIONS = 10;
const REPLICAS = 5;
const HISTORY = 1_000_000;
/** Deployments that are measured at each size, and the idle time before them. */
const DEPLOYMENTS = 12;
const REST_MS = 10_000;

const APPLICATION = {
  Procfile: 'web: node server.js\n',
  'package.json': '{"name":"application","version":"1.0.0","private":true}',
  'server.js': `require('node:http').createServer((request, response) => response.end('ok')).listen(process.env.PORT);`,
};

/** Measures a deployment on a host with more and more services and past deployments: its cost must not grow. */
export async function benchScale(engine: EngineName): Promise<void> {
  const platform = await startPlatform({ engine });
  const repositories = [
    await createPlatformRepository({ 'index.html': 'round 0' }),
    await createPlatformRepository(APPLICATION),
  ] as const;
  const { db } = platform.database;
  try {
    const service = await createService(platform.client, {
      name: 'measured',
      configuration: { repository: repositories[0].url },
    });
    await deploy(platform.client, service.id);
    const scale = new Scale(platform, service, repositories[0]);
    for (const [i, size] of SIZES.entries()) {
      if (i === 1) await startApplications(platform, repositories[1]);
      await addSites(db, service.id, size);
      await scale.measure(`${size} services${i === 0 ? '' : `, ${APPLICATIONS * REPLICAS} processes of applications`}`);
    }
    await addHistory(db, service.id, HISTORY);
    await scale.measure(`the same and ${HISTORY} ended deployments`);
  } finally {
    await platform.stop();
    for (const repository of repositories) await repository.remove();
  }
}

async function startApplications({ client }: Platform, { url }: TestRepository): Promise<void> {
  for (let i = 0; i < APPLICATIONS; i++) {
    const configuration = { repository: url, replicas: REPLICAS };
    const { id } = await createService(client, { name: `application-${i}`, configuration });
    await deploy(client, id);
  }
}

type Use = Map<string, number>;

class Scale {
  readonly #platform: Platform;
  readonly #service: Service;
  readonly #repository: TestRepository;
  #smallest: { ms: number; statements: number; processor: number } | null = null;
  #rounds = 0;

  constructor(platform: Platform, service: Service, repository: TestRepository) {
    this.#platform = platform;
    this.#service = service;
    this.#repository = repository;
  }

  async measure(title: string): Promise<void> {
    await this.#deploy(3);
    const processor = await this.#costs((work) => this.#processor(work));
    const statements = await this.#costs((work) =>
      countLogged(this.#platform.database.db, work).then(({ counts }) => counts),
    );
    const ms = median(processor.took);
    const figures = { ms, statements: sum(statements.each), processor: sum(processor.each) };
    this.#smallest ??= figures;
    record('scale', figures.processor / this.#smallest.processor, title);
    const { ms: least, statements: fewest, processor: cheapest } = this.#smallest;
    print(`  ${title}:`);
    print(`    deployed in ${ms.toFixed(0)} ms, ratio ${(ms / least).toFixed(2)}`);
    print(
      `    ${figures.statements.toFixed(0)} statements (${listed(statements.each)}), ratio ${(figures.statements / fewest).toFixed(2)}`,
    );
    print(
      `    ${figures.processor.toFixed(0)} ms of processor (${listed(processor.each)}), ratio ${(figures.processor / cheapest).toFixed(2)}`,
    );
    print(`    a second of rest: statements ${listed(statements.rest)}; ms of processor ${listed(processor.rest)}`);
  }

  /** Measures the use of a deployment beyond idle, the use of an idle second, and the duration of each deployment. */
  async #costs(use: (work: () => Promise<unknown>) => Promise<Use>): Promise<{ each: Use; rest: Use; took: number[] }> {
    const atRest = await use(() => delay(REST_MS));
    let took: number[] = [];
    const begun = performance.now();
    const all = await use(async () => {
      took = await this.#deploy(DEPLOYMENTS);
      // Work just after a deployment counts as a part of it.
      await delay(1000);
    });
    const share = (performance.now() - begun) / REST_MS;
    const each = new Map([...all].map(([name, n]) => [name, (n - share * (atRest.get(name) ?? 0)) / DEPLOYMENTS]));
    const rest = new Map([...atRest].map(([name, n]) => [name, n / (REST_MS / 1000)]));
    return { each, rest, took };
  }

  async #deploy(count: number): Promise<number[]> {
    const took: number[] = [];
    for (let i = 0; i < count; i++) {
      const page = `round ${this.#rounds++}`;
      await this.#repository.commit(page, { 'index.html': page });
      const { steps } = await deploy(this.#platform.client, this.#service.id);
      took.push(Date.parse(steps.at(-1)?.finishedAt ?? '') - Date.parse(steps[0]?.startedAt ?? ''));
    }
    return took;
  }

  async #processor(work: () => Promise<unknown>): Promise<Use> {
    const before = await this.#used();
    await work();
    return new Map([...(await this.#used())].map(([name, ms]) => [name, ms - (before.get(name) ?? 0)]));
  }

  async #used(): Promise<Use> {
    const used: Use = new Map([['PostgreSQL', await postgresMs()]]);
    for (const { name, child } of this.#platform.processes) {
      used.set(name, await processorMs(child.pid ?? 0));
      if (name === 'worker') used.set('its processes', await endedChildrenMs(child.pid ?? 0));
    }
    return used;
  }
}

function sum(use: Use): number {
  return [...use.values()].reduce((all, one) => all + one, 0);
}

function listed(use: Use): string {
  const most = [...use].sort(([, a], [, b]) => b - a).filter(([, value]) => value >= 0.5);
  return most.map(([name, value]) => `${name} ${value.toFixed(0)}`).join(', ');
}
