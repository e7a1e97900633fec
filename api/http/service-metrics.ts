import type { Db } from '../../shared/core/database/database-client.js';
import { quantile } from '../../shared/metrics/model.js';
import { busiestServices, type MinuteFigures } from '../resources/metrics/busiest-store.js';
import { Gauge, type Registry } from './prom-client.js';

/**
 * Label for the sum of the services without their own label. No service has this host name, because it begins with `_`.
 */
const OTHERS = '_others';
const CLASSES = ['2xx', '3xx', '4xx', '5xx'] as const;

/** Collects metrics of hosted services. Only the busiest services get their own labels, to limit the series. */
export class ServiceMetrics {
  readonly #db: Db;
  readonly #most: number;
  readonly #gauges: ReturnType<typeof gaugesIn>;

  constructor(registry: Registry, db: Db, most: number) {
    this.#gauges = gaugesIn(registry);
    this.#db = db;
    this.#most = most;
  }

  /** Reads the current values. Rejects if the database is unreachable. */
  async update(): Promise<void> {
    const services = this.#most === 0 ? [] : await busiestServices(this.#db, this.#most);
    for (const gauge of Object.values(this.#gauges)) gauge.reset();
    for (const figures of services) this.#set(figures);
  }

  #set(figures: MinuteFigures): void {
    const service = figures.slug ?? OTHERS;
    const { requests, latency, bytes, cpu, memory, replicas } = this.#gauges;
    for (const status of CLASSES) requests.set({ service, status }, figures[`requests_${status}`]);
    bytes.set({ service }, figures.bytes_out);
    for (const share of [0.5, 0.99]) {
      const ms = quantile(figures.latency ?? [], share);
      if (ms !== null) latency.set({ service, quantile: String(share) }, ms / 1000);
    }
    if (figures.samples > 0) {
      cpu.set({ service }, figures.cpu / figures.samples);
      memory.set({ service }, figures.memory / figures.samples);
    }
    if (figures.counts > 0) replicas.set({ service }, figures.replicas / figures.counts);
  }
}

function gaugesIn(registry: Registry) {
  const gauge = <Label extends string>(name: string, help: string, labelNames: Label[]) =>
    new Gauge<Label>({ name: `ranvier_service_${name}`, help, labelNames, registers: [registry] });
  return {
    requests: gauge('requests_per_minute', 'Answers of the edges in the last full minute', ['service', 'status']),
    latency: gauge('latency_seconds', 'Latency at the edges in the last full minute', ['service', 'quantile']),
    bytes: gauge('bytes_per_minute', 'Bytes that the edges sent in the last full minute', ['service']),
    cpu: gauge('cpu_percent', 'Processor use in per cent of the plan, averaged over the replicas', ['service']),
    memory: gauge('memory_percent', 'Memory use in per cent of the plan, averaged over the replicas', ['service']),
    replicas: gauge('replicas', 'Ready replicas', ['service']),
  };
}
