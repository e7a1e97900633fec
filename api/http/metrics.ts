import { pollFigures } from '../../shared/commits/store.js';
import type { Db } from '../../shared/core/database/database-client.js';
import { countDeployments, stepDurations } from '../../shared/deployments/deployment-statistics.js';
import { DEPLOYMENT_STATUSES } from '../../shared/deployments/model.js';
import { pushedStorage } from '../../shared/pushes/store.js';
import type { Engine, JobQueue } from '../../shared/queues/queue-engine.js';
import { edgeFigures } from '../../shared/routing/store.js';
import { onlineWorkers, repairCounts } from '../../shared/workers/store.js';
import { Gauge, Histogram, Registry } from './prom-client.js';
import { ServiceMetrics } from './service-metrics.js';

const QUEUE_STATES = ['waiting', 'active', 'delayed', 'failed', 'completed', 'paused'] as const;

/** BullMQ's type of job states. It lacks `paused`, which BullMQ's PostgreSQL backend counts as a state of its own. */
type JobType = Parameters<JobQueue['getJobCounts']>[number];

export interface RequestLabels {
  method: string;
  route: string;
  status: number;
}

/** Collects Prometheus metrics of this process's requests, and of the platform's state in the database. */
export class Metrics {
  readonly #registry = new Registry();
  readonly #requests = new Histogram({
    name: 'ranvier_http_request_duration_seconds',
    help: 'Duration of HTTP requests of this process',
    labelNames: ['method', 'route', 'status'],
    buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5],
    registers: [this.#registry],
  });
  readonly #queues = this.#gauge('queue_jobs', 'Jobs of each queue by state', ['queue', 'state']);
  readonly #workers = this.#gauge('workers_online', 'Workers seen within 15 seconds');
  readonly #eventLoops = this.#gauge(
    'worker_event_loop_delay_seconds',
    "How long each worker's event loop was blocked at a time, 99th percentile of the last heartbeat",
    ['host', 'pid'],
  );
  readonly #deployments = this.#gauge('deployments', 'Deployments by status', ['status']);
  readonly #steps = this.#gauge(
    'deployment_step_seconds',
    'Duration of the steps of the last thousand deployments that ended within the last hour',
    ['step', 'quantile'],
  );
  readonly #repairs = this.#gauge('repairs_total', 'Repairs that the sweeps have made since the installation began', [
    'sweep',
  ]);
  readonly #polls = this.#gauge(
    'polls',
    'Polled repositories: how many there are, how many fail now, polls since each was first polled, seconds by which the latest is overdue',
    ['figure'],
  );
  readonly #pushedRepositories = this.#gauge(
    'pushed_repositories',
    'Repositories of services that are deployed by git push',
  );
  readonly #pushedBytes = this.#gauge('pushed_bytes', 'Their size on the disk');
  readonly #edges = this.#gauge(
    'edge',
    'What each edge counts: connections, requests and upgraded now; failedExchanges (exceptions in one exchange), closedConnections and refusedConnections (limits) since it started',
    ['host', 'pid', 'figure'],
  );
  readonly #services: ServiceMetrics;
  readonly #db: Db;
  readonly #engine: Engine;

  /** At most `mostServices` services get their own labels; the others are summed up. */
  constructor(db: Db, engine: Engine, mostServices: number) {
    this.#services = new ServiceMetrics(this.#registry, db, mostServices);
    this.#db = db;
    this.#engine = engine;
  }

  #gauge<Label extends string = never>(name: string, help: string, labelNames: Label[] = []): Gauge<Label> {
    return new Gauge({ name: `ranvier_${name}`, help, labelNames, registers: [this.#registry] });
  }

  get contentType(): string {
    return this.#registry.contentType;
  }

  observeRequest(labels: RequestLabels, seconds: number): void {
    this.#requests.observe({ ...labels, status: String(labels.status) }, seconds);
  }

  /** Returns the metrics as text. Rejects if the database or the queue engine is unreachable. */
  async scrape(): Promise<string> {
    const [workers, deployments, steps, repairs, edges, pushed, polls] = await Promise.all([
      onlineWorkers(this.#db),
      countDeployments(this.#db),
      stepDurations(this.#db),
      repairCounts(this.#db),
      edgeFigures(this.#db),
      pushedStorage(this.#db),
      pollFigures(this.#db),
      this.#services.update(),
      this.#countJobs(),
    ]);
    this.#workers.set(workers.length);
    this.#eventLoops.reset();
    for (const { host, pid, event_loop_p99_ms: ms } of workers) {
      this.#eventLoops.set({ host, pid: String(pid) }, ms / 1000);
    }
    for (const status of DEPLOYMENT_STATUSES) {
      this.#deployments.set({ status }, deployments.get(status) ?? 0);
    }
    this.#steps.reset();
    for (const { step, median, p95 } of steps) {
      this.#steps.set({ step, quantile: '0.5' }, median);
      this.#steps.set({ step, quantile: '0.95' }, p95);
    }
    for (const { sweep, count } of repairs) this.#repairs.set({ sweep }, count);
    for (const [figure, value] of Object.entries(polls)) this.#polls.set({ figure }, value);
    this.#pushedRepositories.set(pushed.repositories);
    this.#pushedBytes.set(pushed.bytes);
    this.#edges.reset();
    for (const { host, pid, figures } of edges) {
      for (const [figure, value] of Object.entries(figures)) this.#edges.set({ host, pid: String(pid), figure }, value);
    }
    return this.#registry.metrics();
  }

  async #countJobs(): Promise<void> {
    await this.#engine.ping();
    const count = async ([name, queue]: [string, JobQueue]) => {
      const counts = await queue.getJobCounts(...(QUEUE_STATES as readonly JobType[]));
      for (const state of QUEUE_STATES) this.#queues.set({ queue: name, state }, counts[state] ?? 0);
    };
    await Promise.all(Object.entries(this.#engine.queues).map(count));
  }
}
