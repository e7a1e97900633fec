import { randomBytes } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { errorMessage } from '../../shared/core/error-registry.js';
import { exists } from '../../shared/core/exists.js';
import type { Logger } from '../../shared/core/log.js';
import { resolvText } from './configured-servers.js';
import { connectionTable } from './connection-bounds.js';
import { HostsFiles } from './hosts-files.js';
import {
  type Attachment,
  addressOf,
  assertScope,
  gatewayOf,
  linkName,
  type Neighbour,
  type NetworkSlot,
  type NetworkSpec,
  namePrefix,
  slotOf,
} from './network-model.js';
import {
  admitRules,
  dismissRules,
  entryRules,
  joinRules,
  loopbackRules,
  type NetworkSettings,
  networkRules,
  type PortTarget,
  portRules,
  tableName,
  usesLoopback,
} from './network-rules.js';
import { MAKE, REMOVE, SET_PORTS } from './network-scripts.js';
import { hostAddresses } from './network-settings.js';
import { HOST_NAMESPACE, type ParentNamespace, strays } from './parent-namespace.js';
import { nft, removeTable, runScript } from './run-tool.js';
import { SlotFiles } from './slot-files.js';

const APPLY_TRIES = 20;

/**
 * The network namespaces of this host's sandboxes. Files below DATA_DIR record each sandbox's address, so that all
 * workers on the host agree, even after one of them has died.
 */
export class HostNetwork {
  readonly #settings: NetworkSettings;
  readonly #parent: ParentNamespace;
  readonly #folder: string;
  readonly #log: Logger;
  readonly #slots: SlotFiles;
  readonly #names: HostsFiles;
  readonly #pending = new Set<Promise<void>>();
  #applying: Promise<void> = Promise.resolve();

  constructor(settings: NetworkSettings, log: Logger, parent: ParentNamespace = HOST_NAMESPACE) {
    this.#settings = settings;
    this.#parent = parent;
    this.#folder = join(settings.dataDir, 'network');
    this.#log = log;
    this.#slots = new SlotFiles(this.#folder);
    this.#names = new HostsFiles(join(this.#folder, 'hosts'));
  }

  get level(): 'namespaces' | 'rootless' {
    return this.#settings.uplink === null ? 'namespaces' : 'rootless';
  }

  async open(): Promise<void> {
    await this.#slots.prepare();
    await this.#names.open();
    const { loopbackResolver, resolvers, block } = this.#settings;
    const servers = loopbackResolver === null ? resolvers : [gatewayOf(block)];
    const resolvConf = await readFile('/etc/resolv.conf', 'utf8').catch(() => '');
    await writeFile(this.#resolvPath, resolvText(resolvConf, servers), { mode: 0o644 });
    await this.apply();
  }

  /** Creates the network of a sandbox, whose `port` the host must reach. Leaves nothing behind if it rejects. */
  async attach(id: string, spec: NetworkSpec, port: number | null = null): Promise<Attachment> {
    assertScope(spec.scope);
    const settings = this.#settings;
    await this.#ensureParent();
    const name = linkName(settings.token, randomBytes(6).readUIntBE(0, 6));
    const hostsFile = await this.#names.fileOf(spec.scope);
    let slot = await this.#slots.claim({ id, name, ...spec });
    const address = this.#addressOf(slot);
    try {
      const entry = port === null ? null : await this.#parent.open(slot, address, port);
      if (entry !== null) slot = await this.#slots.change({ ...slot, entry });
      const inside = usesLoopback(slot, settings);
      const kind = inside ? 'loopback' : settings.loopbackResolver === null ? 'plain' : 'resolver';
      const args = [name, gatewayOf(settings.block), address, kind];
      const make = runScript(MAKE, args, inside ? loopbackRules(settings) : '', this.#parent.enter);
      const claimed = slot;
      const admitted = this.#nft(joinRules(settings, claimed))
        .catch(() => this.#nft(admitRules(settings, claimed)))
        // `joinRules` and `admitRules` fail if another program has flushed the rules. Then set all rules again,
        // including this sandbox's.
        .catch(() => this.apply());
      for (const outcome of await Promise.allSettled([make, admitted])) {
        if (outcome.status === 'rejected') throw outcome.reason;
      }
    } catch (error) {
      await this.release(id).catch(() => undefined);
      throw new Error(`The network of the sandbox could not be made: ${errorMessage(error)}`);
    }
    return {
      join: this.#joining(name),
      address: this.#parent.mirror(address),
      ...(slot.entry ? { port: slot.entry.port } : {}),
      hostsFile,
      resolvFile: this.#resolvPath,
    };
  }

  /** The namespace of a build is removed in the background, so that the build's next command need not wait. */
  async release(id: string): Promise<void> {
    const slot = await this.#slots.find(id);
    if (slot === null) return this.#slots.forget(id);
    const removed = this.#remove(slot);
    if (slot.use === 'application') return removed;
    const pending = removed
      .catch((error: unknown) => {
        this.#log.warn({ err: error }, `a network namespace stays until the next sweep: ${errorMessage(error)}`);
      })
      .finally(() => this.#pending.delete(pending));
    this.#pending.add(pending);
  }

  async #ensureParent(): Promise<void> {
    if (await this.#parent.ensure()) await this.apply();
  }

  async #remove(slot: NetworkSlot): Promise<void> {
    await this.#ensureParent();
    await Promise.all([
      runScript(REMOVE, [slot.name], '', this.#parent.enter),
      // Rules for a link that no longer exists have no effect, and the next sweep sets all rules again.
      this.#nft(dismissRules(this.#settings, slot)).catch(() => undefined),
      slot.entry ? this.#parent.shut(slot, this.#addressOf(slot)) : null,
    ]);
    await this.#slots.release(slot, Date.now());
  }

  ids(): Promise<string[]> {
    return this.#slots.ids();
  }

  owns(address: string): boolean {
    return slotOf(this.#settings.block, this.#parent.mirror(address)) !== null;
  }

  /** Converts the address at which the host reaches a sandbox to the sandbox's own address. */
  ownAddress(address: string): string {
    return this.#parent.mirror(address);
  }

  /** Returns the port in the sandbox to which `port` of this address is forwarded. */
  async portBehind(address: string, port: number | null): Promise<number | null> {
    if (this.level === 'namespaces') return port;
    return (await this.#slotAt(address))?.entry?.to ?? port;
  }

  /**
   * Makes a port of a sandbox reachable from the host, and returns the host's port for it. In a rootless network, the
   * sandbox's previous port is no longer reachable.
   */
  async lead(id: string, port: number): Promise<number> {
    if (this.level === 'namespaces') return port;
    const slot = await this.#slots.find(id);
    if (slot === null) throw new Error(`${id} has no network`);
    if (!slot.entry || slot.entry.to === port) return slot.entry?.port ?? port;
    const led = await this.#slots.change({ ...slot, entry: { ...slot.entry, to: port } });
    await this.#nft(entryRules(this.#settings, led)).catch(() => this.apply());
    return slot.entry.port;
  }

  /** Translates ports of a sandbox to other addresses and ports in it (DNAT). Replaces earlier translations. */
  async setPorts(id: string, targets: readonly PortTarget[]): Promise<void> {
    const slot = await this.#slots.find(id);
    if (slot === null) throw new Error(`${id} has no network`);
    await runScript(SET_PORTS, [slot.name], portRules(targets), this.#parent.enter);
  }

  /** Returns arguments to put before a command so that it joins a sandbox's network; null if there is no network. */
  async joining(id: string): Promise<string[] | null> {
    const slot = await this.#slots.find(id);
    return slot && this.#joining(slot.name);
  }

  #joining(name: string): string[] {
    return [...this.#parent.join, `--net=${join(this.#parent.namespaces, name)}`, '--'];
  }

  /** Replaces all rules by those for the existing namespaces. */
  apply(): Promise<void> {
    const done = this.#applying.then(() => this.#apply());
    this.#applying = done.catch(() => undefined);
    return done;
  }

  /**
   * Writes each scope's hosts file, which lists the replicas whose addresses are in `ready`. With `anew`, also writes
   * files that have not changed.
   */
  async publish(ready: readonly string[], anew: boolean): Promise<void> {
    const neighbours = new Map<string, Neighbour[]>();
    for (const outside of ready) {
      const slot = await this.#slotAt(outside);
      if (slot === null || slot.releasedAt !== null || slot.hostName === '') continue;
      const { scope, hostName, alias = '' } = slot;
      neighbours.set(scope, [...(neighbours.get(scope) ?? []), { hostName, alias, address: this.#addressOf(slot) }]);
    }
    await this.#names.publish(neighbours, anew);
  }

  /** Sets the rules again, and removes unused namespaces, links, slots and files. */
  async sweep(): Promise<void> {
    await Promise.all(this.#pending);
    for (const slot of await this.#slots.orphans(Date.now())) await this.#remove(slot);
    const found = await strays(this.#parent, namePrefix(this.#settings.token));
    const slots = await this.#slots.all();
    const known = new Set(slots.map(({ name }) => name));
    const left = found.filter((name) => !known.has(name));
    if (left.length > 0) {
      await runScript(REMOVE, left, '', this.#parent.enter).then(
        () => this.#log.warn({ names: left }, 'removed network namespaces that belong to no sandbox'),
        (error: unknown) => this.#log.error({ err: error }, `network namespaces stay: ${errorMessage(error)}`),
      );
    }
    await this.#slots.expire(Date.now());
    for (const id of await this.#slots.ids()) {
      const pid = /^trial-(\d+)-/.exec(id)?.[1];
      if (pid !== undefined && !(await exists(`/proc/${pid}`))) await this.release(id);
    }
    await this.#names.removeUnused(new Set(slots.map(({ scope }) => scope)));
    await this.apply();
  }

  async close(): Promise<void> {
    await Promise.all([this.#applying, ...this.#pending]);
    if ((await this.#slots.all()).length > 0) return;
    const { token } = this.#settings;
    for (const table of [tableName(token), connectionTable(token)]) await removeTable(table, this.#parent.enter);
    await this.#parent.end();
  }

  async #apply(): Promise<void> {
    await this.#parent.ensure();
    const { uplink, ...settings } = this.#settings;
    // The host's addresses may change, for example those of a laptop.
    const current = { ...settings, uplink: uplink && { ...uplink, hostAddresses: hostAddresses() } };
    let set: string | null = null;
    for (let tries = 0; tries < APPLY_TRIES; tries++) {
      const slots = await this.#slots.all();
      // If a sandbox is added while the rules are replaced, the new rules may lack it. Repeat until the list is the
      // same.
      const names = slots.map(({ name, entry }) => `${name} ${entry?.to}`).join();
      if (set === names) break;
      await this.#nft(networkRules(current, slots));
      set = names;
    }
    await this.#parent.settle(
      () => this.#slots.all(),
      (slot) => this.#addressOf(slot),
    );
  }

  async #slotAt(outside: string): Promise<NetworkSlot | null> {
    const number = slotOf(this.#settings.block, this.#parent.mirror(outside));
    return number === null ? null : this.#slots.at(number);
  }

  #addressOf({ number }: Pick<NetworkSlot, 'number'>): string {
    return addressOf(this.#settings.block, number);
  }

  #nft(script: string): Promise<string> {
    return nft(script, this.#parent.enter);
  }

  get #resolvPath(): string {
    return join(this.#folder, 'resolv.conf');
  }
}
