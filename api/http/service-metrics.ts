import type { Db } from '../../shared/core/database/database-client.js';
import { quantile } from '../../shared/metrics/model.js';
import { busiestServices, type MinuteFigures } from '../resources/metrics/busiest-store.js';
import { Gauge, type Registry } from './prom-client.js';

/** Label for the sum of all services that have no label of their own. A host name cannot begin with an underscore. */
const OTHERS = '_others';
const CLASSES = ['2xx', '3xx', '4xx', '5xx'] as const;

/**
 * Metrics of hosted services for Prometheus. To limit the number of series, only the services with the most requests in
 * the last minute get their own labels; the others are summed up.
 */
export class ServiceMetrics {
  readonly #db: Db;
  readonly #most: number;
  readonly #requests: Gauge<'service' | 'status'>;
  readonly #latency: Gauge<'service' | 'quantile'>;
  readonly #bytes: Gauge<'service'>;
  readonly #cpu: Gauge<'service'>;
  readonly #memory: Gauge<'service'>;
  readonly #replicas: Gauge<'service'>;

  constructor(registry: Registry, db: Db, most: number) {
    const gauge = <Label extends string>(name: string, help: string, labelNames: Label[]) =>
      new Gauge<Label>({ name: `ranvier_service_${name}`, help, labelNames, registers: [registry] });
    this.#db = db;
    this.#most = most;
    this.#requests = gauge('requests_per_minute', 'Answers of the edges in the last full minute', [
      'service',
      'status',
    ]);
    this.#latency = gauge('latency_seconds', 'Latency at the edges in the last full minute', ['service', 'quantile']);
    this.#bytes = gauge('bytes_per_minute', 'Bytes that the edges sent in the last full minute', ['service']);
    this.#cpu = gauge('cpu_percent', 'Processor use in per cent of the plan, averaged over the replicas', ['service']);
    this.#memory = gauge('memory_percent', 'Memory use in per cent of the plan, averaged over the replicas', [
      'service',
    ]);
    this.#replicas = gauge('replicas', 'Ready replicas', ['service']);
  }

  /** Reads the current values. Rejects if the database is unreachable. */
  async update(): Promise<void> {
    const services = this.#most === 0 ? [] : await busiestServices(this.#db, this.#most);
    for (const gauge of [this.#requests, this.#latency, this.#bytes, this.#cpu, this.#memory, this.#replicas])
      gauge.reset();
    for (const figures of services) this.#set(figures);
  }

  #set(figures: MinuteFigures): void {
    const service = figures.slug ?? OTHERS;
    for (const status of CLASSES) this.#requests.set({ service, status }, figures[`requests_${status}`]);
    this.#bytes.set({ service }, figures.bytes_out);
    for (const share of [0.5, 0.99]) {
      const ms = quantile(figures.latency ?? [], share);
      if (ms !== null) this.#latency.set({ service, quantile: String(share) }, ms / 1000);
    }
    if (figures.samples > 0) {
      this.#cpu.set({ service }, figures.cpu / figures.samples);
      this.#memory.set({ service }, figures.memory / figures.samples);
    }
    if (figures.counts > 0) this.#replicas.set({ service }, figures.replicas / figures.counts);
  }
}
