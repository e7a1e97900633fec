import { type Db, oneRow } from '../../shared/core/database/database-client.js';
import { createService, deploy, type Service } from '../support/deployments.js';
import { type EngineName, type Platform, startPlatform } from '../support/platform.js';
import { createTestDatabase } from '../support/postgres.js';
import { createPlatformRepository } from '../support/repositories.js';
import { measure, median, print } from './measure.js';
import { addHistory, addLines, addSites, addYear } from './scale-records.js';
import { explainAll, plansOf } from './statements.js';
import { Wear } from './year-wear.js';

const DEPLOYMENTS = Number(process.env.BENCH_DEPLOYMENTS ?? 1_000_000);
const LINES = Number(process.env.BENCH_LINES ?? 10_000_000);
/** The first size: enough for a full page of every list. */
const PAGE_DEPLOYMENTS = 3000;
const PAGE_LINES = 2000;
const SERVICES = 200;
const ROUNDS = 15;
/** Maximum ratio of a request's cost with all records to its cost with a single page. */
const BAR = 1.2;
/** The API reads a few rows beside those of a request. */
const NOISE_ROWS = 20;
/** A plan that reads fewer rows may be a scan of a small table. */
const SCANNED_ROWS = 2000;

interface Cost {
  ms: number;
  rows: number;
  scans: string[];
}

/** Measures each GET with one page of records and with a year's. BENCH_DEPLOYMENTS and BENCH_LINES set the sizes. */
export async function benchYear(engine: EngineName): Promise<void> {
  const before = await createTestDatabase();
  await explainAll(before.db);
  await before.drop();
  const repository = await createPlatformRepository({ 'index.html': 'a page' });
  const platform = await startPlatform({ engine });
  const { db } = platform.database;
  try {
    const configuration = { repository: repository.url };
    const service = await createService(platform.client, { name: 'measured', configuration });
    await deploy(platform.client, service.id);
    // Timers of workers would add statements that are not a part of a request.
    for (const worker of platform.workers) await worker.stop();
    await addSites(db, service.id, SERVICES);
    const year = new Year(platform, service);
    await year.fill(PAGE_DEPLOYMENTS, PAGE_LINES);
    const small = await year.ask();
    const began = performance.now();
    await year.fill(DEPLOYMENTS, LINES);
    print(
      `  ${DEPLOYMENTS} deployments and ${LINES} lines stored in ${((performance.now() - began) / 60_000).toFixed(1)} min`,
    );
    compare(small, await year.ask());
    await new Wear(db).run();
  } finally {
    await platform.stop();
    await repository.remove();
  }
}

class Year {
  readonly #platform: Platform;
  readonly #service: Service;
  readonly #db: Db;

  constructor(platform: Platform, service: Service) {
    this.#platform = platform;
    this.#service = service;
    this.#db = platform.database.db;
  }

  async fill(deployments: number, lines: number): Promise<void> {
    await addHistory(this.#db, this.#service.id, deployments);
    await addLines(this.#db, this.#service.id, lines);
    await addYear(this.#db, this.#service.id, deployments);
    await this.#db.raw('vacuum analyze');
  }

  async ask(): Promise<Map<string, Cost>> {
    const costs = new Map<string, Cost>();
    for (const path of await this.#paths()) {
      const { status } = await this.#get(path);
      if (status === 200) costs.set(path, await this.#cost(path));
      else if (status !== 404 && status !== 403) print(`    ${path} answers ${status}`);
    }
    return costs;
  }

  async #cost(path: string): Promise<Cost> {
    const plans = await plansOf(this.#db, () => this.#get(path));
    const times: number[] = [];
    for (let round = 0; round < ROUNDS; round++) times.push(await measure(() => this.#get(path)));
    return {
      ms: median(times),
      rows: plans.reduce((sum, { rows }) => sum + rows, 0),
      scans: plans
        .flatMap(({ scans }) => scans)
        .filter(({ rows }) => rows > SCANNED_ROWS)
        .map(({ table }) => table),
    };
  }

  async #get(path: string): Promise<{ status: number }> {
    const { baseUrl, key } = this.#platform.client;
    const response = await fetch(`${baseUrl}${path}`, { headers: { Authorization: `Bearer ${key}` } });
    await response.arrayBuffer();
    return response;
  }

  async #paths(): Promise<string[]> {
    const { client } = this.#platform;
    const document = (await (await fetch(`${client.baseUrl}/openapi.json`)).json()) as {
      paths: Record<string, object>;
    };
    const ids = await this.#ids();
    return Object.entries(document.paths)
      .filter(([path, methods]) => 'get' in methods && path.includes('/workspaces/{workspaceId}'))
      .map(([path]) => path.replace(/\{(\w+)\}/g, (all, name: string) => ids[name] ?? all))
      .map((path) => path.replace(/^\/v1/, ''))
      .filter((path) => !path.includes('{'));
  }

  async #ids(): Promise<Record<string, string>> {
    const of = { service_id: this.#service.id };
    const first = async (table: string) =>
      (await this.#db(table).where(of).orderBy('created_at', 'desc').first('id'))?.id;
    const service = await oneRow<{ project_id: string; environment_id: string }>(
      this.#db,
      'select project_id, environment_id from services where id = ?',
      [this.#service.id],
    );
    const deployment = await first('deployments');
    return {
      workspaceId: this.#platform.client.workspaceId,
      serviceId: this.#service.id,
      projectId: service?.project_id ?? '',
      environmentId: service?.environment_id ?? '',
      deploymentId: deployment,
      deployId: deployment,
      runId: await first('runs'),
      operationId: await first('operations'),
    };
  }
}

function compare(small: ReadonlyMap<string, Cost>, large: ReadonlyMap<string, Cost>): void {
  const found = [...large].flatMap(([path, now]) => {
    const then = small.get(path);
    if (then === undefined) return [];
    return [{ path, then, now, ms: now.ms / then.ms, rows: now.rows / Math.max(NOISE_ROWS, then.rows) }];
  });
  const middle = (ratio: (one: (typeof found)[number]) => number) => median(found.map(ratio)).toFixed(2);
  print(
    `  ${found.length} GETs: median ratio of rows ${middle(({ rows }) => rows)}, of times ${middle(({ ms }) => ms)}`,
  );
  for (const { path, then, now, ms, rows } of found.sort((a, b) => b.rows - a.rows)) {
    const isWrong = rows > BAR || now.scans.length > 0;
    if (!isWrong && ms <= BAR) continue;
    const scans = now.scans.length > 0 ? `, scans ${now.scans.join(', ')}` : '';
    print(
      `    ${shown(path)}: ${then.rows} → ${now.rows} rows (${rows.toFixed(2)}), ${then.ms.toFixed(1)} → ${now.ms.toFixed(1)} ms (${ms.toFixed(2)})${scans}${isWrong ? ' NOT MET' : ''}`,
    );
  }
}

function shown(path: string): string {
  return path.replace(/[0-9a-f]{8}-[0-9a-f-]{27}/g, '…');
}
