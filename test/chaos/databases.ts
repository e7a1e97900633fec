import { setTimeout as delay } from 'node:timers/promises';
import { Redis } from 'ioredis';
import pg from 'pg';
import { Sensitive } from '../../shared/core/sensitive.js';
import { openDataReferences } from '../../shared/data/commands.js';
import { Keyring } from '../../shared/secrets/keyring.js';
import type { DataKind } from '../../shared/services/model.js';
import { markedProcesses } from '../../workers/sandbox/process-table.js';
import type { ApiClient } from '../support/client.js';
import { createService, deploy, type Service } from '../support/deployments.js';
import type { Platform } from '../support/platform.js';
import type { TargetFault } from './chaos-target.js';
import type { Entry } from './entries.js';
import type { Promises } from './load.js';
import { persistently } from './worker-supervisor.js';

const PAUSE_MS = 20;
const CONNECT_MS = 3_000;
/** Redis writes its file once a second, and up to two seconds later on a busy disk. */
const LATE_MS: Record<DataKind, number> = { postgres: 0, redis: 3_000 };

interface Counted {
  value: number;
  at: number;
}

/** A database with a counter that only rises. A value that the database has confirmed must survive a kill. */
class Counter {
  readonly service: Service;
  readonly wrong: string[] = [];
  readonly #kind: DataKind;
  readonly #url: () => Promise<string>;
  #acknowledged: Counted[] = [];
  count = 0;
  connections = 0;

  constructor(service: Service, kind: DataKind, url: () => Promise<string>) {
    this.service = service;
    this.#kind = kind;
    this.#url = url;
  }

  async run(stop: AbortSignal): Promise<void> {
    while (!stop.aborted) {
      await (this.#kind === 'postgres' ? this.#countInPostgres(stop) : this.#countInRedis(stop)).catch(() => undefined);
      await delay(PAUSE_MS);
    }
  }

  /** The first value on a connection shows what the server has kept. */
  #found(value: number): void {
    this.connections += 1;
    // The time of the kill is not known, but the server ran at its last acknowledgement.
    const before = (this.#acknowledged.at(-1)?.at ?? 0) - LATE_MS[this.#kind];
    const kept = this.#acknowledged.findLast(({ at }) => at <= before);
    if (kept !== undefined && value < kept.value) {
      this.wrong.push(`${this.service.name} had acknowledged ${kept.value} and has ${value}`);
    }
    this.#acknowledged = [{ value, at: Date.now() }];
  }

  #counted(value: number): void {
    this.count += 1;
    this.#acknowledged.push({ value, at: Date.now() });
    if (this.#acknowledged.length > 10_000) this.#acknowledged.splice(0, 5_000);
  }

  async #countInPostgres(stop: AbortSignal): Promise<void> {
    const connectionString = await this.#url();
    const client = new pg.Client({ connectionString, connectionTimeoutMillis: CONNECT_MS, query_timeout: CONNECT_MS });
    client.on('error', () => undefined);
    try {
      await client.connect();
      await client.query('create table if not exists counter (value integer not null)');
      await client.query('insert into counter select 0 where not exists (select from counter)');
      const read = async (sql: string) => (await client.query<{ value: number }>(sql)).rows[0]?.value ?? 0;
      this.#found(await read('select value from counter'));
      while (!stop.aborted) {
        this.#counted(await read('update counter set value = value + 1 returning value'));
        await delay(PAUSE_MS);
      }
    } finally {
      await client.end().catch(() => undefined);
    }
  }

  async #countInRedis(stop: AbortSignal): Promise<void> {
    const client = new Redis(await this.#url(), {
      lazyConnect: true,
      retryStrategy: null,
      connectTimeout: CONNECT_MS,
      commandTimeout: CONNECT_MS,
    });
    client.on('error', () => undefined);
    try {
      await client.connect();
      this.#found(Number((await client.get('counter')) ?? 0));
      while (!stop.aborted) {
        this.#counted(await client.incr('counter'));
        await delay(PAUSE_MS);
      }
    } finally {
      client.disconnect();
    }
  }
}

/** Databases that are killed like other parts of the platform, while counters in them rise. */
export class Databases {
  readonly #platform: Platform;
  readonly #counters: Counter[];

  private constructor(platform: Platform, counters: Counter[]) {
    this.#platform = platform;
    this.#counters = counters;
  }

  static async start(platform: Platform, client: ApiClient, promises: Promises): Promise<Databases> {
    const keyring = new Keyring(new Sensitive(platform.env.SECRETS_KEY ?? ''));
    const counters: Counter[] = [];
    for (const kind of ['postgres', 'redis'] as const) {
      const service = await createService(client, { name: kind, kind, configuration: { databaseVersion: '18' } });
      promises.deployments.add((await deploy(client, service.id)).id);
      const references = { url: { serviceId: service.id, key: 'URL' } };
      const { db } = platform.database;
      // Applications use the database's name, but this process is outside of their network.
      const url = async () => {
        const { url: shown = '' } = await openDataReferences(db, keyring, references);
        const running = { service_id: service.id, desired: 'running' };
        const replica = await db('replicas').where(running).whereNotNull('pid').first('address', 'port');
        const address = new URL(shown);
        address.hostname = replica.address;
        address.port = String(replica.port);
        return address.href;
      };
      counters.push(new Counter(service, kind, url));
    }
    return new Databases(platform, counters);
  }

  async run(stop: AbortSignal): Promise<void> {
    await Promise.all(this.#counters.map((counter) => counter.run(stop)));
  }

  get faults(): readonly TargetFault[] {
    return [{ kind: 'kill a database server', strike: (position) => this.#kill(position) }];
  }

  books(): Entry[] {
    return this.#counters.map(({ service, count, connections, wrong }) => ({
      what: `counts in ${service.name} that were acknowledged and are lost (${connections} connections)`,
      counted: count,
      wrong: count === 0 ? ['nothing was counted', ...wrong] : wrong,
    }));
  }

  async #kill(position: number): Promise<void> {
    const counter = this.#counters[position % this.#counters.length];
    const { db } = this.#platform.database;
    const replicas: string[] | undefined = await persistently(() =>
      db('replicas').where({ service_id: counter?.service.id }).pluck('id'),
    );
    for (const [pid, mark] of await markedProcesses(await this.#platform.sandboxToken())) {
      if (replicas?.some((id) => mark.includes(id))) killed(pid);
    }
  }
}

function killed(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {}
}
