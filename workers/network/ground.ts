import { readdir, readFile } from 'node:fs/promises';
import type { Entry, NetworkSlot } from './network-model.js';
import { REMOVE } from './network-scripts.js';
import { runScript } from './run-tool.js';

/** How sandboxes reach and are reached: what their links lead to. */
export interface Ground {
  /** Arguments before a tool that works on it. They change if it is made anew. */
  readonly enter: readonly string[];
  /** Arguments before `--net=` that let a command join a namespace of it. */
  readonly join: readonly string[];
  /** The folder with the files of its namespaces, as this process sees it. */
  readonly namespaces: string;
  /** The file that names its links, as this process sees it. */
  readonly links: string;
  /** Makes it if it is not there. True if what was set on it before is gone. */
  ensure(): Promise<boolean>;
  /** The address at which this host reaches a sandbox, of its own address, and the other way round. */
  mirror(address: string): string;
  /** Opens a port of the host's loopback that leads to this sandbox; null if the host reaches its own address. */
  open(slot: Pick<NetworkSlot, 'number'>, address: string, to: number): Promise<Entry | null>;
  /** Closes the port again. */
  shut(slot: Pick<NetworkSlot, 'number' | 'entry'>, address: string): Promise<void>;
  /** Opens the ports of all sandboxes that are not open, and closes those of sandboxes that are gone. */
  settle(slots: () => Promise<NetworkSlot[]>, addressOf: (slot: NetworkSlot) => string): Promise<void>;
  /** Removes it, unless a sandbox needs it. */
  end(): Promise<void>;
}

/** The host itself. */
export const HOST_GROUND: Ground = {
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

/** The namespaces and links whose names begin so. */
export async function strays({ namespaces, links }: Ground, prefix: string): Promise<string[]> {
  const files = await readdir(namespaces).catch(() => [] as string[]);
  const devices = await readFile(links, 'utf8').catch(() => '');
  const names = [...files, ...[...devices.matchAll(/^\s*([^\s:]+):/gm)].map(([, name = '']) => name)];
  return [...new Set(names.filter((name) => name.startsWith(prefix)))];
}

/** Removes namespaces and links whose names begin so. */
export async function removeStrays(ground: Ground, prefix: string): Promise<void> {
  const names = await strays(ground, prefix);
  if (names.length > 0) await runScript(REMOVE, names, '', ground.enter);
}
