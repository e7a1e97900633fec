import { Gauge, Histogram, Registry } from 'prom-client';
import type { Db } from '../shared/db/client.js';
import { countDeployments, repairCounts, stepDurations } from '../shared/db/statistics.js';
import { onlineWorkers } from '../shared/db/workers.js';
import { DEPLOYMENT_STATUSES } from '../shared/domain/deployment.js';
import type { Engine, JobQueue } from '../shared/queues/engine.js';

const QUEUE_STATES = ['waiting', 'active', 'delayed', 'failed', 'completed', 'paused'] as const;

/** BullMQ's type leaves `paused` out, which its PostgreSQL backend counts apart. */
type JobType = Parameters<JobQueue['getJobCounts']>[number];

export interface RequestLabels {
  method: string;
  route: string;
  status: number;
}

/** What Prometheus may scrape: requests of this process, and the state of the platform as the database has it. */
export class Metrics {
  readonly #registry = new Registry();
  readonly #requests: Histogram<'method' | 'route' | 'status'>;
  readonly #queues: Gauge<'queue' | 'state'>;
  readonly #workers: Gauge;
  readonly #deployments: Gauge<'status'>;
  readonly #steps: Gauge<'step' | 'quantile'>;
  readonly #repairs: Gauge<'sweep'>;
  readonly #db: Db;
  readonly #engine: Engine;

  constructor(db: Db, engine: Engine) {
    const registers = [this.#registry];
    this.#db = db;
    this.#engine = engine;
    this.#requests = new Histogram({
      name: 'ranvier_http_request_duration_seconds',
      help: 'Duration of HTTP requests of this process',
      labelNames: ['method', 'route', 'status'],
      buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5],
      registers,
    });
    this.#queues = new Gauge({
      name: 'ranvier_queue_jobs',
      help: 'Jobs of each queue by state',
      labelNames: ['queue', 'state'],
      registers,
    });
    this.#workers = new Gauge({ name: 'ranvier_workers_online', help: 'Workers seen within 15 seconds', registers });
    this.#deployments = new Gauge({
      name: 'ranvier_deployments',
      help: 'Deployments by status',
      labelNames: ['status'],
      registers,
    });
    this.#steps = new Gauge({
      name: 'ranvier_deployment_step_seconds',
      help: 'Duration of the steps of deployments that ended within the last hour',
      labelNames: ['step', 'quantile'],
      registers,
    });
    this.#repairs = new Gauge({
      name: 'ranvier_repairs_total',
      help: 'What the sweeps have mended since the beginning',
      labelNames: ['sweep'],
      registers,
    });
  }

  get contentType(): string {
    return this.#registry.contentType;
  }

  observeRequest(labels: RequestLabels, seconds: number): void {
    this.#requests.observe({ ...labels, status: String(labels.status) }, seconds);
  }

  /** The text of a scrape. Throws where the database or the engine is away. */
  async scrape(): Promise<string> {
    const [workers, deployments, steps, repairs] = await Promise.all([
      onlineWorkers(this.#db),
      countDeployments(this.#db),
      stepDurations(this.#db),
      repairCounts(this.#db),
    ]);
    this.#workers.set(workers.length);
    for (const status of DEPLOYMENT_STATUSES) {
      this.#deployments.set({ status }, deployments.find((row) => row.status === status)?.count ?? 0);
    }
    this.#steps.reset();
    for (const { step, median, p95 } of steps) {
      this.#steps.set({ step, quantile: '0.5' }, median);
      this.#steps.set({ step, quantile: '0.95' }, p95);
    }
    for (const { sweep, count } of repairs) this.#repairs.set({ sweep }, count);
    await this.#countJobs();
    return this.#registry.metrics();
  }

  async #countJobs(): Promise<void> {
    await this.#engine.ping();
    for (const [name, queue] of Object.entries(this.#engine.queues)) {
      const counts = await queue.getJobCounts(...(QUEUE_STATES as readonly JobType[]));
      for (const state of QUEUE_STATES) this.#queues.set({ queue: name, state }, counts[state] ?? 0);
    }
  }
}
