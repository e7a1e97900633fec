import { LATENCY_BOUNDS, latencyClass } from '../../shared/metrics/model.js';
import type { Traffic } from './traffic-store.js';

const CLASSES = LATENCY_BOUNDS.length + 1;

/** Counts one service's answers since the last report. Counting adds to numbers and allocates nothing. */
export class ServiceTraffic {
  readonly serviceId: string;
  #classes: [number, number, number, number] = [0, 0, 0, 0];
  #bytesOut = 0;
  #latency: number[] = new Array(CLASSES).fill(0);

  constructor(serviceId: string) {
    this.serviceId = serviceId;
  }

  get idle(): boolean {
    return this.#bytesOut === 0 && this.#classes.every((count) => count === 0);
  }

  /** Counts an answer. `ms` is null if its duration is no latency. A change of the protocol (101) is no answer. */
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

  /** Returns the counts and starts again from zero. */
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

  /** Adds counts that could not be reported. */
  putBack({ classes, bytesOut, latency }: Traffic): void {
    for (const place of [0, 1, 2, 3] as const) this.#classes[place] += classes[place];
    this.#bytesOut += bytesOut;
    for (const [index, count] of latency.entries()) this.#latency[index] = (this.#latency[index] ?? 0) + count;
  }
}

/** Counts an edge's answers by service. It has an entry for each service of the route table. */
export class TrafficMeter {
  readonly #services = new Map<string, ServiceTraffic>();
  #served: ReadonlySet<string> = new Set();

  of(serviceId: string): ServiceTraffic {
    const known = this.#services.get(serviceId) ?? new ServiceTraffic(serviceId);
    this.#services.set(serviceId, known);
    return known;
  }

  /** Sets the services that have a route now. Others are forgotten once their last answers are reported. */
  serve(serviceIds: ReadonlySet<string>): void {
    this.#served = serviceIds;
  }

  /** Returns the counts of each service that had answers, and starts again from zero. */
  take(): Traffic[] {
    const taken: Traffic[] = [];
    for (const [id, traffic] of this.#services) {
      if (!traffic.idle) taken.push(traffic.take());
      else if (!this.#served.has(id)) this.#services.delete(id);
    }
    return taken;
  }

  putBack(traffic: readonly Traffic[]): void {
    for (const item of traffic) this.of(item.serviceId).putBack(item);
  }
}
