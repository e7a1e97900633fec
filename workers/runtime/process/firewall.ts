import { readFile, realpath } from 'node:fs/promises';
import { errorMessage } from '../../../shared/core/error-registry.js';
import { exists } from '../../../shared/core/exists.js';
import { tokenOf } from '../../network/network-settings.js';
import { foreignTables } from '../../network/other-installations.js';
import { nft, removeTable } from '../../network/run-tool.js';
import { hostPortsOf, restingPorts } from '../../replicas/port-store.js';
import { hasUsers, isRoot, uidOf, userRange } from '../../sandbox/service-users.js';
import { type FirewallState, rulesOf, TABLE_PREFIX } from './firewall-rules.js';
import type { ProcessRuntimeDeps } from './replica-sandbox.js';

type Deps = Pick<ProcessRuntimeDeps, 'db' | 'config' | 'log' | 'hostId' | 'sandbox'>;

/**
 * Decides who may connect to hosted ports, and what hosted processes may not reach. The nftables table is always
 * replaced as a whole, so that it is complete even after another program flushed it.
 */
export class Firewall {
  readonly #deps: Deps;
  #table = '';
  #users: readonly number[] = [];
  #usable: boolean | null = null;
  /** The rules that are set; '' if there are none, null if unknown. */
  #applied: string | null = null;
  #work: Promise<void> = Promise.resolve();

  constructor(deps: Deps) {
    this.#deps = deps;
  }

  /** With `always`, sets the rules even if they have not changed. Never rejects. */
  apply(always = false): Promise<void> {
    this.#work = this.#work
      .then(() => this.#apply(always))
      .catch((error: unknown) => {
        this.#applied = null;
        this.#deps.log.error(
          { err: error },
          `the firewall rules of hosted ports could not be set: ${errorMessage(error)}`,
        );
      });
    return this.#work;
  }

  /** Removes the rules if no replica on this host has a port. */
  async close(): Promise<void> {
    await this.#work;
    if (!this.#applied) return;
    try {
      const left = await hostPortsOf(this.#deps.db, this.#deps.hostId);
      if (left.length === 0) await nft(`delete table inet ${this.#table}\n`);
    } catch (error) {
      this.#deps.log.warn({ err: error }, `the firewall rules stay: ${errorMessage(error)}`);
    }
  }

  async #apply(always: boolean): Promise<void> {
    const { db, hostId, config, sandbox } = this.#deps;
    const rows = await hostPortsOf(db, hostId);
    const taken = rows.map(({ port, user_number, open }) => ({ port, uid: uidOf(user_number), open }));
    const resting = (await restingPorts(db, hostId)).filter((port) => !taken.some((one) => one.port === port));
    const ports = [...taken, ...resting.map((port) => ({ port, uid: null }))];
    // Older replicas may still use ports of the host, although new ones have their own networks.
    if (sandbox.network && ports.length === 0) {
      if (this.#applied !== '') await removeTable(await this.#tableName());
      this.#applied = '';
      return;
    }
    this.#usable ??= await this.#prepare();
    if (!this.#usable) return;
    const state: FirewallState = {
      table: this.#table,
      dataDir: await realpath(config.dataDir),
      ports,
      edgeUsers: this.#users,
      hostedUsers: userRange(),
    };
    const rules = rulesOf(state);
    if (!always && rules === this.#applied) return;
    await nft(rules);
    this.#applied = rules;
  }

  async #tableName(): Promise<string> {
    return `${TABLE_PREFIX}${tokenOf(await realpath(this.#deps.config.dataDir))}`;
  }

  async #prepare(): Promise<boolean> {
    const { config, log, sandbox } = this.#deps;
    const cause = await this.#hindrance();
    if (cause !== null) {
      log.warn(
        `every process of this host${hasUsers(sandbox.level) ? ', every hosted one,' : ''} can connect to hosted ports past the ` +
          `edge, and hosted processes to the metadata address of a cloud: ${cause}`,
      );
      return false;
    }
    this.#table = await this.#tableName();
    this.#users = await usersOf(config.edgeUsers);
    await removeAbandonedTables(this.#table.slice(TABLE_PREFIX.length));
    log.info({ table: `inet ${this.#table}`, users: this.#users }, 'hosted ports take connections of these users only');
    return true;
  }

  async #hindrance(): Promise<string | null> {
    const { config, sandbox } = this.#deps;
    if (!config.runtimeFirewall) return 'RUNTIME_FIREWALL is off';
    if (process.platform !== 'linux' || !isRoot()) return 'the platform is not root';
    if (!hasUsers(sandbox.level)) return 'services have no users of their own';
    try {
      await nft('list tables\n');
      return null;
    } catch (error) {
      return `nft does not work (${errorMessage(error).split('\n')[0]})`;
    }
  }
}

/** Returns the user IDs of the named users that exist, of root, and of the platform's own user. */
export async function usersOf(names: readonly string[]): Promise<number[]> {
  const lines = (await readFile('/etc/passwd', 'utf8')).split('\n').map((line) => line.split(':'));
  const named = lines.filter(([name = '', , uid = '']) => names.includes(name) || names.includes(uid));
  return [...new Set([0, process.getuid?.() ?? 0, ...named.map(([, , uid]) => Number(uid))])].sort((a, b) => a - b);
}

async function removeAbandonedTables(token: string): Promise<void> {
  for (const { token: other, comment: dataDir } of await foreignTables(TABLE_PREFIX, token)) {
    if (dataDir.startsWith('/') && !(await exists(dataDir))) await removeTable(`${TABLE_PREFIX}${other}`);
  }
}
