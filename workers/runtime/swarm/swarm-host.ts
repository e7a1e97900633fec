import type { Service } from 'dockerode';
import type { ReplicaRow } from '../../replicas/rows.js';
import { HostAllowance } from '../log-allowance.js';
import type { ReplicaHost } from '../supervisor.js';
import { sweepNetworks } from './release-network.js';
import { LABELS } from './service-spec.js';
import { SwarmController } from './swarm-controller.js';
import { removeService, type SwarmRuntimeDeps } from './swarm-services.js';
import { labelsOf, SwarmView } from './swarm-view.js';

/** The service of a command this old, in milliseconds, is left from a worker that died. */
const COMMAND_MS = 60 * 60_000;
/** The time limit of work on a volume: large databases take long. */
const VOLUME_WORK_MS = 12 * 60 * 60_000;

/** Runs replicas as services of a swarm. The whole swarm is one host; any worker that reaches a manager can lead it. */
export class SwarmHost implements ReplicaHost {
  readonly pollMs = 2_000;
  readonly #deps: SwarmRuntimeDeps;
  readonly #logShare = new HostAllowance();
  #view = SwarmView.empty();

  constructor(deps: SwarmRuntimeDeps) {
    this.#deps = deps;
  }

  controller(id: string): SwarmController {
    return new SwarmController(this.#deps, id, () => this.#view, this.#logShare);
  }

  async observe(): Promise<void> {
    try {
      this.#view = await SwarmView.observe(this.#deps.engine, this.#deps.installation, this.#view);
    } catch (error) {
      this.#view = this.#view.unanswered();
      throw error;
    }
  }

  /** Removes our services whose replicas have no row or whose command was forgotten, and our networks that are empty. */
  async sweep(rows: () => Promise<readonly ReplicaRow[]>): Promise<void> {
    const { services } = this.#view;
    const wanted = new Set((await rows()).map((row) => row.id));
    for (const service of services) {
      if (!isForgotten(service, wanted, Date.now()) || !(await removeService(this.#deps, service.ID))) continue;
      this.#deps.log.warn({ service: service.Spec?.Name }, 'removed a Swarm service that belongs to no replica');
    }
    await sweepNetworks(this.#deps);
  }
}

/** True for the service of a replica that is not wanted, and of a command that is too old. `now` is in milliseconds. */
export function isForgotten(service: Service, wanted: ReadonlySet<string>, now: number): boolean {
  const { [LABELS.replica]: replica, [LABELS.command]: command, [LABELS.volume]: volume } = labelsOf(service);
  if (replica !== undefined) return !wanted.has(replica);
  const limitMs = volume === undefined ? COMMAND_MS : VOLUME_WORK_MS;
  return command !== undefined && now - Date.parse(service.CreatedAt ?? '') > limitMs;
}
