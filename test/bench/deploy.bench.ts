import { readFile } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { npmApp } from '../support/apps.js';
import { visit } from '../support/client.js';
import { createService, deploy, ended, queueDeploy, type Service } from '../support/deployments.js';
import { type EngineName, type Platform, startPlatform } from '../support/platform.js';
import { eventually } from '../support/processes.js';
import { createPlatformRepository, type TestRepository } from '../support/repositories.js';
import { applicationByHand, PAUSE_MS, siteByHand } from './by-hand.js';
import { benchInstallation } from './installation.bench.js';
import { measure, median, percentile, print } from './measure.js';
import { openDeployments, printSteps, quiet, report, served } from './served.js';
import { record } from './table.js';

const SITE_ROUNDS = 9;
const APPLICATION_ROUNDS = 5;
const SITE_PAUSE_MS = 2;
const SERVICES = 40;
const SLOTS = 8;
const LINES = 40;
const CANCELLATIONS = 10;
const ENDLESS = { 'package.json': '{"name":"endless","scripts":{"build":"sleep 600","start":"node never.js"}}' };

/** Measures the deploy path, in turns with the same work by hand where that is possible. */
export async function benchDeploy(engine: EngineName): Promise<void> {
  const platform = await startPlatform({ engine, env: { WORKER_CONCURRENCY: String(SLOTS) } });
  const repositories: TestRepository[] = [];
  const make = async (files: Record<string, string>) => {
    const repository = await createPlatformRepository(files);
    repositories.push(repository);
    return repository;
  };
  try {
    await platform.database.db.raw(
      `update workspaces set configuration = configuration || jsonb_build_object('buildConcurrency', ${SLOTS})`,
    );
    await benchMemory(platform);
    await benchSite(platform, await make({ 'index.html': 'round 0' }));
    await benchApplication(platform, await make(npmApp('round 0')));
    await benchInstallation({ platform, repository: await make(npmApp('round 0')) });
    await benchThroughput(platform, await make({ 'index.html': 'one of many' }));
    await benchCancel(platform, await make(ENDLESS));
    await benchLog(platform, await make(SPEAKER));
  } finally {
    await platform.stop();
    for (const repository of repositories) await repository.remove();
  }
}

/** Memory that only the start needs is freed after 20 s, and V8 shrinks its heap some seconds later. */
const REST_MS = 45_000;

async function benchMemory(platform: Platform): Promise<void> {
  await delay(REST_MS);
  const found: string[] = [];
  for (const { name, child } of platform.processes) {
    const status = await readFile(`/proc/${child.pid}/status`, 'utf8');
    const mib = Number(/VmRSS:\s+(\d+)/.exec(status)?.[1] ?? 0) / 1024;
    record(`${name as 'api' | 'edge' | 'worker'}Memory`, mib);
    found.push(`${name} ${Math.round(mib)} MiB`);
  }
  print(`  resident at rest: ${found.join(', ')}`);
}

async function benchSite(platform: Platform, repository: TestRepository): Promise<void> {
  const service = await createService(platform.client, {
    name: 'site',
    configuration: { repository: repository.url },
  });
  const hand: number[] = [];
  const ours: number[] = [];
  let work: Work | null = null;
  for (let round = 0; round <= SITE_ROUNDS; round++) {
    await repository.commit(`round ${round}`, { 'index.html': `round ${round}.` });
    const byHand = await measure(() => siteByHand(repository.url));
    const before = await workOf(platform);
    const deployed = await measure(() => served(platform, service, `round ${round}.`, SITE_PAUSE_MS));
    await quiet(platform);
    if (round === 0) continue;
    work = difference(before, await workOf(platform));
    hand.push(byHand);
    ours.push(deployed);
  }
  report('site', 'site of one file', hand, ours);
  await printSteps(platform, service);
  print(`  site: ${work?.commits} commits of the database, ${work?.processes} processes started, a deployment`);
}

async function benchApplication(platform: Platform, repository: TestRepository): Promise<void> {
  const service = await createService(platform.client, {
    name: 'application',
    configuration: { repository: repository.url },
  });
  const hand: number[] = [];
  const ours: number[] = [];
  for (let round = 0; round <= APPLICATION_ROUNDS; round++) {
    await repository.commit(`round ${round}`, npmApp(`round ${round}.`));
    const byHand = await applicationByHand(repository.url);
    const deployed = await measure(() => served(platform, service, `round ${round}.`, PAUSE_MS));
    await quiet(platform);
    if (round === 0) continue;
    hand.push(byHand);
    ours.push(deployed);
  }
  report('application', 'npm application', hand, ours);
  await printSteps(platform, service);
}

async function benchThroughput(platform: Platform, repository: TestRepository): Promise<void> {
  const { client } = platform;
  const services: Service[] = [];
  for (let i = 0; i < SERVICES; i++) {
    const configuration = { repository: repository.url };
    services.push(await createService(client, { name: `many-${i}`, configuration }));
  }
  const rates: number[] = [];
  const blocked: number[] = [];
  const timer = setInterval(
    () =>
      void blockedMs(platform).then(
        (ms) => blocked.push(ms),
        () => undefined,
      ),
    1000,
  );
  for (let round = 0; round < 3; round++) {
    await repository.commit(`round ${round}`, { 'index.html': `many ${round}` });
    const took = await measure(async () => {
      const queued = await Promise.all(services.map(async ({ id }) => [id, await queueDeploy(client, id)] as const));
      await eventually('nothing is open', async () => (await openDeployments(platform)) === 0, 300_000);
      for (const [id, deployment] of queued) {
        const { status, error } = await ended(client, id, deployment.id);
        if (status !== 'live') throw new Error(`a deployment ended ${status}: ${error}`);
      }
    });
    rates.push(SERVICES / (took / 1000));
  }
  clearInterval(timer);
  record('eventLoop', median(blocked), `at most ${Math.max(...blocked).toFixed(1)} ms`);
  print(
    `  event loop of the worker meanwhile, 99th percentile of a heartbeat: median ${median(blocked).toFixed(1)}, at most ${Math.max(...blocked).toFixed(1)} ms`,
  );
  const hand = await measure(async () => {
    for (let i = 0; i < SERVICES; i += SLOTS) {
      await Promise.all(Array.from({ length: SLOTS }, () => siteByHand(repository.url)));
    }
  });
  const byHand = (SERVICES / (hand / 1000)).toFixed(0);
  record('throughput', median(rates), `by hand ${byHand}/s`);
  print(`  ${SERVICES} sites at once, ${SLOTS} slots: ${median(rates).toFixed(1)} deployments/s (by hand ${byHand})`);
}

async function blockedMs({ database }: Platform): Promise<number> {
  const row = await database.db('workers').first('event_loop_p99_ms');
  return row.event_loop_p99_ms;
}

async function benchCancel(platform: Platform, repository: TestRepository): Promise<void> {
  const { client } = platform;
  const service = await createService(client, { name: 'endless', configuration: { repository: repository.url } });
  const times: number[] = [];
  for (let i = 0; i < CANCELLATIONS; i++) {
    const { id } = await queueDeploy(client, service.id);
    await eventually('the build runs', async () => {
      const { items } = await client.expect<{ items: { message: string }[] }>(
        'GET',
        `/services/${service.id}/logs?deploymentId=${id}`,
      );
      return items.some(({ message }) => message.startsWith('$ npm run build'));
    });
    await delay(200 + 100 * (i % 5));
    times.push(
      await measure(async () => {
        await client.expect('POST', `/services/${service.id}/deploys/${id}/cancel`, {});
        await ended(client, service.id, id);
      }),
    );
  }
  record('cancel', Math.max(...times), `median ${Math.round(median(times))} ms`);
  print(`  cancel → terminal: median ${Math.round(median(times))} ms, max ${Math.round(Math.max(...times))} ms`);
}

const SPEAKER = {
  'package.json': '{"name":"speaker","version":"1.0.0","scripts":{"start":"node server.js"}}',
  'server.js': `require('node:http').createServer((request, response) => {
    console.log(request.url.slice(1));
    response.end('ok');
  }).listen(process.env.PORT);`,
};

/** Measures the time from printing a line until the API returns it. */
async function benchLog(platform: Platform, repository: TestRepository): Promise<void> {
  const { client } = platform;
  const service = await createService(client, { name: 'speaker', configuration: { repository: repository.url } });
  await deploy(client, service.id);
  const times: number[] = [];
  for (let i = 0; i < LINES; i++) {
    const mark = `mark-${i}-${Math.random()}`;
    await delay(Math.random() * 700);
    await visit(service.url, platform.edgePort, `/${mark}`);
    times.push(
      await measure(async () => {
        for (;;) {
          const path = `/services/${service.id}/logs?search=${mark}`;
          if ((await client.expect<{ items: unknown[] }>('GET', path)).items.length > 0) return;
          await delay(2);
        }
      }),
    );
  }
  const [middle, late] = [Math.round(median(times)), Math.round(percentile(times, 0.99))];
  record('line', middle);
  record('lateLine', late);
  print(`  line printed → readable: median ${middle} ms, p99 ${late} ms`);
}

interface Work {
  commits: number;
  processes: number;
}

/** Returns counters of the database and the machine. Other work on the machine is counted too. */
async function workOf({ database }: Platform): Promise<Work> {
  const row = await database
    .db('pg_stat_database')
    .where({ datname: database.db.raw('current_database()') })
    .first('xact_commit');
  const stat = await readFile('/proc/stat', 'utf8');
  return { commits: Number(row.xact_commit), processes: Number(/^processes (\d+)$/m.exec(stat)?.[1]) };
}

function difference(before: Work, after: Work): Work {
  return { commits: after.commits - before.commits, processes: after.processes - before.processes };
}
