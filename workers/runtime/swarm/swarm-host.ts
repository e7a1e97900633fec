import type { Service } from 'dockerode';
import { errorMessage } from '../../../shared/core/error-registry.js';
import { settleHost } from '../../../shared/data/store.js';
import { ReleaseError } from '../../failures/explained-errors.js';
import type { ReplicaRow } from '../../replicas/rows.js';
import { LineSplitter } from '../../sandbox/line-splitter.js';
import type { ResourceUsage } from '../../sandbox/sandbox.js';
import { SEARCHED_LINES } from '../failure-text.js';
import { HostAllowance } from '../log-allowance.js';
import type { ReplicaHost } from '../replica-host.js';
import { maskerOf } from '../retained-release.js';
import type { ReleaseSpec } from '../runtime-driver.js';
import type { MeasurableReplica } from '../usage-store.js';
import { sweepNetworks } from './release-network.js';
import { LABELS } from './service-spec.js';
import { SwarmController } from './swarm-controller.js';
import { removeService, type SwarmRuntimeDeps } from './swarm-services.js';
import { SwarmUsage } from './swarm-usage.js';
import { labelsOf, SwarmView } from './swarm-view.js';
import { readOutput } from './task-output.js';

/** If the Swarm service of a command is older than this, a dead worker has left it. */
const COMMAND_MS = 60 * 60_000;
/** Commands on a volume get more time, because they take long if a database is large. */
const VOLUME_WORK_MS = 12 * 60 * 60_000;

/**
 * Runs replicas as services of a swarm. The whole swarm counts as one host. Every worker that can connect to a swarm
 * manager can become the worker that leads this host.
 */
export class SwarmHost implements ReplicaHost {
  readonly pollMs = 2_000;
  readonly isMeasuredByAll = true;
  readonly #deps: SwarmRuntimeDeps;
  readonly #usage: SwarmUsage;
  readonly #logShare = new HostAllowance();
  #view = new SwarmView([], [], []);

  constructor(deps: SwarmRuntimeDeps) {
    this.#deps = deps;
    this.#usage = new SwarmUsage(deps.engine);
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

  async sweep(rows: () => Promise<readonly ReplicaRow[]>): Promise<void> {
    const { services } = this.#view;
    const wanted = new Set((await rows()).map((row) => row.id));
    for (const service of services) {
      if (!isForgotten(service, wanted, Date.now()) || !(await removeService(this.#deps, service.ID))) continue;
      this.#deps.log.warn({ service: service.Spec?.Name }, 'removed a Swarm service that belongs to no replica');
    }
    await sweepNetworks(this.#deps);
  }

  prepareUsage(): Promise<void> {
    return this.#usage.refresh();
  }

  usage(replica: MeasurableReplica): Promise<ResourceUsage | null> {
    return this.#usage.usageOf(replica);
  }

  async lastOutput({ task_id: taskId }: ReplicaRow, spec: ReleaseSpec): Promise<string[]> {
    if (taskId === null) return [];
    const { engine, log } = this.#deps;
    const masker = maskerOf(spec);
    const splitter = new LineSplitter(masker);
    try {
      const output = await readOutput(engine, taskId, { tail: SEARCHED_LINES });
      const lines = [...output.flatMap(({ bytes }) => splitter.push(bytes)), ...splitter.end()];
      return lines.filter((line) => line.trim() !== '').map((line) => masker.mask(line));
    } catch (error) {
      log.warn({ taskId }, `the last output of a task cannot be read: ${errorMessage(error)}`);
      return [];
    }
  }

  /** Throws `ReleaseError` if the volume is on a host outside the swarm. */
  async hostOfData({ serviceId }: ReleaseSpec): Promise<string> {
    const { db, hostId } = this.#deps;
    const settled = await settleHost(db, serviceId, hostId);
    if (settled === hostId) return settled;
    throw new ReleaseError(`its volume is on the host ${settled}, which is not this swarm`);
  }
}

/** Returns true if a Swarm service belongs to no replica in `wanted`, or to a dead worker. */
export function isForgotten(service: Service, wanted: ReadonlySet<string>, now: number): boolean {
  const { [LABELS.replica]: replica, [LABELS.command]: command, [LABELS.volume]: volume } = labelsOf(service);
  if (replica !== undefined) return !wanted.has(replica);
  const limitMs = volume === undefined ? COMMAND_MS : VOLUME_WORK_MS;
  return command !== undefined && now - Date.parse(service.CreatedAt ?? '') > limitMs;
}
