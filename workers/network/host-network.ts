import { randomBytes } from 'node:crypto';
import { mkdir, open, readdir, readFile, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { errorMessage } from '../../shared/core/errors.js';
import { exists } from '../../shared/core/exists.js';
import type { Logger } from '../../shared/core/log.js';
import { resolvText } from './named-places.js';
import {
  addressOf,
  assertScope,
  gatewayOf,
  hostsText,
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
  loopbackRules,
  type NetworkSettings,
  networkRules,
  type PortTarget,
  portRules,
  tableName,
  usesLoopback,
} from './network-rules.js';
import { MAKE, REMOVE, SET_PORTS } from './network-scripts.js';
import { nft, runScript } from './run-tool.js';
import { SlotFiles } from './slot-files.js';

/** The network of one sandbox. */
export interface Attachment {
  /** The file that stands for the namespace. */
  namespace: string;
  /** The sandbox's address, at which the edge and neighbours reach it. */
  address: string;
  /** Files to mount over /etc/hosts and, if not null, /etc/resolv.conf. */
  hostsFile: string;
  resolvFile: string | null;
}

const NAMESPACES = '/run/netns';
/** A file of a scope without sandboxes is removed when it is this old, in milliseconds. */
const YOUNG_MS = 10 * 60_000;
/** The rules are set again so often at most if sandboxes come and go meanwhile. */
const APPLY_TRIES = 20;

/**
 * The namespaces of this host's sandboxes: each has a link to the host and an address, and one nftables table decides who
 * reaches whom. Which sandbox has which address is kept in files below DATA_DIR, so that workers of one host agree and a
 * worker that starts takes over what another left.
 */
export class HostNetwork {
  readonly #settings: NetworkSettings;
  readonly #folder: string;
  readonly #log: Logger;
  readonly #slots: SlotFiles;
  readonly #published = new Map<string, string>();
  /** Removals in the background. */
  readonly #pending = new Set<Promise<void>>();
  #hostFile = '';
  #applying: Promise<void> = Promise.resolve();

  constructor(settings: NetworkSettings, log: Logger) {
    this.#settings = settings;
    this.#folder = join(settings.dataDir, 'network');
    this.#log = log;
    this.#slots = new SlotFiles(this.#folder);
  }

  /** Sets the rules and removes what is left of sandboxes that are gone, for example after a restart of the host. */
  async open(): Promise<void> {
    await this.#slots.prepare();
    await mkdir(join(this.#folder, 'hosts'), { recursive: true, mode: 0o755 });
    this.#hostFile = await readFile('/etc/hosts', 'utf8').catch(() => '');
    const { loopbackResolver, resolvers, block } = this.#settings;
    const servers = loopbackResolver === null ? resolvers : [gatewayOf(block)];
    const resolvConf = await readFile('/etc/resolv.conf', 'utf8').catch(() => '');
    await writeFile(this.#resolvPath, resolvText(resolvConf, servers), { mode: 0o644 });
    await this.apply();
  }

  /** Makes the namespace of a sandbox. Rejects if the host refuses; nothing is left then. */
  async attach(id: string, spec: NetworkSpec): Promise<Attachment> {
    assertScope(spec.scope);
    const { token, block } = this.#settings;
    const name = linkName(token, randomBytes(6).readUIntBE(0, 6));
    const hostsFile = await this.#hostsFile(spec.scope);
    const slot = await this.#slots.claim({ id, name, ...spec });
    const address = addressOf(block, slot.number);
    try {
      const inside = usesLoopback(slot, this.#settings);
      const kind = inside ? 'loopback' : this.#settings.loopbackResolver === null ? 'plain' : 'resolver';
      const make = runScript(
        MAKE,
        [name, gatewayOf(block), address, kind],
        inside ? loopbackRules(this.#settings) : '',
      );
      const admitted = nft(admitRules(this.#settings, slot)).catch(async () => {
        // Somebody has flushed the rules: then all of them are set again, this one included.
        await this.apply();
      });
      const [made, let_in] = await Promise.allSettled([make, admitted]);
      for (const outcome of [made, let_in]) if (outcome.status === 'rejected') throw outcome.reason;
    } catch (error) {
      await this.release(id).catch(() => undefined);
      throw new Error(`The network of the sandbox could not be made: ${errorMessage(error)}`);
    }
    return { namespace: join(NAMESPACES, name), address, hostsFile, resolvFile: this.#resolvPath };
  }

  /**
   * Removes the namespace of a sandbox whose processes have ended. Does nothing if it has none. That of a build is removed in
   * the background, because the next command of the build need not wait for it.
   */
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

  async #remove(slot: NetworkSlot): Promise<void> {
    await Promise.all([
      runScript(REMOVE, [slot.name]),
      // Rules of a link that is gone do no harm, and the next sweep sets all rules again.
      nft(dismissRules(this.#settings, slot)).catch(() => undefined),
    ]);
    await this.#slots.release(slot, Date.now());
  }

  /** The sandboxes that have a namespace. */
  ids(): Promise<string[]> {
    return this.#slots.ids();
  }

  /** True if this address is one of this host's namespaces. */
  owns(address: string): boolean {
    return slotOf(this.#settings.block, address) !== null;
  }

  /** Leads ports of a sandbox to what listens elsewhere in it. Replaces what was set before. */
  async setPorts(id: string, targets: readonly PortTarget[]): Promise<void> {
    const slot = await this.#slots.find(id);
    if (slot === null) throw new Error(`${id} has no network`);
    await runScript(SET_PORTS, [slot.name], portRules(targets));
  }

  /** The file of a sandbox's namespace; null if it has none. */
  async namespaceOf(id: string): Promise<string | null> {
    const slot = await this.#slots.find(id);
    return slot && join(NAMESPACES, slot.name);
  }

  /** Replaces the rules as a whole, with every namespace that exists. */
  apply(): Promise<void> {
    const done = this.#applying.then(() => this.#apply());
    this.#applying = done.catch(() => undefined);
    return done;
  }

  /** Writes which neighbours each scope sees. `ready` are the addresses of the replicas that take requests. */
  async publish(ready: readonly string[]): Promise<void> {
    const neighbours = new Map<string, Neighbour[]>();
    for (const address of ready) {
      const number = slotOf(this.#settings.block, address);
      const slot = number === null ? null : await this.#slots.at(number);
      if (slot === null || slot.releasedAt !== null || slot.hostName === '') continue;
      neighbours.set(slot.scope, [...(neighbours.get(slot.scope) ?? []), { hostName: slot.hostName, address }]);
    }
    for (const scope of new Set([...neighbours.keys(), ...this.#published.keys()])) {
      const text = hostsText(neighbours.get(scope) ?? [], this.#hostFile);
      if (this.#published.get(scope) === text) continue;
      await overwrite(this.#hostsPath(scope), text);
      this.#published.set(scope, text);
    }
  }

  /** Sets the rules again, and removes namespaces, links, slots and files that nobody uses. */
  async sweep(): Promise<void> {
    for (const slot of await this.#slots.orphans(Date.now())) await this.#remove(slot);
    const found = await strays(namePrefix(this.#settings.token));
    const slots = await this.#slots.all();
    const known = new Set(slots.map(({ name }) => name));
    const left = found.filter((name) => !known.has(name));
    if (left.length > 0) {
      await runScript(REMOVE, left).then(
        () => this.#log.warn({ names: left }, 'removed network namespaces that belong to no sandbox'),
        (error: unknown) => this.#log.error({ err: error }, `network namespaces stay: ${errorMessage(error)}`),
      );
    }
    await this.#slots.expire(Date.now());
    for (const id of await this.#slots.ids()) {
      const pid = /^trial-(\d+)-/.exec(id)?.[1];
      if (pid !== undefined && !(await exists(`/proc/${pid}`))) await this.release(id);
    }
    await this.#removeHostsFiles(new Set(slots.map(({ scope }) => scope)));
    await this.apply();
  }

  /** Removes the rules if no sandbox of this host has a namespace. */
  async close(): Promise<void> {
    await Promise.all([this.#applying, ...this.#pending]);
    if ((await this.#slots.all()).length > 0) return;
    await nft(`delete table inet ${tableName(this.#settings.token)}\n`).catch(() => undefined);
  }

  async #apply(): Promise<void> {
    let set: string | null = null;
    for (let tries = 0; tries < APPLY_TRIES; tries++) {
      const slots = await this.#slots.all();
      // A sandbox that got its slot meanwhile may have added itself to the rules that were just replaced.
      const names = slots.map(({ name }) => name).join();
      if (set === names) return;
      await nft(networkRules(this.#settings, slots));
      set = names;
    }
  }

  async #hostsFile(scope: string): Promise<string> {
    const path = this.#hostsPath(scope);
    await writeFile(path, hostsText([], this.#hostFile), { flag: 'wx', mode: 0o644 }).catch(
      async (error: NodeJS.ErrnoException) => {
        if (error.code !== 'EEXIST') throw error;
        await utimes(path, new Date(), new Date());
      },
    );
    return path;
  }

  /** A file is written before its sandbox takes a slot, so young ones stay. */
  async #removeHostsFiles(used: ReadonlySet<string>): Promise<void> {
    for (const scope of await readdir(join(this.#folder, 'hosts'))) {
      const path = this.#hostsPath(scope);
      if (used.has(scope) || Date.now() - (await stat(path)).mtimeMs < YOUNG_MS) continue;
      await rm(path, { force: true });
      this.#published.delete(scope);
    }
  }

  #hostsPath(scope: string): string {
    return join(this.#folder, 'hosts', scope);
  }

  get #resolvPath(): string {
    return join(this.#folder, 'resolv.conf');
  }
}

/** The namespaces and links of this host whose names begin so. */
export async function strays(prefix: string): Promise<string[]> {
  const names = await Promise.all(
    [NAMESPACES, '/sys/class/net'].map((folder) => readdir(folder).catch(() => [] as string[])),
  );
  return [...new Set(names.flat().filter((name) => name.startsWith(prefix)))];
}

/** Removes namespaces and links whose names begin so. */
export async function removeStrays(prefix: string): Promise<void> {
  const names = await strays(prefix);
  if (names.length > 0) await runScript(REMOVE, names);
}

/** Changes a file in place, because sandboxes have it mounted. A reader never sees it empty. */
async function overwrite(path: string, text: string): Promise<void> {
  const file = await open(path, 'r+').catch(async (error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error;
    await writeFile(path, '', { mode: 0o644 });
    return open(path, 'r+');
  });
  try {
    const bytes = Buffer.from(text);
    await file.write(bytes, 0, bytes.length, 0);
    await file.truncate(bytes.length);
  } finally {
    await file.close();
  }
}
