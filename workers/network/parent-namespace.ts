import { readdir, readFile } from 'node:fs/promises';
import type { Entry, NetworkSlot } from './network-model.js';
import { REMOVE } from './network-scripts.js';
import { runScript } from './run-tool.js';

/** The network namespace in which the sandboxes' links end: the host's or, without root, one that stands for it. */
export interface ParentNamespace {
  /** Arguments before a tool (`ip`, `nft`) that make it work in this namespace. They change when it is made again. */
  readonly enter: readonly string[];
  /** Arguments before `--net=` that let a command join a sandbox's namespace. */
  readonly join: readonly string[];
  /** The folder with the files of the sandboxes' namespaces, as this process sees it. */
  readonly namespaces: string;
  /** The file that lists this namespace's links, as this process sees it. */
  readonly links: string;
  /** Makes the namespace unless it exists. Resolves to true if it was made again, so that its rules are gone. */
  ensure(): Promise<boolean>;
  /** Translates a sandbox's own address to the one at which this host reaches it, and back. */
  mirror(address: string): string;
  /** Opens a port of the host's loopback that leads to a port of this sandbox; null if the host reaches the sandbox's own address. */
  open(slot: Pick<NetworkSlot, 'number'>, address: string, to: number): Promise<Entry | null>;
  shut(slot: Pick<NetworkSlot, 'number' | 'entry'>, address: string): Promise<void>;
  /** Opens missing ports of sandboxes, and closes the ports of sandboxes that are gone. */
  settle(slots: () => Promise<NetworkSlot[]>, addressOf: (slot: NetworkSlot) => string): Promise<void>;
  /** Removes the namespace unless a sandbox needs it. */
  end(): Promise<void>;
}

/** The host's own namespace. */
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
