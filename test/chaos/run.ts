import { createKey, createWorkspace } from '../../shared/identity/commands.js';
import { type AppRepository, makeRepository } from '../support/apps.js';
import { ApiClient } from '../support/client.js';
import { createService, deploy } from '../support/deployments.js';
import type { EngineName, Platform } from '../support/platform.js';
import { eventually } from '../support/processes.js';
import { hasRedis } from '../support/redis.js';
import { balance } from './books.js';
import { Commits } from './commits.js';
import { Databases } from './databases.js';
import type { Entry } from './entries.js';
import { FaultInjector, planFaults } from './faults.js';
import type { Ground } from './ground.js';
import { keepVisiting, Promises, remove, type Tenant, work } from './load.js';
import { ProcessGround } from './process-ground.js';
import { Random } from './random.js';
import { createCron, endTicks } from './schedules.js';
import { SwarmGround } from './swarm-ground.js';
import { WorkerSupervisor } from './worker-supervisor.js';

export interface ChaosOptions {
  seed: number;
  deployments: number;
  engine: EngineName;
  runtime: 'process' | 'swarm';
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
/** Jobs end a moment after their records, and what a machine took with it is missed a moment after the machine is back. */
const QUIET_MS = 10_000;

/** Loads a platform of its own while faults strike it; when it has come to rest the books are balanced. */
export async function runChaos(options: ChaosOptions): Promise<ChaosResult> {
  const begun = Date.now();
  const seconds = () => Math.round((Date.now() - begun) / 1000);
  const say = (what: string) => process.stderr.write(`${String(seconds()).padStart(4)} s  ${what}\n`);
  const ground = await (options.runtime === 'swarm' ? SwarmGround : ProcessGround).start(options.engine, say);
  const repository = await makeRepository(ground.app);
  const workers = new WorkerSupervisor(() => ground.startWorker(), say);
  try {
    await Promise.all(Array.from({ length: WORKERS }, () => workers.start()));
    await workers.settled();
    return { ...(await strike(ground, workers, repository, options, say)), seconds: seconds() };
  } catch (error) {
    // What ends the platform after this may fail as well, and would hide it.
    say(`failed: ${(error as Error).stack}`);
    throw error;
  } finally {
    await workers.close();
    await ground.stop();
    await repository.remove();
  }
}

async function strike(
  ground: Ground,
  workers: WorkerSupervisor,
  repository: AppRepository,
  options: ChaosOptions,
  say: (what: string) => void,
): Promise<Omit<ChaosResult, 'seconds'>> {
  const { platform } = ground;
  const random = new Random(options.seed);
  const promises = new Promises();
  const tenants = await makeTenants(ground, repository, options);
  // One service of each tenant stays live throughout: it is only ever deployed.
  const steady = tenants.flatMap(({ services }) => services.slice(0, 1));
  for (const { client, services, cron } of tenants) {
    const [first] = services;
    for (const service of first ? [first, cron] : [cron]) {
      promises.deployments.add((await deploy(client, service.id)).id);
    }
  }
  const [tenant] = tenants;
  const databases = tenant && (await startDatabases(platform, options, tenant.client, promises));
  // Pushed repositories are on the host of the API.
  const commits = tenant && options.runtime === 'process' ? await Commits.start(ground, tenant.client) : null;
  say(`${steady.length} services are live; begins`);

  const stopVisits = new AbortController();
  const visiting = keepVisiting(steady, platform.edgePort, stopVisits.signal);
  const counting = databases?.run(stopVisits.signal);
  const stopFaults = new AbortController();
  const committing = commits?.run(stopFaults.signal);
  // They are awaited at the end. Without a handler until then, a failure would end the run without its books.
  for (const load of [visiting, counting, committing]) load?.catch(() => undefined);
  const faults = [...ground.faults, ...(databases?.faults ?? [])];
  const injector = new FaultInjector(ground, workers, say);
  const striking = injector.run(planFaults(random, PLANNED_FAULTS, { platform, faults }), stopFaults.signal);
  const share = Math.ceil(options.deployments / tenants.length);
  await Promise.all(
    tenants.map(async ({ client, services }) => {
      const mine = new Random(random.between(0, 2 ** 31));
      await work({ client, services }, mine, share, promises);
      const last = services.at(-1);
      if (last) await remove(client, last, promises);
    }),
  );
  say('everything is asked for');
  stopFaults.abort();
  await striking;
  await committing;
  for (const { client, cron } of tenants) await endTicks(client, cron);
  await cameToRest(platform);
  say('at rest; balances the books');
  stopVisits.abort();
  await counting;
  await commits?.promise(promises);
  const entries = await balance(ground, promises, await visiting, databases ?? null);
  entries.push(...((await commits?.books()) ?? []));
  await commits?.remove();
  return {
    entries,
    faults: injector.struck,
    requests: promises.counts,
  };
}

/** Null if this runtime, or this host, does not run databases. */
async function startDatabases(
  platform: Platform,
  { runtime }: ChaosOptions,
  client: ApiClient,
  promises: Promises,
): Promise<Databases | null> {
  return runtime === 'process' && hasRedis ? Databases.start(platform, client, promises) : null;
}

async function makeTenants(ground: Ground, repository: AppRepository, options: ChaosOptions): Promise<Tenant[]> {
  const { platform } = ground;
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
        await createService(client, {
          name: `app ${number} ${i}`,
          configuration: { repository: repository.url, ...ground.configuration },
        }),
      );
    }
    tenants.push({ client, services, cron: await createCron(client, ground, repository.url) });
  }
  return tenants;
}

/** Nothing is open any more, and what was replaced has been stopped. */
export async function cameToRest(platform: Platform): Promise<void> {
  const open = async () => {
    const { rows } = await platform.database.db.raw(`
      select (select count(*) from deployments where finished_at is null)
           + (select count(*) from operations where finished_at is null)
           + (select count(*) from runs where finished_at is null)
           + (select count(*) from log_batches)
           + (select count(*) from commit_events where finished_at is null)
           + (select count(*) from pushes where settled_at is null)
           + (select count(*) from replicas r join services s on s.id = r.service_id
               where r.state <> 'stopped' and (r.desired = 'stopped' or r.state <> 'ready'
                 or s.live_deployment_id is distinct from r.deployment_id)) as open`);
    return Number(rows[0].open);
  };
  let quietSince = Number.POSITIVE_INFINITY;
  const isQuiet = async () => {
    quietSince = (await open()) === 0 ? Math.min(quietSince, Date.now()) : Number.POSITIVE_INFINITY;
    return Date.now() - quietSince >= QUIET_MS;
  };
  // A platform that does not come to rest is what the books should show, not an exception.
  await eventually('the platform comes to rest', isQuiet, REST_MS).catch(() => undefined);
}
