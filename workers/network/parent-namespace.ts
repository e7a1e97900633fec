import { readdir, readFile } from 'node:fs/promises';
import type { Entry, NetworkSlot } from './network-model.js';
import { REMOVE } from './network-scripts.js';
import { runScript } from './run-tool.js';

/** The network namespace in which the links of all sandboxes end: that of the host or that of a rootless network. */
export interface ParentNamespace {
  /**
   * Arguments to put before `ip` or `nft` so that it works in this namespace. They change if the namespace is
   * recreated.
   */
  readonly enter: readonly string[];
  /** Arguments to put before `--net=` so that a command joins a sandbox's namespace. */
  readonly join: readonly string[];
  /** The folder with the files of the sandboxes' namespaces. */
  readonly namespaces: string;
  /** The file that lists this namespace's links. */
  readonly links: string;
  /**
   * Creates the namespace if it does not exist. Resolves to true if the namespace was recreated, which loses its rules.
   */
  ensure(): Promise<boolean>;
  /** Converts a sandbox's own address to the one at which the host reaches it, and back. */
  mirror(address: string): string;
  /**
   * Forwards a port on the host's loopback to this sandbox's port. Resolves to null if the host needs no forwarding.
   */
  open(slot: Pick<NetworkSlot, 'number'>, address: string, to: number): Promise<Entry | null>;
  shut(slot: Pick<NetworkSlot, 'number' | 'entry'>, address: string): Promise<void>;
  /** Restores lost forwardings of sandboxes' ports, and stops forwarding to sandboxes that no longer exist. */
  settle(slots: () => Promise<NetworkSlot[]>, addressOf: (slot: NetworkSlot) => string): Promise<void>;
  /** Removes the namespace unless a sandbox uses it. */
  end(): Promise<void>;
}

export const HOST_NAMESPACE: ParentNamespace = {
  enter: [],
  join: ['nsenter'],
  namespaces: '/run/netns',
  links: '/proc/net/dev',
  ensure: async () => false,
  mirror: (address) => address,
  open: async () => null,
  shut: async () => undefined,
  settle: async () => undefined,
  end: async () => undefined,
};

/** Returns the namespaces and links whose names begin with `prefix`. */
export async function strays({ namespaces, links }: ParentNamespace, prefix: string): Promise<string[]> {
  const files = await readdir(namespaces).catch(() => [] as string[]);
  const devices = await readFile(links, 'utf8').catch(() => '');
  const names = [...files, ...[...devices.matchAll(/^\s*([^\s:]+):/gm)].map(([, name = '']) => name)];
  return [...new Set(names.filter((name) => name.startsWith(prefix)))];
}

/** Removes the namespaces and links whose names begin with `prefix`. */
export async function removeStrays(parent: ParentNamespace, prefix: string): Promise<void> {
  const names = await strays(parent, prefix);
  if (names.length > 0) await runScript(REMOVE, names, '', parent.enter);
}
