import type { ApiClient } from '../support/client.js';
import { createService, deploy } from '../support/deployments.js';
import type { EngineName, Platform } from '../support/platform.js';
import { newTenant } from '../support/platform.js';
import type { PostgresPair } from '../support/postgres-pair.js';
import { eventually } from '../support/processes.js';
import { hasRedis } from '../support/redis.js';
import { createPlatformRepository, type TestRepository } from '../support/repositories.js';
import { balance } from './books.js';
import type { ChaosTarget } from './chaos-target.js';
import { Commits } from './commits.js';
import { Databases } from './databases.js';
import { EdgeOutages } from './edge-outages.js';
import type { Entry } from './entries.js';
import { Failovers } from './failovers.js';
import { FaultInjector, planFaults } from './faults.js';
import { keepVisiting, Promises, remove, type Tenant, work } from './load.js';
import { ProcessTarget } from './process-target.js';
import { Random } from './random.js';
import { createCron, endTicks } from './schedules.js';
import { Shells } from './shells.js';
import { SwarmTarget } from './swarm-target.js';
import { Together } from './together.js';
import { Volumes } from './volumes.js';
import { SLEEPY, Wakes } from './wakes.js';
import { WorkerSupervisor } from './worker-supervisor.js';

export interface ChaosOptions {
  seed: number;
  deployments: number;
  engine: EngineName;
  runtime: 'process' | 'swarm';
  services: number;
  workspaces: number;
  /** PostgreSQL with a standby that takes its place during the run; null for a single server. */
  pair: PostgresPair | null;
  /** How often a sleeping service is woken at least; 0 for never. */
  wakes: number;
}

export interface ChaosResult {
  entries: Entry[];
  faults: ReadonlyMap<string, number>;
  requests: ReadonlyMap<string, number>;
  seconds: number;
}

const WORKERS = 3;
const PLANNED_FAULTS = 400;
const REST_MS = 900_000;
/** Jobs end a moment after their records, and tasks of a lost machine are missed only a moment after its return. */
const QUIET_MS = 10_000;

/** Puts load on a platform while faults occur, and checks the outcome once the platform is idle again. */
export async function runChaos(options: ChaosOptions): Promise<ChaosResult> {
  const begun = Date.now();
  const seconds = () => Math.round((Date.now() - begun) / 1000);
  const say = (what: string) => process.stderr.write(`${String(seconds()).padStart(4)} s  ${what}\n`);
  const target = await (options.runtime === 'swarm'
    ? SwarmTarget.start(options.engine, say)
    : ProcessTarget.start(options.engine, options.wakes > 0 ? SLEEPY : {}));
  const repository = await createPlatformRepository(target.app);
  const workers = new WorkerSupervisor(() => target.startWorker(), say);
  try {
    await Promise.all(Array.from({ length: WORKERS }, () => workers.start()));
    await workers.settled();
    return { ...(await strike(target, workers, repository, options, say)), seconds: seconds() };
  } catch (error) {
    // Stopping the platform may fail as well, and its error would hide this one.
    say(`failed: ${(error as Error).stack}`);
    throw error;
  } finally {
    await workers.close();
    await target.stop();
    await repository.remove();
  }
}

async function strike(
  target: ChaosTarget,
  workers: WorkerSupervisor,
  repository: TestRepository,
  options: ChaosOptions,
  say: (what: string) => void,
): Promise<Omit<ChaosResult, 'seconds'>> {
  const { platform } = target;
  const random = new Random(options.seed);
  const promises = new Promises();
  const tenants = await makeTenants(target, repository, options);
  // The first service of each tenant is only deployed, so that it always answers.
  const steady = tenants.flatMap(({ services }) => services.slice(0, 1));
  for (const { client, services, cron } of tenants) {
    const [first] = services;
    for (const service of first ? [first, cron] : [cron]) {
      promises.deployments.add((await deploy(client, service.id)).id);
    }
  }
  const [tenant] = tenants;
  const databases = tenant && (await startDatabases(platform, options, tenant.client, promises));
  // Pushed repositories are on the API's host, which a swarm's workers do not share.
  const commits = tenant && options.runtime === 'process' ? await Commits.start(target, tenant.client) : null;
  const edge = new EdgeOutages(platform);
  const volumes =
    tenant &&
    (await startVolumes(options, {
      platform,
      client: tenant.client,
      promises,
      edge,
      random: new Random(options.seed),
      say,
    }));
  const together =
    tenant &&
    (await Together.start({
      client: tenant.client,
      platform,
      promises,
      configuration: { repository: repository.url, ...target.configuration },
    }));
  // Replicas are frozen on this host only.
  const wakes =
    tenant && options.runtime === 'process' && options.wakes > 0
      ? await Wakes.start({ client: tenant.client, platform, promises, edge }, options.wakes, {
          repository: repository.url,
          ...target.configuration,
        })
      : null;
  // Entering a container requires root.
  const [shelled] = options.runtime === 'process' && platform.user === null ? steady : [];
  const shells = tenant && shelled && new Shells(tenant.client, shelled);
  const failovers = options.pair && tenant && (await Failovers.start(options.pair, platform, tenant.client, say));
  say(`${steady.length} services are live; begins`);

  const stopVisits = new AbortController();
  const visiting = keepVisiting(steady, platform.edgePort, stopVisits.signal);
  const counting = databases?.run(stopVisits.signal);
  const stopFaults = new AbortController();
  const committing = commits?.run(stopFaults.signal);
  const writing = volumes?.write(stopVisits.signal);
  const releasing = volumes?.release(stopFaults.signal);
  const using = shells?.run(stopFaults.signal);
  const applying = together?.run(stopFaults.signal);
  const waking = wakes?.run();
  // The loads are awaited at the end. Without a handler, a failure until then would end the process.
  for (const load of [visiting, counting, committing, writing, releasing, using, applying, waking])
    load?.catch(() => undefined);
  const faults = [...target.faults, ...(databases?.faults ?? [])];
  const injector = new FaultInjector(target, workers, say);
  const replacing = failovers?.run(stopFaults.signal, injector);
  replacing?.catch(() => undefined);
  const striking = injector.run(
    planFaults(random, PLANNED_FAULTS, { platform, faults, hasStandby: options.pair !== null }),
    stopFaults.signal,
  );
  const share = Math.ceil(options.deployments / tenants.length);
  try {
    await Promise.all(
      tenants.map(async ({ client, services }) => {
        const mine = new Random(random.between(0, 2 ** 31));
        await work({ client, services }, mine, share, promises);
        const last = services.at(-1);
        if (last) await remove(client, last, promises);
      }),
    );
    await waking;
    say('everything is asked for');
  } finally {
    stopFaults.abort();
  }
  await striking;
  await committing;
  await releasing;
  await using;
  await applying;
  await replacing;
  for (const { client, cron } of tenants) await endTicks(client, cron);
  await cameToRest(platform);
  say('at rest; balances the books');
  stopVisits.abort();
  await counting;
  await writing;
  await commits?.promise(promises);
  const entries = await balance(target, promises, await visiting, databases ?? null, edge);
  entries.push(...((await volumes?.books(injector)) ?? []));
  entries.push(...((await shells?.books(injector)) ?? []));
  entries.push(...((await commits?.books()) ?? []));
  entries.push(...((await together?.books()) ?? []));
  entries.push(...((await failovers?.books()) ?? []));
  entries.push(...(wakes?.books() ?? []));
  await commits?.remove();
  await volumes?.remove();
  return {
    entries,
    faults: injector.struck,
    requests: promises.counts,
  };
}

async function startDatabases(
  platform: Platform,
  { runtime }: ChaosOptions,
  client: ApiClient,
  promises: Promises,
): Promise<Databases | null> {
  return runtime === 'process' && hasRedis ? Databases.start(platform, client, promises) : null;
}

async function startVolumes(
  { runtime }: ChaosOptions,
  deps: Parameters<typeof Volumes.start>[0],
): Promise<Volumes | null> {
  return runtime === 'process' ? Volumes.start(deps) : null;
}

async function makeTenants(target: ChaosTarget, repository: TestRepository, options: ChaosOptions): Promise<Tenant[]> {
  const { platform } = target;
  const { db } = platform.database;
  const tenants: Tenant[] = [];
  for (let number = 1; number <= options.workspaces; number++) {
    const owner = `tenant${number}@example.test`;
    const client = await newTenant(platform, `Tenant ${number}`, owner);
    // Half of the workspaces cancel overlapping deployments, the other half let them wait.
    const configuration = { buildConcurrency: 3, overlappingDeploys: number % 2 === 0 ? 'cancel' : 'wait' };
    await db('workspaces').where({ id: client.workspaceId }).update({ configuration });
    const services = [];
    for (let i = 0; i < options.services / options.workspaces; i++) {
      services.push(
        await createService(client, {
          name: `app ${number} ${i}`,
          configuration: { repository: repository.url, ...target.configuration },
        }),
      );
    }
    tenants.push({ client, services, cron: await createCron(client, target, repository.url) });
  }
  return tenants;
}

/** Resolves when no work is open and all replaced replicas have stopped. */
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
               where r.state <> 'stopped' and (r.desired = 'stopped' or r.state not in ('ready', 'frozen')
                 or s.live_deployment_id is distinct from r.deployment_id)) as open`);
    return Number(rows[0].open);
  };
  let quietSince = Number.POSITIVE_INFINITY;
  const isQuiet = async () => {
    quietSince = (await open()) === 0 ? Math.min(quietSince, Date.now()) : Number.POSITIVE_INFINITY;
    return Date.now() - quietSince >= QUIET_MS;
  };
  // The final checks show a platform that does not become idle.
  await eventually('the platform comes to rest', isQuiet, REST_MS).catch(() => undefined);
}
