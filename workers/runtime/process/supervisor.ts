import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { Leadership } from '../../../shared/db/leadership.js';
import { CHANNELS } from '../../../shared/db/listener.js';
import { recordExit, releaseReplica, replicasOfHost } from '../../../shared/db/replicas.js';
import type { ReplicaRow } from '../../../shared/db/rows.js';
import { errorMessage } from '../../../shared/errors.js';
import { COMMAND_SANDBOX, type ProcessRuntimeDeps, processOf, REPLICA_SANDBOX, sandboxIdOf } from './deps.js';
import { ReplicaFiles } from './files.js';
import { ReplicaKeeper } from './keeper.js';

const TICK_MS = 500;
const SWEEP_MS = 60_000;

/**
 * Makes this host's processes what the `replicas` table asks for. One worker of a host leads, by a lock that dies with it;
 * signal and timer run the same path, and every write names the attempt it belongs to.
 */
export class Supervisor {
  readonly #deps: ProcessRuntimeDeps;
  readonly #leadership: Leadership;
  readonly #keepers = new Map<string, ReplicaKeeper>();
  readonly #busy = new Map<string, Promise<void>>();
  #unlisten: () => void = () => undefined;
  #loop: Promise<void> = Promise.resolve();
  #closed = false;
  #rung = false;
  #sweptAt = 0;
  #pausing: { end: number; resolve: () => void; timer: NodeJS.Timeout } | null = null;

  constructor(deps: ProcessRuntimeDeps) {
    this.#deps = deps;
    const name = `ranvier.host.${deps.hostId}`;
    this.#leadership = new Leadership(deps.config.databaseUrl.reveal(), name, deps.log, () => this.#taken());
  }

  /** Begins to compete for this host. */
  async start(): Promise<void> {
    this.#unlisten = this.#deps.listener.on(CHANNELS.replica, (hostId) => {
      if (hostId === null || hostId === this.#deps.hostId) this.#wake();
    });
    await this.#leadership.start();
    this.#loop = this.#run();
  }

  /** Ends what is under way and lets the host go; its processes run on, unless the platform ends as a whole. */
  async close(platformEnds: boolean): Promise<void> {
    this.#closed = true;
    this.#unlisten();
    this.#wake();
    await this.#loop;
    await Promise.all(this.#busy.values());
    if (platformEnds && this.#leadership.leading) await this.#endReplicas();
    await this.#leadership.close();
  }

  /** Their rows stay wanted: the next supervisor starts them again. */
  async #endReplicas(): Promise<void> {
    const { db, sandbox, config, hostId } = this.#deps;
    const rows = (await replicasOfHost(db, hostId)).filter((row) => row.pid !== null);
    await Promise.all(
      rows.map(async (row) => {
        await sandbox.stop(sandboxIdOf(row), processOf(row), config.stopGraceSeconds * 1000);
        // One that was still coming up has not failed.
        if (row.ready_at === null) await releaseReplica(db, row);
        else await recordExit(db, row, 'ended with the platform', new Date());
      }),
    );
  }

  /** A new leader knows nothing: what it finds in the table and on the host is all there is. */
  #taken(): void {
    this.#keepers.clear();
    this.#sweptAt = 0;
    this.#wake();
  }

  async #run(): Promise<void> {
    while (!this.#closed) {
      this.#rung = false;
      try {
        if (this.#leadership.leading) await this.#tick();
      } catch (error) {
        this.#deps.log.warn({ err: error }, `the supervisor of this host could not look: ${errorMessage(error)}`);
      }
      await this.#pause();
    }
  }

  async #tick(): Promise<void> {
    const rows = await replicasOfHost(this.#deps.db, this.#deps.hostId);
    if (Date.now() - this.#sweptAt > SWEEP_MS) {
      await this.#sweep(rows);
      this.#sweptAt = Date.now();
    }
    const present = new Set(rows.map((row) => row.id));
    for (const id of this.#keepers.keys()) if (!present.has(id) && !this.#busy.has(id)) this.#keepers.delete(id);
    for (const row of rows) if (!this.#busy.has(row.id)) this.#look(row);
  }

  #look(row: ReplicaRow): void {
    const keeper = this.#keepers.get(row.id) ?? new ReplicaKeeper(this.#deps, row.id, () => this.#wake());
    this.#keepers.set(row.id, keeper);
    const work = keeper
      .step(row)
      .catch((error: unknown) => {
        this.#deps.log.warn({ replica: row.id, err: error }, `a replica was not looked after: ${errorMessage(error)}`);
      })
      .finally(() => {
        this.#busy.delete(row.id);
        this.#lookAt(keeper.nextCheckAt);
      });
    this.#busy.set(row.id, work);
  }

  /** Ends processes and removes folders of replicas that the table does not know any more. */
  async #sweep(rows: readonly ReplicaRow[]): Promise<void> {
    const wanted = new Set(rows.map(sandboxIdOf));
    const underWay = [...this.#busy.keys()];
    const ended = await this.#deps.sandbox.sweep((id) => {
      if (!id.startsWith(REPLICA_SANDBOX) || wanted.has(id)) return true;
      return underWay.some((replica) => id.startsWith(`${REPLICA_SANDBOX}${replica}`));
    });
    if (ended > 0) this.#deps.log.warn({ processes: ended }, 'ended processes that no replica owns');
    const present = new Set([...rows.map((row) => row.id), ...underWay]);
    for (const name of await readdir(join(this.#deps.config.dataDir, 'replicas')).catch(() => [])) {
      if (!present.has(name) && !name.startsWith(COMMAND_SANDBOX)) {
        await new ReplicaFiles(this.#deps.config.dataDir, name).remove();
      }
    }
  }

  #wake(): void {
    this.#rung = true;
    this.#lookAt(0);
  }

  /** Sees to it that the pause under way ends at this time, if it would last longer. */
  #lookAt(time: number): void {
    if (!this.#pausing || time >= this.#pausing.end) return;
    clearTimeout(this.#pausing.timer);
    this.#pausing.end = time;
    this.#pausing.timer = setTimeout(this.#pausing.resolve, Math.max(0, time - Date.now()));
  }

  /** Until somebody rings, a check is due, or the tick has passed. */
  async #pause(): Promise<void> {
    if (this.#rung || this.#closed) return;
    const now = Date.now();
    const due = [...this.#keepers.values()].map((keeper) => keeper.nextCheckAt).filter((time) => time > now);
    const end = Math.min(now + TICK_MS, ...due);
    await new Promise<void>((resolve) => {
      this.#pausing = { end, resolve, timer: setTimeout(resolve, end - now) };
    });
    this.#pausing = null;
  }
}
