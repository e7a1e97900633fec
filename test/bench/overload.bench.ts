import { readFile } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { DEFAULT_CONFIGURATION } from '../../shared/services/configuration.js';
import { type ApiClient, visit } from '../support/client.js';
import { createService, deploy, queueDeploy, type Service } from '../support/deployments.js';
import { makeService, makeWorkspace } from '../support/factories.js';
import { type EngineName, type Platform, startPlatform } from '../support/platform.js';
import { eventually, type PlatformProcess } from '../support/processes.js';
import { createPlatformRepository, type TestRepository } from '../support/repositories.js';
import { measure, median, print } from './measure.js';
import { record } from './table.js';

const HISTORY = 1_000_000;
const CHUNK = 50_000;
const QUEUED = 10_000;
const GREEDY_WORKSPACES = 10;
const GREEDY_SERVICES = 40;
const SAMPLES = 40;

const APP = {
  'package.json': '{"name":"app","version":"1.0.0","private":true}',
  Procfile: 'web: node server.js\n',
  'server.js': `
    const http = require('node:http');
    const line = 'x'.repeat(120);
    const flood = () => { if (process.stdout.write(line + '\\n')) setImmediate(flood); else process.stdout.once('drain', flood); };
    http.createServer((request, response) => {
      if (request.url.startsWith('/say/')) console.log(request.url.slice(5));
      if (request.url === '/flood') flood();
      response.end('ok');
    }).listen(process.env.PORT);
  `,
};

/** Measures the API with a million past deployments, ten thousand waiting ones, and a tenant's flood of log lines. */
export async function benchOverload(engine: EngineName): Promise<void> {
  const platform = await startPlatform({ engine });
  const repository = await createPlatformRepository(APP);
  const bench = new Overload(platform, repository);
  try {
    await bench.run();
  } finally {
    await platform.stop();
    await repository.remove();
  }
}

type Calls = Record<string, () => Promise<unknown>>;

class Overload {
  readonly #platform: Platform;
  readonly #repository: TestRepository;
  readonly #client: ApiClient;

  constructor(platform: Platform, repository: TestRepository) {
    this.#platform = platform;
    this.#repository = repository;
    this.#client = platform.client;
  }

  async run(): Promise<void> {
    const service = await this.#make('bench');
    const calls = await this.#calls(service);
    const deployed = await measure(() => deploy(this.#client, service.id));
    const idle = await medians(calls);
    const memory = await this.#memory();
    await this.#addHistory(service);
    const after = await this.#compare('a million deployments of history', calls, idle);
    record(
      'scrape',
      after.get('scrape of metrics') ?? Number.NaN,
      `none: ${idle.get('scrape of metrics')?.toFixed(1)} ms`,
    );
    const [list = Number.NaN, empty = 1] = [after, idle].map((times) => times.get('list of deployments') ?? 1);
    record('list', list / empty, `${list.toFixed(1)} against ${empty.toFixed(1)} ms`);
    await this.#addQueue();
    await this.#compare(`and ${QUEUED} that wait`, calls, idle);
    const meanwhile = await measure(() => deploy(this.#client, service.id));
    print(`  a deployment of a tenant who waits for nobody: ${ratio(meanwhile, deployed)}`);
    await this.#platform.database.db.raw(`delete from deployments where status = 'queued' and admitted_at is null`);
    await this.#flood(service, calls, idle);
    for (const [name, kib] of await this.#memory()) {
      print(`  memory of the ${name}: ${ratio(kib, memory.get(name) ?? 1, 'KiB')}`);
    }
  }

  async #make(name: string): Promise<Service> {
    return createService(this.#client, { name, configuration: { repository: this.#repository.url } });
  }

  async #calls(service: Service): Promise<Calls> {
    const { id } = await deploy(this.#client, service.id);
    const path = `/services/${service.id}`;
    const other = await this.#make('drafted');
    return {
      // One deployment for each page, because there is only one before the history is added.
      'list of deployments': () => this.#client.expect('GET', `${path}/deploys?limit=1`),
      'one deployment': () => this.#client.expect('GET', `${path}/deploys/${id}`),
      'list of services': () => this.#client.expect('GET', '/services'),
      'batch of logs': () => this.#client.expect('GET', `${path}/logs`),
      // The deployment is cancelled at once, so that the queue is equally long in each measurement.
      'queue and cancel': async () => {
        const queued = await queueDeploy(this.#client, other.id);
        await this.#client.call('POST', `/services/${other.id}/deploys/${queued.id}/cancel`, {});
      },
      'scrape of metrics': async () => {
        await this.#platform.metrics();
      },
    };
  }

  async #addHistory(service: Service): Promise<void> {
    const { db } = this.#platform.database;
    const steps = JSON.stringify([{ name: 'queued', startedAt: new Date(0), finishedAt: new Date(0) }]);
    const services = [service.id];
    for (let i = 0; i < 50; i++) services.push((await makeService(db)).id);
    for (let from = 0; from < HISTORY; from += CHUNK) {
      await db.raw(
        `insert into deployments (id, workspace_id, service_id, status, trigger, actor, configuration,
                                  steps, admitted_at, created_at, started_at, finished_at)
         select gen_random_uuid(), s.workspace_id, s.id, 'failed', 'manual', 'bench', '{}', cast(:steps as jsonb),
                t, t, t, t + interval '20 seconds'
           from generate_series(cast(:from as int), cast(:to as int)) n
           join lateral (select now() - interval '1 day' - n * interval '30 seconds') x(t) on true
           join services s on s.id = (cast(:services as uuid[]))[n % cast(:count as int) + 1]`,
        { steps, services, count: services.length, from, to: from + CHUNK - 1 },
      );
    }
    await db.raw('analyze deployments');
  }

  async #addQueue(): Promise<void> {
    const { db } = this.#platform.database;
    const services: string[] = [];
    for (let i = 0; i < GREEDY_WORKSPACES; i++) {
      const workspace = await makeWorkspace(db, { buildConcurrency: 1, overlappingDeploys: 'wait' });
      for (let j = 0; j < GREEDY_SERVICES / GREEDY_WORKSPACES; j++)
        services.push((await makeService(db, workspace)).id);
    }
    await db.raw(
      `insert into deployments (id, workspace_id, service_id, trigger, actor, configuration)
       select gen_random_uuid(), s.workspace_id, s.id, 'manual', 'bench', cast(:configuration as jsonb)
         from generate_series(1, cast(:queued as int)) n join services s on s.id = (cast(:services as uuid[]))[n % cast(:count as int) + 1]`,
      {
        configuration: JSON.stringify({ ...DEFAULT_CONFIGURATION, repository: 'http://127.0.0.1:9/none' }),
        queued: QUEUED,
        services,
        count: services.length,
      },
    );
  }

  /** Measures the delay of a tenant's log line while another tenant prints as many lines as it can. */
  async #flood(service: Service, calls: Calls, idle: Map<string, number>): Promise<void> {
    const quiet = await this.#lineShows(service);
    const loud = await this.#make('flood');
    await deploy(this.#client, loud.id);
    await this.#ask(loud, '/flood');
    await delay(10_000);
    await this.#compare('one tenant floods its log', calls, idle);
    print(`  a line of another tenant shows after: ${ratio(await this.#lineShows(service), quiet)}`);
  }

  async #lineShows(service: Service): Promise<number> {
    const times: number[] = [];
    for (let i = 0; i < 5; i++) {
      const mark = `mark-${Math.random()}`;
      await this.#ask(service, `/say/${mark}`);
      times.push(
        await measure(() =>
          eventually('the line shows', async () => {
            const page = await this.#client.expect<{ items: unknown[] }>(
              'GET',
              `/services/${service.id}/logs?search=${mark}`,
            );
            return page.items.length > 0;
          }),
        ),
      );
    }
    return median(times);
  }

  async #ask(service: Service, path: string): Promise<void> {
    await visit(service.url, this.#platform.edgePort, path);
  }

  async #compare(when: string, calls: Calls, idle: Map<string, number>): Promise<Map<string, number>> {
    print(`  ${when}:`);
    const found = await medians(calls);
    for (const [name, ms] of found) print(`    ${name}: ${ratio(ms, idle.get(name) ?? 1)}`);
    return found;
  }

  async #memory(): Promise<Map<string, number>> {
    const found = new Map<string, number>();
    for (const process of this.#platform.processes.filter(({ ended }) => !ended)) {
      found.set(process.name, await residentKib(process));
    }
    return found;
  }
}

async function residentKib({ child }: PlatformProcess): Promise<number> {
  const status = await readFile(`/proc/${child.pid}/status`, 'utf8');
  return Number(/VmRSS:\s+(\d+)/.exec(status)?.[1] ?? 0);
}

async function medians(calls: Calls): Promise<Map<string, number>> {
  const found = new Map<string, number>();
  for (const [name, call] of Object.entries(calls)) {
    const times: number[] = [];
    for (let i = 0; i < SAMPLES; i++) times.push(await measure(call));
    found.set(name, median(times));
  }
  return found;
}

function ratio(value: number, reference: number, unit = 'ms'): string {
  const digits = unit === 'ms' ? 1 : 0;
  return `${reference.toFixed(digits)} → ${value.toFixed(digits)} ${unit}, ratio ${(value / reference).toFixed(2)}`;
}
