import { oneRow } from '../../shared/core/database/database-client.js';
import { ASLEEP, FROZEN } from '../../shared/services/wanted-replicas.js';
import { type ApiClient, visit } from '../support/client.js';
import { createService, deploy, type Service } from '../support/deployments.js';
import type { Platform } from '../support/platform.js';
import { eventually } from '../support/processes.js';
import type { EdgeOutages } from './edge-outages.js';
import type { Entry } from './entries.js';
import type { Failure, Promises } from './load.js';

/** A service falls asleep only a few times a minute, so many wakes need several services. */
const WAKES_OF_SERVICE = 50;
const [FEWEST, MOST] = [2, 8];
const POLL_MS = 50;
/** How long a service may take to fall asleep while workers and PostgreSQL are killed. */
const ASLEEP_MS = 180_000;

/** Settings with which services fall asleep soon. Times in seconds. */
export const SLEEPY = { METRICS_SECONDS: '1', SLEEP_SECONDS: '2', FROZEN_SECONDS: '2' };

type Stage = 'frozen' | 'ended';

interface WakesDeps {
  platform: Platform;
  client: ApiClient;
  promises: Promises;
  edge: EdgeOutages;
}

/** Sends requests to sleeping services, which are frozen and ended in turn, while faults occur. */
export class Wakes {
  readonly #deps: WakesDeps;
  readonly #services: Service[];
  readonly #wanted: number;
  readonly #failures: Failure[] = [];
  readonly #latencies: Record<Stage, number[]> = { frozen: [], ended: [] };
  #begun = 0;

  private constructor(deps: WakesDeps, services: Service[], wanted: number) {
    this.#deps = deps;
    this.#services = services;
    this.#wanted = wanted;
  }

  static async start(deps: WakesDeps, wanted: number, configuration: object): Promise<Wakes> {
    const { client, promises } = deps;
    const count = Math.min(MOST, Math.max(FEWEST, Math.ceil(wanted / WAKES_OF_SERVICE)));
    const services = await Promise.all(
      Array.from({ length: count }, async (_, number) => {
        const service = await createService(client, {
          name: `sleeper ${number}`,
          configuration: { ...configuration, scaling: 'auto', minReplicas: 0 },
        });
        promises.deployments.add((await deploy(client, service.id)).id);
        return service;
      }),
    );
    return new Wakes(deps, services, wanted);
  }

  async run(): Promise<void> {
    await Promise.all(
      this.#services.map(async (service, number) => {
        for (let turn = number; this.#begun < this.#wanted; turn++) {
          this.#begun += 1;
          await this.#wake(service, turn % 2 === 0 ? 'frozen' : 'ended');
        }
      }),
    );
  }

  books(): Entry[] {
    const lost = this.#failures.filter((failure) => !this.#deps.edge.excuses(failure));
    const figures = (['frozen', 'ended'] as const).map((stage) => `${stage} ${figuresOf(this.#latencies[stage])}`);
    return [
      {
        what: `requests that a sleeping service lost (${figures.join('; ')})`,
        counted: this.#begun,
        wrong: lost.map(
          ({ what, begun, ended }) => `${new Date(ended).toISOString()} after ${ended - begun} ms: ${what}`,
        ),
      },
    ];
  }

  async #wake(service: Service, wanted: Stage): Promise<void> {
    let [begun, stage] = [Date.now(), wanted];
    const answer = await eventually(`it is ${wanted}`, () => this.#stageOf(service, wanted), ASLEEP_MS, POLL_MS)
      .then((reached) => {
        [begun, stage] = [Date.now(), reached];
        return visit(service.url, this.#deps.platform.edgePort);
      })
      .catch((error: Error) => ({ status: 0, body: error.message }));
    const ended = Date.now();
    if (answer.status === 200 && answer.body === 'ok') this.#latencies[stage].push(ended - begun);
    else {
      const what = `${service.name}, ${stage}: ${answer.status} ${answer.body.slice(0, 120)}`;
      this.#failures.push({ serviceId: service.id, what, begun, ended });
    }
  }

  /** Returns the stage that the service has reached, if it is the wanted one or 'ended'; else null. */
  async #stageOf({ id }: Service, wanted: Stage): Promise<Stage | null> {
    const row = await oneRow<Record<Stage, boolean>>(
      this.#deps.platform.database.db,
      `select ${FROZEN} and exists (select from replicas r where r.service_id = s.id and r.state = 'frozen') as frozen,
              ${ASLEEP} and not exists (select from replicas r where r.service_id = s.id and r.state <> 'stopped') as ended
         from services s where s.id = ?`,
      [id],
    );
    if (row?.ended) return 'ended';
    return row?.frozen && wanted === 'frozen' ? 'frozen' : null;
  }
}

function figuresOf(latencies: readonly number[]): string {
  const sorted = [...latencies].sort((a, b) => a - b);
  const at = (share: number) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
  return `${sorted.length}, median ${at(0.5)} ms, p99 ${at(0.99)} ms`;
}
