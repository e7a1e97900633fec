import type { Db } from '../../shared/core/database/database-client.js';
import type { AttemptOutcome } from '../../shared/runs/model.js';
import { ReleaseError } from '../../workers/failures/explained-errors.js';
import { wantReplicas, wantStopped } from '../../workers/replicas/desire-store.js';
import type { ReplicaRow } from '../../workers/replicas/rows.js';
import { claimReplica } from '../../workers/replicas/start-store.js';
import { recordExit, recordReady, recordStopped, replicasOf } from '../../workers/replicas/store.js';
import type { ReleaseSpec, RunAttempt, RuntimeDriver } from '../../workers/runtime/runtime-driver.js';

export interface FakeScript {
  /** Replicas and commands fail with this error, for instance "exited with code 1". */
  fail?: string;
  /** Called when replicas start. They stay in `starting` until it resolves. */
  until?: () => Promise<unknown>;
  /** Called when the replicas are ready, before the runtime returns. */
  onReady?: () => Promise<unknown>;
  attemptEnds?: (attempt: number) => AttemptOutcome;
}

/** A runtime driver without processes. It writes the rows that a real driver writes, and tests script the outcomes. */
export class FakeRuntime implements RuntimeDriver {
  /** The calls in order, such as `release <deploymentId>` and `command <deploymentId> <command>`. */
  readonly calls: string[] = [];
  readonly #db: Db;
  readonly #hostId: string;
  readonly #scripts = new Map<string, FakeScript>();

  constructor(db: Db, hostId: string) {
    this.#db = db;
    this.#hostId = hostId;
  }

  script(serviceId: string, script: FakeScript): void {
    this.#scripts.set(serviceId, script);
  }

  async start(): Promise<void> {}

  async close(): Promise<void> {}

  async release(spec: ReleaseSpec, signal: AbortSignal): Promise<void> {
    this.calls.push(`release ${spec.deploymentId}`);
    await this.#bringUp(spec, spec.configuration.replicas, false, signal);
  }

  async stop(deploymentId: string): Promise<void> {
    this.calls.push(`stop ${deploymentId}`);
    await this.#bringDown(await replicasOf(this.#db, deploymentId));
  }

  async scale(spec: ReleaseSpec, replicas: number, signal: AbortSignal): Promise<void> {
    this.calls.push(`scale ${spec.deploymentId} ${replicas}`);
    const before = await replicasOf(this.#db, spec.deploymentId);
    await this.#replace(spec, before, () => this.#bringUp(spec, replicas, false, signal));
    await this.#bringDown(before.filter((row) => row.position > replicas));
  }

  async restart(spec: ReleaseSpec, signal: AbortSignal): Promise<void> {
    this.calls.push(`restart ${spec.deploymentId}`);
    const before = await replicasOf(this.#db, spec.deploymentId);
    await this.#replace(spec, before, () => this.#bringUp(spec, before.length, true, signal));
    await this.#bringDown(before);
  }

  inspect(deploymentId: string): Promise<ReplicaRow[]> {
    return replicasOf(this.#db, deploymentId);
  }

  /** Succeeds at once, unless the service's script delays the attempt or sets its end. */
  async runAttempt(spec: ReleaseSpec, { runId, attempt }: RunAttempt, signal: AbortSignal): Promise<AttemptOutcome> {
    this.calls.push(`run ${runId} ${attempt}`, `command ${spec.deploymentId} ${spec.image.manifest.startCommand}`);
    signal.throwIfAborted();
    const { until, attemptEnds } = this.#scriptOf(spec);
    if (until !== undefined) await Promise.race([until(), aborted(signal)]);
    signal.throwIfAborted();
    return attemptEnds?.(attempt) ?? { type: 'exited', exitCode: 0, detail: 'exited with code 0' };
  }

  async stopRun(runId: string): Promise<void> {
    this.calls.push(`stop run ${runId}`);
  }

  async #bringUp(spec: ReleaseSpec, count: number, fresh: boolean, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    const { serviceId, deploymentId } = spec;
    const generation = await wantReplicas(this.#db, { serviceId, deploymentId, hostId: this.#hostId }, count, fresh);
    const rows: ReplicaRow[] = [];
    for (const row of await replicasOf(this.#db, deploymentId)) {
      if (row.generation !== generation || row.state === 'ready') continue;
      if ((await claimReplica(this.#db, row, null)) === 'claimed') rows.push(row);
    }
    const { fail, until, onReady } = this.#scriptOf(spec);
    if (until !== undefined) await Promise.race([until(), aborted(signal)]);
    signal.throwIfAborted();
    for (const row of rows) {
      if (fail === undefined) await recordReady(this.#db, row);
      else await recordExit(this.#db, row, fail);
    }
    if (fail !== undefined) throw new ReleaseError(`replica 1 ${fail} before it was healthy`);
    await onReady?.();
  }

  /** Starts new replicas beside the running ones. If a start fails, stops the new ones and rejects. */
  async #replace(spec: ReleaseSpec, before: readonly ReplicaRow[], bringUp: () => Promise<void>): Promise<void> {
    try {
      await bringUp();
    } catch (error) {
      const kept = new Set(before.map((row) => row.id));
      await this.#bringDown((await replicasOf(this.#db, spec.deploymentId)).filter((row) => !kept.has(row.id)));
      throw error;
    }
  }

  async #bringDown(rows: readonly ReplicaRow[]): Promise<void> {
    const [first] = rows;
    if (!first) return;
    const ids = rows.map((row) => row.id);
    await wantStopped(this.#db, first.deployment_id, ids);
    for (const row of await replicasOf(this.#db, first.deployment_id)) {
      if (ids.includes(row.id)) await recordStopped(this.#db, row);
    }
  }

  #scriptOf(spec: ReleaseSpec): FakeScript {
    return this.#scripts.get(spec.serviceId) ?? {};
  }
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
}
