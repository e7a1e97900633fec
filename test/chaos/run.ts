import { setTimeout as delay } from 'node:timers/promises';
import { createKey, createWorkspace } from '../../shared/commands/identity.js';
import { type AppRepository, makeRepository } from '../support/apps.js';
import { ApiClient } from '../support/client.js';
import { createService, deploy } from '../support/deployments.js';
import { type EngineName, type Platform, startPlatform } from '../support/platform.js';
import { eventually } from '../support/processes.js';
import { balance, type Entry } from './books.js';
import { FaultInjector, planFaults } from './faults.js';
import { keepVisiting, Promises, remove, type Tenant, work } from './load.js';
import { Random } from './random.js';

export interface ChaosOptions {
  seed: number;
  deployments: number;
  engine: EngineName;
  services: number;
  workspaces: number;
}

export interface ChaosResult {
  entries: Entry[];
  faults: ReadonlyMap<string, number>;
  requests: ReadonlyMap<string, number>;
  seconds: number;
}

const WORKERS = 3;
const PLANNED_FAULTS = 400;
const REST_MS = 300_000;

/** An application that says which deployment it is, built and started in a moment. */
const APP = {
  'server.js': `
    const server = require('node:http').createServer((request, response) =>
      response.end(request.url === '/deployment' ? process.env.RANVIER_DEPLOYMENT_ID : 'ok'));
    server.listen(process.env.PORT, () => console.log('listening'));
    process.on('SIGTERM', () => { server.close(() => process.exit(0)); server.closeIdleConnections(); });
  `,
  Procfile: 'web: node server.js\n',
  'package.json': '{"name":"app","version":"1.0.0","private":true}',
};

/** Loads a platform of its own while faults strike it; when it has come to rest the books are balanced. */
export async function runChaos(options: ChaosOptions): Promise<ChaosResult> {
  const begun = Date.now();
  // A machine that is too slow for the load is none of the faults.
  const env = { STOP_GRACE_SECONDS: '3', RELEASE_TIMEOUT_SECONDS: '300' };
  const platform = await startPlatform({ engine: options.engine, workers: WORKERS, env });
  const repository = await makeRepository(APP);
  try {
    return await strike(platform, repository, options, begun);
  } finally {
    await platform.stop();
    await repository.remove();
  }
}

async function strike(
  platform: Platform,
  repository: AppRepository,
  options: ChaosOptions,
  begun: number,
): Promise<ChaosResult> {
  const random = new Random(options.seed);
  const promises = new Promises();
  const tenants = await makeTenants(platform, repository, options);
  // One service of each tenant stays live throughout: it is only ever deployed.
  const steady = tenants.flatMap(({ services }) => services.slice(0, 1));
  for (const { client, services } of tenants) {
    const [first] = services;
    if (first) promises.deployments.add((await deploy(client, first.id)).id);
  }

  const stopVisits = new AbortController();
  const visiting = keepVisiting(steady, platform.edgePort, stopVisits.signal);
  const stopFaults = new AbortController();
  const injector = new FaultInjector(platform);
  const striking = injector.run(planFaults(random, PLANNED_FAULTS, options.engine === 'redis'), stopFaults.signal);
  const share = Math.ceil(options.deployments / tenants.length);
  await Promise.all(
    tenants.map(async ({ client, services }) => {
      const mine = new Random(random.between(0, 2 ** 31));
      await work({ client, services }, mine, share, promises);
      const last = services.at(-1);
      if (last) await remove(client, last, promises);
    }),
  );
  stopFaults.abort();
  await striking;
  await cameToRest(platform);
  stopVisits.abort();
  const entries = await balance(platform, promises, await visiting);
  return {
    entries,
    faults: injector.struck,
    requests: promises.counts,
    seconds: Math.round((Date.now() - begun) / 1000),
  };
}

async function makeTenants(platform: Platform, repository: AppRepository, options: ChaosOptions): Promise<Tenant[]> {
  const { db } = platform.database;
  const tenants: Tenant[] = [];
  for (let number = 1; number <= options.workspaces; number++) {
    const owner = `tenant${number}@example.test`;
    const { workspace } = await db.transaction((trx) => createWorkspace(trx, { name: `Tenant ${number}`, owner }));
    // Half of them cancel what overlaps, half let it wait.
    const configuration = { buildConcurrency: 3, overlappingDeploys: number % 2 === 0 ? 'cancel' : 'wait' };
    await db('workspaces').where({ id: workspace.id }).update({ configuration });
    const { key } = await createKey(db, {
      workspaceId: workspace.id,
      email: owner,
      scope: 'write',
      name: 'chaos',
      expiresAt: null,
    });
    const client = new ApiClient(platform.client.baseUrl, workspace.id, key);
    const services = [];
    for (let i = 0; i < options.services / options.workspaces; i++) {
      services.push(
        await createService(client, { name: `app ${number} ${i}`, configuration: { repository: repository.url } }),
      );
    }
    tenants.push({ client, services });
  }
  return tenants;
}

/** Nothing is open any more, and what was replaced has been stopped. */
async function cameToRest(platform: Platform): Promise<void> {
  const open = async () => {
    const { rows } = await platform.database.db.raw(`
      select (select count(*) from deployments where status in ('queued', 'building', 'releasing'))
           + (select count(*) from operations where status in ('queued', 'running'))
           + (select count(*) from outbox) + (select count(*) from log_batches)
           + (select count(*) from replicas r join services s on s.id = r.service_id
               where r.state <> 'stopped' and (r.desired = 'stopped' or r.state <> 'ready'
                 or s.live_deployment_id is distinct from r.deployment_id)) as open`);
    return Number(rows[0].open);
  };
  // A platform that does not come to rest is what the books should show, not an exception.
  await eventually('the platform comes to rest', async () => (await open()) === 0, REST_MS).catch(() => undefined);
  // Jobs end a moment after their records.
  await delay(3000);
}
