import type { Logger } from '../../shared/core/log.js';
import { type Entry, mirrorOf, type NetworkSlot, overlaps } from './network-model.js';
import { entryPort } from './network-rules.js';
import type { ParentNamespace } from './parent-namespace.js';
import { RootlessProcesses } from './rootless-processes.js';
import { SlirpApi } from './slirp-api.js';

interface UplinkNetwork {
  /** A /24 in CIDR notation. */
  range: string;
  address: string;
  /** The address that is forwarded to the host's loopback. */
  gateway: string;
  /** The address of slirp4netns' own resolver, which queries the host's DNS servers. */
  resolver: string;
}

const ENTRY_TRIES = 20;

/** Returns an uplink network that contains none of the addresses that sandboxes must reach. */
export function freeUplink(wanted: readonly string[]): UplinkNetwork {
  for (const net of ['10.0.2', '10.0.3', '172.31.254', '192.168.254']) {
    const range = `${net}.0/24`;
    if (wanted.some((address) => overlaps(range, address))) continue;
    return { range, address: `${net}.100`, gateway: `${net}.2`, resolver: `${net}.3` };
  }
  throw new Error('EGRESS_ALLOW leaves no network for slirp4netns');
}

interface Options {
  folder: string;
  token: string;
  network: UplinkNetwork;
  /** True if slirp4netns allows connections to the host's loopback. The nftables rules decide which ones. */
  reachesLoopback: boolean;
  ports: { first: number; last: number };
  log: Logger;
}

/**
 * Takes the place of the host's network namespace if the platform is not root. The host reaches a sandbox at a loopback
 * address that mirrors the sandbox's address.
 */
export class RootlessNamespace implements ParentNamespace {
  readonly #options: Options;
  readonly #processes: RootlessProcesses;
  readonly #api: SlirpApi;

  constructor(options: Options) {
    const { folder, token, network, reachesLoopback } = options;
    this.#options = options;
    const uplink = ['--configure', '--mtu=65520', `--cidr=${network.range}`, '--enable-sandbox', '--enable-seccomp'];
    if (!reachesLoopback) uplink.push('--disable-host-loopback');
    this.#processes = new RootlessProcesses({ folder, token, uplink });
    this.#api = new SlirpApi(folder);
  }

  get enter(): string[] {
    const pid = this.#processes.holder;
    return [...this.join, `--net=/proc/${pid}/ns/net`, `--mount=/proc/${pid}/ns/mnt`, '--'];
  }

  get join(): string[] {
    return ['nsenter', `--user=/proc/${this.#processes.holder}/ns/user`, '--preserve-credentials'];
  }

  get namespaces(): string {
    return `/proc/${this.#processes.holder}/root/run/netns`;
  }

  get links(): string {
    return `/proc/${this.#processes.holder}/net/dev`;
  }

  mirror(address: string): string {
    return mirrorOf(address);
  }

  ensure(): Promise<boolean> {
    return this.#processes.ensure();
  }

  async open(slot: Pick<NetworkSlot, 'number'>, address: string, to: number): Promise<Entry> {
    const { ports, network } = this.#options;
    const guestPort = entryPort(slot.number);
    for (let tries = 1; ; tries++) {
      const port = ports.first + Math.floor(Math.random() * (ports.last - ports.first + 1));
      try {
        await this.#api.add({ address: mirrorOf(address), port }, network.address, guestPort);
        return { port, to };
      } catch (error) {
        // The random port may be in use by a program that listens on all addresses.
        if (tries === ENTRY_TRIES) throw error;
      }
    }
  }

  async shut({ number }: Pick<NetworkSlot, 'number'>): Promise<void> {
    if (!(await this.#processes.hasUplink())) return;
    for (const { id, guestPort } of await this.#api.list()) {
      if (guestPort === entryPort(number)) await this.#api.remove(id);
    }
  }

  async settle(slots: () => Promise<NetworkSlot[]>, addressOf: (slot: NetworkSlot) => string): Promise<void> {
    await this.#processes.trimLog();
    // List the forwarded ports before the slots. Otherwise, a sandbox that starts in between would lose its port.
    const open = await this.#api.list();
    const wanted = new Map((await slots()).map((slot) => [entryPort(slot.number), slot]));
    for (const { id, guestPort } of open) if (!wanted.has(guestPort)) await this.#api.remove(id);
    for (const [guestPort, slot] of wanted) {
      if (!slot.entry || open.some((forward) => forward.guestPort === guestPort)) continue;
      const { port } = slot.entry;
      await this.#api
        .add({ address: mirrorOf(addressOf(slot)), port }, this.#options.network.address, guestPort)
        .catch((error: unknown) => this.#options.log.error({ err: error, id: slot.id }, 'no requests reach a sandbox'));
    }
  }

  end(): Promise<void> {
    return this.#processes.end();
  }
}
