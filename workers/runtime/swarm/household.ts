import type { ReplicaRow } from '../../../shared/db/rows.js';
import type { Household } from '../supervisor.js';
import type { SwarmRuntimeDeps } from './deps.js';
import { SwarmKeeper } from './keeper.js';
import { sweepNetworks } from './networks.js';
import { removeService } from './services.js';
import { LABELS } from './spec.js';
import { labelsOf, SwarmView } from './view.js';

/** A command that nobody waits for any more was forgotten by a worker that died. */
const COMMAND_MS = 60 * 60_000;

/** Replicas as services of a swarm; the swarm as a whole is one host, which any worker that reaches a manager can lead. */
export class SwarmHousehold implements Household {
  readonly tickMs = 2_000;
  readonly #deps: SwarmRuntimeDeps;
  #view = SwarmView.empty();

  constructor(deps: SwarmRuntimeDeps) {
    this.#deps = deps;
  }

  keeper(id: string): SwarmKeeper {
    return new SwarmKeeper(this.#deps, id, () => this.#view);
  }

  async survey(): Promise<void> {
    try {
      this.#view = await SwarmView.take(this.#deps.engine, this.#deps.installation, this.#view);
    } catch (error) {
      this.#view = this.#view.unanswered();
      throw error;
    }
  }

  /** Removes services of ours whose replicas the table does not know any more, and networks that are empty. */
  async sweep(rows: readonly ReplicaRow[], underWay: readonly string[]): Promise<void> {
    const wanted = new Set([...rows.map((row) => row.id), ...underWay]);
    for (const service of this.#view.services) {
      const labels = labelsOf(service);
      const replica = labels[LABELS.replica];
      const forgotten =
        replica !== undefined
          ? !wanted.has(replica)
          : labels[LABELS.command] !== undefined && Date.now() - Date.parse(service.CreatedAt ?? '') > COMMAND_MS;
      if (!forgotten || !(await removeService(this.#deps, service.ID))) continue;
      this.#deps.log.warn({ service: service.Spec?.Name }, 'removed a Swarm service that no replica owns');
    }
    await sweepNetworks(this.#deps);
  }
}
