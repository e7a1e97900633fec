import type { Db } from '../../shared/core/database/database-client.js';
import { openPasswords } from '../../shared/data/commands.js';
import { portOf, storageBytes, storageState } from '../../shared/data/model.js';
import { findDataServer } from '../../shared/data/store.js';
import type { Keyring } from '../../shared/secrets/keyring.js';
import { ReleaseError } from '../failures/explained-errors.js';
import type { ReplicaRow } from '../replicas/rows.js';
import type { ServerProbe } from '../runtime/readiness-probe.js';
import type { ReleaseSpec } from '../runtime/runtime-driver.js';
import { askServer } from './server-probe.js';
import { settlePostgres, wantedTenant } from './settle-postgres.js';

/** The fields of a replica that a probe needs. `restarts` and `task_id` together identify one start of its server. */
type Attempt = Pick<ReplicaRow, 'id' | 'restarts' | 'task_id' | 'address' | 'port'>;

/** Probes database servers, and sets up the users and databases of servers that have just started. */
export class ServerHealth implements ServerProbe {
  readonly #deps: { db: Db; keyring: Keyring };
  /** Replica id → the last start of its server after which `settlePostgres` has run. */
  readonly #settled = new Map<string, string>();
  /** Replica id → when its server stopped responding, in milliseconds since the epoch; absent while it responds. */
  readonly #silentSince = new Map<string, number>();

  constructor(deps: { db: Db; keyring: Keyring }) {
    this.#deps = deps;
  }

  /** Returns why a server is not healthy; '' if it is. Also creates the tenant's user after a server has started. */
  async probe(replica: Attempt, spec: ReleaseSpec): Promise<string> {
    const row = await findDataServer(this.#deps.db, spec.serviceId);
    if (!row) throw new ReleaseError('the record of its server is gone');
    const port = replica.port ?? portOf(row.kind);
    const answer = await askServer(row.kind, { address: replica.address, port });
    if (!answer.healthy && answer.silent) {
      if (!this.#silentSince.has(replica.id)) this.#silentSince.set(replica.id, Date.now());
    } else this.#silentSince.delete(replica.id);
    if (!answer.healthy) return answer.answer;
    // Use the plan of this release, not of the live one: deploying a larger plan must reopen a full database.
    const state = storageState(row.used_bytes, storageBytes(spec.configuration.plan), row.storage_state);
    const attempt = `${replica.restarts} ${replica.task_id}`;
    if (row.kind === 'postgres' && this.#settled.get(replica.id) !== attempt) {
      const { keyring } = this.#deps;
      const admin = { host: replica.address, port, password: openPasswords(keyring, row).admin };
      await settlePostgres(admin, wantedTenant(keyring, row, spec.configuration.plan, state));
      this.#settled.set(replica.id, attempt);
    }
    return state === 'closed' ? 'its storage is full: choose a larger plan and deploy it' : '';
  }

  /** Returns for how long a server has not responded, in milliseconds; 0 while it responds. */
  silentMs(replicaId: string): number {
    const since = this.#silentSince.get(replicaId);
    return since === undefined ? 0 : Date.now() - since;
  }

  forget(replicaId: string): void {
    this.#settled.delete(replicaId);
    this.#silentSince.delete(replicaId);
  }
}
