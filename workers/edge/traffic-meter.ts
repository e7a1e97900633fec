import { LATENCY_BOUNDS, latencyClass } from '../../shared/metrics/model.js';
import type { Traffic } from './traffic-store.js';

const CLASSES = LATENCY_BOUNDS.length + 1;

/** Counts one service's responses since the last report. Counting only adds to numbers and allocates nothing. */
export class ServiceTraffic {
  readonly serviceId: string;
  #classes: [number, number, number, number] = [0, 0, 0, 0];
  #bytesOut = 0;
  #latency: number[] = new Array(CLASSES).fill(0);
  /** True if the service is put to sleep while it has no visitors. */
  sleeps = false;
  /** Number of requests in progress and of upgraded connections. */
  #open = 0;
  /** Number of routes that count here. */
  routes = 0;

  constructor(serviceId: string) {
    this.serviceId = serviceId;
  }

  get idle(): boolean {
    return this.#bytesOut === 0 && this.#classes.every((count) => count === 0);
  }

  begin(): void {
    this.#open += 1;
  }

  end(): void {
    this.#open -= 1;
  }

  /** True if the service had a visitor since the last report, or has one now. */
  get visited(): boolean {
    return this.#open > 0 || !this.idle;
  }

  /** Counts a response. `ms` is null if its duration does not count as latency. Ignores upgrades (101). */
  count(status: number, bytes: number, ms: number | null): void {
    const place = ((status / 100) | 0) - 2;
    if (place < 0 || place > 3) return;
    this.#classes[place as 0 | 1 | 2 | 3] += 1;
    this.#bytesOut += bytes;
    if (ms !== null) {
      const index = latencyClass(ms);
      this.#latency[index] = (this.#latency[index] ?? 0) + 1;
    }
  }

  /** Returns the counts and resets them. */
  take(): Traffic {
    const taken = {
      serviceId: this.serviceId,
      classes: this.#classes,
      bytesOut: this.#bytesOut,
      latency: this.#latency,
    };
    this.#classes = [0, 0, 0, 0];
    this.#bytesOut = 0;
    this.#latency = new Array(CLASSES).fill(0);
    return taken;
  }

  /** Adds the counts of a failed report again. */
  putBack({ classes, bytesOut, latency }: Traffic): void {
    for (const place of [0, 1, 2, 3] as const) this.#classes[place] += classes[place];
    this.#bytesOut += bytesOut;
    for (const [index, count] of latency.entries()) this.#latency[index] = (this.#latency[index] ?? 0) + count;
  }
}

/** Counts an edge's responses by service. An entry without a route is removed once its last responses are reported. */
export class TrafficMeter {
  readonly #services = new Map<string, ServiceTraffic>();
  #canaries: TrafficMeter | null = null;

  /** Counts the answers on the two sides of canaries; each has an entry, `canaryKey`. */
  get canaries(): TrafficMeter {
    this.#canaries ??= new TrafficMeter();
    return this.#canaries;
  }

  of(serviceId: string): ServiceTraffic {
    const known = this.#services.get(serviceId) ?? new ServiceTraffic(serviceId);
    this.#services.set(serviceId, known);
    return known;
  }

  /** Returns the counts of each service that sent responses, and resets them. */
  take(): Traffic[] {
    const taken: Traffic[] = [];
    for (const [id, traffic] of this.#services) {
      if (!traffic.idle) taken.push(traffic.take());
      else if (traffic.routes === 0) this.#services.delete(id);
    }
    return taken;
  }

  /** Returns the ids of services that are put to sleep without visitors, and had one since the last report. */
  visited(): string[] {
    return [...this.#services.values()]
      .filter(({ sleeps, visited }) => sleeps && visited)
      .map(({ serviceId }) => serviceId);
  }

  putBack(traffic: readonly Traffic[]): void {
    for (const item of traffic) this.of(item.serviceId).putBack(item);
  }
}
