import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import type { ApiClient } from '../support/client.js';
import { createService, type Service } from '../support/deployments.js';
import type { Platform } from '../support/platform.js';
import type { PostgresPair } from '../support/postgres-pair.js';
import type { Entry } from './entries.js';
import type { FaultInjector } from './faults.js';

const FIRST_MS = 8_000;
const BETWEEN_MS = 30_000;
/** How long the loss of the primary goes unnoticed. The user's own monitoring decides that, not the platform. */
const UNNOTICED_MS = 3_000;
const PAUSE_MS = 20;
const CONNECT_MS = 2_000;
const SETTLES_MS = 60_000;

interface Write {
  begun: number;
  ended: number;
  ok: boolean;
  /** The status of the answer, or why there was none. */
  what: string;
}

interface Outage {
  killed: number;
  moved: number;
  /** When the first PATCH after the failover was answered. */
  until: number;
}

/** Replaces PostgreSQL's primary by its standby while the platform works, and measures the outages. */
export class Failovers {
  readonly #pair: PostgresPair;
  readonly #platform: Platform;
  readonly #client: ApiClient;
  readonly #service: Service;
  readonly #say: (what: string) => void;
  readonly #writes: Write[] = [];
  readonly #outages: Outage[] = [];
  readonly #acknowledged: number[] = [];

  private constructor(
    pair: PostgresPair,
    platform: Platform,
    client: ApiClient,
    service: Service,
    say: (what: string) => void,
  ) {
    this.#pair = pair;
    this.#platform = platform;
    this.#client = client;
    this.#service = service;
    this.#say = say;
  }

  static async start(
    pair: PostgresPair,
    platform: Platform,
    client: ApiClient,
    say: (what: string) => void,
  ): Promise<Failovers> {
    await platform.database.db.raw('create table failover_probe (number integer primary key)');
    return new Failovers(
      pair,
      platform,
      client,
      await createService(client, { name: 'patched', configuration: {} }),
      say,
    );
  }

  async run(stop: AbortSignal, faults: FaultInjector): Promise<void> {
    const ended = new AbortController();
    const writing = Promise.all([this.#patch(ended.signal), this.#insert(ended.signal)]);
    try {
      await delay(FIRST_MS);
      do {
        faults.strikes.push({ kind: 'replace postgresql', at: Date.now() });
        await this.#failOver();
        await this.#pair.attachStandby();
        await delay(BETWEEN_MS, undefined, { signal: stop }).catch(() => undefined);
      } while (!stop.aborted);
    } finally {
      ended.abort();
      await writing;
    }
  }

  async books(): Promise<Entry[]> {
    const stored = await this.#platform.database.db('failover_probe').pluck('number');
    const kept = new Set<number>(stored);
    const seconds = this.#outages.map(({ moved, until }) => ((until - moved) / 1000).toFixed(1)).join(', ');
    const failed = this.#writes.filter(({ ok }) => !ok).length;
    return [
      {
        what: `writes that a lost primary had acknowledged (${this.#outages.length} failovers)`,
        counted: this.#acknowledged.length,
        wrong: this.#acknowledged.filter((number) => !kept.has(number)).map(String),
      },
      {
        what: `PATCHes while PostgreSQL was replaced (${failed} failed; answered ${seconds} s after the address moved)`,
        counted: this.#writes.length,
        wrong: this.#outages.length === 0 ? ['no failover took place'] : [],
      },
    ];
  }

  async #failOver(): Promise<void> {
    const killed = Date.now();
    this.#say('kill the primary of postgresql');
    await this.#pair.killPrimary();
    await delay(UNNOTICED_MS);
    await this.#pair.promote();
    const moved = Date.now();
    const deadline = moved + SETTLES_MS;
    let answered: Write | undefined;
    while (answered === undefined) {
      if (Date.now() > deadline) throw new Error('no PATCH is answered after the failover');
      await delay(PAUSE_MS);
      answered = this.#writes.find(({ ok, ended }) => ok && ended > moved);
    }
    this.#outages.push({ killed, moved, until: answered.ended });
    const failed = this.#writes.filter(({ ok, ended }) => !ok && ended >= killed);
    const answers = [...new Set(failed.map(({ what }) => what))].map((what) => {
      const took = failed.filter((write) => write.what === what).map(({ begun, ended }) => ended - begun);
      return `${took.length} ${what}, at most ${Math.max(...took)} ms`;
    });
    this.#say(
      `the standby was promoted within ${moved - killed - UNNOTICED_MS} ms; ${answered.ended - moved} ms later the API wrote; failed in ${answered.ended - killed} ms: ${answers.join('; ')}`,
    );
  }

  async #patch(stop: AbortSignal): Promise<void> {
    for (let number = 0; !stop.aborted; number++) {
      const begun = Date.now();
      const what = await this.#client
        .call('PATCH', `/services/${this.#service.id}`, { name: `patched ${number}` })
        .then(
          ({ status }) => String(status),
          () => 'without an answer',
        );
      this.#writes.push({ begun, ended: Date.now(), ok: what === '200', what });
      await delay(PAUSE_MS);
    }
  }

  async #insert(stop: AbortSignal): Promise<void> {
    for (let number = 0; !stop.aborted; ) {
      const client = new pg.Client({
        connectionString: this.#platform.database.url,
        connectionTimeoutMillis: CONNECT_MS,
      });
      client.on('error', () => undefined);
      try {
        await client.connect();
        while (!stop.aborted) {
          number += 1;
          await client.query('insert into failover_probe values ($1)', [number]);
          this.#acknowledged.push(number);
          await delay(PAUSE_MS);
        }
      } catch {
        await delay(PAUSE_MS);
      } finally {
        await client.end().catch(() => undefined);
      }
    }
  }
}
