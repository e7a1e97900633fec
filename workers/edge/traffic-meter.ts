import { LATENCY_BOUNDS, latencyClass } from '../../shared/metrics/model.js';
import type { Traffic } from './traffic-store.js';

const CLASSES = LATENCY_BOUNDS.length + 1;

interface Counts {
  classes: [number, number, number, number];
  bytesOut: number;
  latency: number[];
}

/** Counts one service's responses since the last report. */
export class ServiceTraffic {
  readonly serviceId: string;
  /** Null without responses, to save memory: an edge has an entry for each of many services. */
  #counts: Counts | null = null;
  sleeps = false;
  /** Requests in progress, and upgraded connections. */
  #open = 0;
  /** Number of routes that use this entry. */
  routes = 0;

  constructor(serviceId: string) {
    this.serviceId = serviceId;
  }

  begin(): void {
    this.#open += 1;
  }

  end(): void {
    this.#open -= 1;
  }

  /** True if the service had a visitor since the last report, or has one now. */
  get visited(): boolean {
    return this.#open > 0 || this.#counts !== null;
  }

  /** Ignores upgrades (101). `ms` is null if the duration does not count as latency. */
  count(status: number, bytes: number, ms: number | null): void {
    const place = ((status / 100) | 0) - 2;
    if (place < 0 || place > 3) return;
    this.#counts ??= noCounts();
    this.#counts.classes[place as 0 | 1 | 2 | 3] += 1;
    this.#counts.bytesOut += bytes;
    if (ms !== null) addTo(this.#counts.latency, latencyClass(ms), 1);
  }

  take(): Traffic | null {
    const counts = this.#counts;
    this.#counts = null;
    return counts === null ? null : { serviceId: this.serviceId, ...counts };
  }

  putBack({ classes, bytesOut, latency }: Traffic): void {
    this.#counts ??= noCounts();
    for (const place of [0, 1, 2, 3] as const) this.#counts.classes[place] += classes[place];
    this.#counts.bytesOut += bytesOut;
    for (const [index, count] of latency.entries()) addTo(this.#counts.latency, index, count);
  }
}

function noCounts(): Counts {
  return { classes: [0, 0, 0, 0], bytesOut: 0, latency: new Array(CLASSES).fill(0) };
}

function addTo(latency: number[], index: number, count: number): void {
  latency[index] = (latency[index] ?? 0) + count;
}

/** Counts an edge's responses by service. An entry without a route is removed after its last report. */
export class TrafficMeter {
  readonly #services = new Map<string, ServiceTraffic>();
  #canaries: TrafficMeter | null = null;

  /** Counts the responses of canaries. Each of a canary's two releases has its own entry (`canaryKey`). */
  get canaries(): TrafficMeter {
    this.#canaries ??= new TrafficMeter();
    return this.#canaries;
  }

  of(serviceId: string): ServiceTraffic {
    const known = this.#services.get(serviceId) ?? new ServiceTraffic(serviceId);
    this.#services.set(serviceId, known);
    return known;
  }

  take(): Traffic[] {
    const taken: Traffic[] = [];
    for (const [id, traffic] of this.#services) {
      const counts = traffic.take();
      if (counts !== null) taken.push(counts);
      else if (traffic.routes === 0) this.#services.delete(id);
    }
    return taken;
  }

  /** Returns the services that can sleep and had a visitor since the last report, or have one now. */
  visited(): string[] {
    return [...this.#services.values()]
      .filter(({ sleeps, visited }) => sleeps && visited)
      .map(({ serviceId }) => serviceId);
  }

  putBack(traffic: readonly Traffic[]): void {
    for (const item of traffic) this.of(item.serviceId).putBack(item);
  }
}
