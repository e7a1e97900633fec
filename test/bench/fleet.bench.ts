import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { rowsOf, valuesOf } from '../../shared/core/database/database-client.js';
import { admitDeployments } from '../../shared/deployments/deployment-admission.js';
import { waitingEdges } from '../../shared/routing/store.js';
import { publishRouteChange } from '../../shared/services/publish-route.js';
import { ApiClient } from '../support/client.js';
import { DIST, type EngineName, type Platform, startPlatform } from '../support/platform.js';
import { eventually, PlatformProcess } from '../support/processes.js';
import { addServices, type Customer, customersOf, spreadReplicas } from './fleet-records.js';
import { measure, median, percentile, print } from './measure.js';
import { postgresMs } from './postgres-time.js';
import { countLogged } from './statements.js';
import { record } from './table.js';

/** The flags' defaults: a measurement of about a minute for each queue engine. */
const DEFAULTS = {
  /** The numbers of workers that are measured, one after another. */
  workers: '4,24',
  edges: '2',
  services: '2000',
  workspaces: '100',
  /** Events in a second. With 0 deployments, the fleet is measured only at rest. */
  deploys: '4',
  lines: '1000',
  routes: '4',
  /** Length of each measurement, and the interval between losses of a worker. */
  seconds: '10',
  'lost-every': '60',
  top: '0',
};
const FLAGS = Object.keys(DEFAULTS) as (keyof typeof DEFAULTS)[];
const CUSTOMERS = 20;
/** After this time, the new processes have opened their connections and planned their first statements. */
const SETTLE_MS = 8_000;
const EDGE_PORT = 24_000;
const MEBIBYTE_KB = 1024;

type Sizes = Record<keyof typeof DEFAULTS, number> & { fleets: number[] };

function sizesOf(argv: readonly string[]): Sizes {
  const options = Object.fromEntries(FLAGS.map((name) => [name, { type: 'string' as const, default: DEFAULTS[name] }]));
  const { values } = parseArgs({ args: [...argv], options, allowPositionals: true });
  const fleets = String(values.workers).split(',').map(Number);
  const numbers = FLAGS.map((name) => [name, name === 'workers' ? Math.max(...fleets) : Number(values[name])] as const);
  const bad = numbers.find(([, value]) => !Number.isFinite(value));
  if (bad !== undefined) throw new Error(`--${bad[0]} is no number`);
  if (fleets.some((count) => count < 2)) throw new Error('--workers has a fleet of less than two workers');
  return { ...(Object.fromEntries(numbers) as Record<keyof typeof DEFAULTS, number>), fleets };
}

/** Measures what grows with the number of workers: the real platform, on hosts that neither build nor run anything. */
export async function benchFleet(engine: EngineName): Promise<void> {
  const sizes = sizesOf(process.argv.slice(2));
  const platform = await startPlatform({
    engine,
    workers: 0,
    user: null,
    env: { LOG_LEVEL: 'warn', WORKER_CONCURRENCY: '2' },
  });
  const fleet = new Fleet(platform, sizes);
  try {
    await addServices(platform.database.db, sizes.workspaces, sizes.services);
    await fleet.addEdges();
    for (const workers of sizes.fleets) {
      await fleet.growTo(workers);
      await fleet.measure(workers);
    }
    await fleet.measureStarts();
  } finally {
    await platform.stop({ hosted: false });
  }
}

interface Use {
  statements: Map<string, number>;
  times: Map<string, number>;
  postgresMs: number;
  seconds: number;
}

class Fleet {
  readonly #platform: Platform;
  readonly #sizes: Sizes;
  #workers: PlatformProcess[] = [];
  #count = 0;
  #lossy: PlatformProcess | null = null;
  #customers: Customer[] = [];
  #atRest: { workers: number; all: number } | null = null;
  #smallest: { statements: number; postgresMs: number } | null = null;

  constructor(platform: Platform, sizes: Sizes) {
    this.#platform = platform;
    this.#sizes = sizes;
  }

  async addEdges(): Promise<void> {
    this.#customers = await customersOf(this.#platform.database.db, CUSTOMERS);
    await this.#spawn('edge', 0, this.#sizes.edges - 1);
  }

  /** Adds workers as objects of one process, and one as a process of its own, which gets lost. */
  async growTo(workers: number): Promise<void> {
    const { db } = this.#platform.database;
    this.#lossy ??= await this.#spawn('worker', 0, 1);
    const before = Math.max(this.#count, 1);
    const took = await measure(async () => {
      this.#workers.push(await this.#spawn('worker', before, workers - before));
    });
    this.#count = workers;
    await eventually('all workers are online', async () => {
      const [row] = await rowsOf<{ n: number }>(
        db,
        `select count(*) as n from workers where seen_at > now() - interval '15 seconds'`,
      );
      if (row?.n !== workers) throw new Error(`${row?.n} are`);
      return true;
    });
    await spreadReplicas(db);
    await delay(SETTLE_MS);
    print(`  ${workers} workers, ${this.#sizes.edges} edges, ${this.#sizes.services} services:`);
    print(`    ${workers - before} workers started in ${(took / 1000).toFixed(1)} s`);
  }

  async measure(workers: number): Promise<void> {
    const rest = await this.#use(() => delay(this.#sizes.seconds * 1000));
    const all = sum(byKind(rest.statements, isOfWorker)) / rest.seconds;
    // The leader's sweeps are the same in every fleet.
    const before = this.#atRest ?? { workers: 0, all: 0 };
    const idle = (all - before.all) / (workers - before.workers);
    this.#atRest ??= { workers, all };
    record('fleetIdle', idle, `${workers} workers`);
    print(
      `    at rest, each second: ${perSecond(rest)}; of one ${before.workers > 0 ? 'more ' : ''}worker ${idle.toFixed(2)} statements`,
    );
    this.#printTop(rest);
    print(`    connections: ${await this.#connections()}`);

    if (this.#sizes.deploys === 0) return;
    let deployed = 0;
    const since = new Date();
    const times: Times = { admission: [], route: [] };
    const busy = await this.#use(async () => {
      this.#print();
      deployed = await this.#load(times);
      this.#print();
    });
    const net = (figure: (use: Use) => number) =>
      (figure(busy) - (figure(rest) / rest.seconds) * busy.seconds) / deployed;
    const each = { statements: net((use) => sum(use.statements)), postgresMs: net((use) => use.postgresMs) };
    this.#smallest ??= each;
    const ratio = each.statements / this.#smallest.statements;
    record('fleetDeployment', ratio, `${each.statements.toFixed(0)} with ${workers} workers`);
    print(`    under load, each second: ${perSecond(busy)}`);
    this.#printTop(busy);
    print(
      `    ${deployed} deployments, each with its share of lines: ${each.statements.toFixed(0)} statements (ratio ${ratio.toFixed(2)}), ${each.postgresMs.toFixed(0)} ms of PostgreSQL (ratio ${(each.postgresMs / this.#smallest.postgresMs).toFixed(2)})`,
    );
    const claims = await this.#claims(since);
    record('fleetAdmission', percentile(times.admission, 0.99), `median ${median(times.admission).toFixed(0)} ms`);
    record('fleetRoute', percentile(times.route, 0.99), `median ${median(times.route).toFixed(0)} ms`);
    print(`    commit → claim ${spread(claims)}; a round of admission ${spread(times.admission)}`);
    print(`    a change of a route → acknowledged by every edge ${spread(times.route)}`);
  }

  /** Starts one edge and one worker as real processes, for their memory and the duration of a start. */
  async measureStarts(): Promise<void> {
    for (const what of ['edge', 'worker'] as const) {
      let started = this.#platform.processes.find(({ name }) => name === what);
      await started?.stop();
      const took = await measure(async () => {
        started = what === 'edge' ? await this.#platform.startEdge() : await this.#platform.startWorker();
      });
      await delay(SETTLE_MS);
      const status = await readFile(`/proc/${started?.child.pid}/status`, 'utf8');
      const memory = Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) / MEBIBYTE_KB;
      print(
        `  a process of ${what === 'edge' ? 'an edge' : 'a worker'}: ${memory.toFixed(0)} MiB, started in ${(took / 1000).toFixed(1)} s`,
      );
      if (what === 'edge') {
        record('fleetEdgeMemory', memory, `${this.#sizes.services} services`);
        record('fleetEdgeStart', took / 1000, `${this.#sizes.services} services`);
      }
      await started?.stop();
    }
  }

  async #spawn(what: 'worker' | 'edge', first: number, count: number): Promise<PlatformProcess> {
    const { env, processes } = this.#platform;
    const lines = Math.round(this.#sizes.lines / this.#sizes.workers);
    const args = ['--enable-source-maps', join(DIST, 'test/bench/fleet-process.js'), what, first, count, lines].map(
      String,
    );
    const spawned = new PlatformProcess(`fleet-${what}`, process.execPath, args, {
      ...env,
      EDGE_PORT: String(EDGE_PORT),
    });
    processes.push(spawned);
    await spawned.ready(async () => spawned.output.includes('ready\n'));
    return spawned;
  }

  #print(): void {
    for (const process of this.#workers) process.kill('SIGUSR2');
  }

  async #use(work: () => Promise<unknown>): Promise<Use> {
    const before = await postgresMs();
    const begun = performance.now();
    const { counts: statements, times } = await countLogged(this.#platform.database.db, work, (application, text) => {
      return `${application.replace(/^(ranvier\.host)\..*/, '$1')}\t${text.slice(0, 100)}`;
    });
    for (const key of statements.keys()) if (key.startsWith('test\t')) statements.delete(key);
    return {
      statements,
      times,
      postgresMs: (await postgresMs()) - before,
      seconds: (performance.now() - begun) / 1000,
    };
  }

  /** Returns the number of deployments, all of which have ended. */
  async #load(times: Times): Promise<number> {
    const { seconds, deploys, routes, 'lost-every': lostEvery } = this.#sizes;
    const { db } = this.#platform.database;
    const deployed: Promise<unknown>[] = [];
    const clients = this.#customers.map(({ workspaceId, key, services }) => ({
      client: new ApiClient(this.#platform.client.baseUrl, workspaceId, key),
      services,
    }));
    const every = (perSecond: number, work: (i: number) => Promise<unknown>) =>
      repeat(perSecond, seconds, (i) => deployed.push(work(i)));
    const losing = this.#loseWorkers(seconds, lostEvery);
    let count = 0;
    const refused: string[] = [];
    await Promise.all([
      every(deploys, async (i) => {
        const { client, services } = clients[i % clients.length] ?? {};
        const service = services?.[Math.floor(i / clients.length) % services.length];
        const { status, body } = (await client?.call('POST', `/services/${service}/deploys`, {})) ?? {};
        if (status !== undefined && status < 300) count += 1;
        else refused.push(`${status} ${JSON.stringify(body)}`);
      }),
      every(routes, async (i) => {
        const service = clients[i % clients.length]?.services.at(-1 - (i % 3)) ?? '';
        const version = await publishRouteChange(db, service);
        times.route.push(
          await measure(() =>
            eventually('the edges serve it', async () => (await waitingEdges(db, service, version)) === 0),
          ),
        );
      }),
      repeat(1, seconds, async () => times.admission.push(await measure(() => admitDeployments(db)))),
    ]);
    await Promise.all(deployed);
    await losing;
    await eventually('all deployments have ended', async () => {
      const open = await rowsOf(
        db,
        `select status, worker_id is not null as held, admitted_at is not null as admitted, blocked_reason, count(*) as n
           from deployments where finished_at is null group by 1, 2, 3, 4`,
      );
      if (open.length > 0) throw new Error(JSON.stringify(open));
      return true;
    });
    // Work just after the last deployment counts as a part of it.
    await delay(1000);
    if (refused.length > 0) print(`    ${refused.length} deployments were refused, the first with ${refused[0]}`);
    const failed = await db('deployments').where({ status: 'failed' }).select('error').limit(1);
    if (failed.length > 0) throw new Error(`a deployment failed: ${failed[0]?.error}`);
    return count;
  }

  /** Kills the worker with its own process at this interval, and starts it again. Both times are in seconds. */
  async #loseWorkers(seconds: number, every: number): Promise<void> {
    for (let at = every; at <= seconds; at += every) {
      await delay(every * 1000);
      this.#lossy?.kill('SIGKILL');
      this.#lossy = await this.#spawn('worker', 0, 1);
    }
  }

  #claims(since: Date): Promise<number[]> {
    return valuesOf<number>(
      this.#platform.database.db,
      `select cast(extract(epoch from started_at - created_at) * 1000 as float8) from deployments
        where created_at > ? and started_at is not null`,
      [since],
    );
  }

  async #connections(): Promise<string> {
    const rows = await rowsOf<{ name: string; n: number }>(
      this.#platform.database.db,
      `select regexp_replace(application_name, '^(ranvier\\.host)\\..*', '\\1') as name, count(*) as n
         from pg_stat_activity where datname = current_database() and application_name <> 'test' group by 1 order by 2 desc`,
    );
    return `${rows.reduce((all, { n }) => all + n, 0)} (${rows.map(({ name, n }) => `${name} ${n}`).join(', ')})`;
  }

  #printTop({ statements, times, seconds }: Use): void {
    const most = (of: Map<string, number>) => [...of].sort(([, a], [, b]) => b - a).slice(0, this.#sizes.top);
    for (const [key, n] of most(statements)) print(`      ${(n / seconds).toFixed(1)}/s ${key.replace('\t', ': ')}`);
    for (const [key, ms] of most(times)) print(`      ${(ms / seconds).toFixed(1)} ms/s ${key.replace('\t', ': ')}`);
  }
}

/** Durations in milliseconds. */
interface Times {
  admission: number[];
  route: number[];
}

async function repeat(perSecond: number, seconds: number, work: (i: number) => unknown): Promise<void> {
  const begun = performance.now();
  for (let i = 0; i < perSecond * seconds; i++) {
    await delay(Math.max(0, begun + (i * 1000) / perSecond - performance.now()));
    await work(i);
  }
}

function isOfWorker(application: string): boolean {
  return /^ranvier(-worker|-listen|\.)/.test(application);
}

function byKind(statements: Map<string, number>, wanted: (application: string) => boolean = () => true) {
  const kinds = new Map<string, number>();
  for (const [key, n] of statements) {
    const [application = ''] = key.split('\t');
    if (wanted(application)) kinds.set(application, (kinds.get(application) ?? 0) + n);
  }
  return kinds;
}

function sum(statements: Map<string, number>): number {
  return [...statements.values()].reduce((all, n) => all + n, 0);
}

function perSecond({ statements, postgresMs: ms, seconds }: Use): string {
  const kinds = [...byKind(statements)].sort(([, a], [, b]) => b - a);
  const listed = kinds.map(([name, n]) => `${name} ${(n / seconds).toFixed(1)}`).join(', ');
  return `${(sum(statements) / seconds).toFixed(0)} statements (${listed}), ${(ms / seconds).toFixed(0)} ms of PostgreSQL`;
}

function spread(times: readonly number[]): string {
  return `${median(times).toFixed(0)} ms (p99 ${percentile(times, 0.99).toFixed(0)} ms of ${times.length})`;
}
