import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { recordExit, releaseReplica } from '../../../shared/db/replicas.js';
import type { ReplicaRow } from '../../../shared/db/rows.js';
import type { Household } from '../supervisor.js';
import { COMMAND_SANDBOX, type ProcessRuntimeDeps, processOf, REPLICA_SANDBOX, sandboxIdOf } from './deps.js';
import { ReplicaFiles } from './files.js';
import { ReplicaKeeper } from './keeper.js';

/** Replicas as processes of this host, in sandboxes, with their folders below DATA_DIR. */
export class ProcessHousehold implements Household {
  readonly tickMs = 500;
  readonly #deps: ProcessRuntimeDeps;

  constructor(deps: ProcessRuntimeDeps) {
    this.#deps = deps;
  }

  keeper(id: string, wake: () => void): ReplicaKeeper {
    return new ReplicaKeeper(this.#deps, id, wake);
  }

  /** Ends processes and removes folders of replicas that the table does not know any more. */
  async sweep(rows: readonly ReplicaRow[], underWay: readonly string[]): Promise<void> {
    const wanted = new Set(rows.map(sandboxIdOf));
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

  /** Their rows stay wanted: the next supervisor starts them again. */
  async end(rows: readonly ReplicaRow[]): Promise<void> {
    const { db, sandbox, config } = this.#deps;
    await Promise.all(
      rows
        .filter((row) => row.pid !== null)
        .map(async (row) => {
          await sandbox.stop(sandboxIdOf(row), processOf(row), config.stopGraceSeconds * 1000);
          // One that was still coming up has not failed.
          if (row.ready_at === null) await releaseReplica(db, row);
          else await recordExit(db, row, 'ended with the platform', new Date());
        }),
    );
  }
}
