import { setTimeout as sleep } from 'node:timers/promises';
import type { PortTarget } from '../../network/network-rules.js';
import type { ReplicaRow } from '../../replicas/rows.js';
import { type ListeningSocket, socketsOfNamespace } from '../../sandbox/listening-sockets.js';
import type { Sandbox } from '../../sandbox/sandbox.js';
import { checkHealth, statusOf } from '../health-check.js';
import type { ReleaseSpec } from '../runtime-driver.js';
import { choosePort, portsOf, wayTo } from './choose-port.js';
import { processOf, sandboxIdOf } from './replica-sandbox.js';

const ANSWER_MS = 1_000;
/** Each poll searches all sockets of the host. */
const POLL_INTERVAL_MS = 500;
/** For each poll the kernel walks its table of all the host's connections, which takes 10 ms of CPU time. */
const INSIDE_POLL_INTERVAL_MS = 100;
const RELAY_START_MS = 2_000;

/** Finds the port on which an attempt listens, and makes it reachable in the replica's own network. */
export class PortFinder {
  readonly #sandbox: Sandbox;
  #elsewhereSince: number | null = null;
  /** The first poll waits too, because a newly started application seldom listens yet. */
  #lookedAt = Date.now();
  /** The translations and relays that are set up, as JSON; '' until a port has been chosen. */
  #opened = '';
  #found: number | null = null;

  constructor(sandbox: Sandbox) {
    this.#sandbox = sandbox;
  }

  async find(row: ReplicaRow, spec: ReleaseSpec): Promise<number | null> {
    if (row.pid === null) return null;
    const wanted = row.given_port ?? spec.configuration.port;
    if (await this.#isReachable(row.address, wanted)) return wanted;
    if (Date.now() - this.#lookedAt < INSIDE_POLL_INTERVAL_MS) return this.#found;
    this.#lookedAt = Date.now();
    const sockets = await socketsOfNamespace(row.pid);
    this.#found = sockets === null ? null : await this.#choose(row, spec, sockets);
    return this.#found;
  }

  async #choose(row: ReplicaRow, spec: ReleaseSpec, sockets: readonly ListeningSocket[]): Promise<number | null> {
    const wanted = row.given_port ?? spec.configuration.port;
    const elsewhereMs = this.#elsewhere(portsOf(sockets), wanted);
    const { ports: exposed } = spec.image.manifest.process ?? { ports: [] };
    const choice = choosePort({ sockets, wanted, configured: spec.configuration.port, exposed, elsewhereMs });
    if (choice.type === 'wait') return null;
    if (choice.type === 'ask') await this.#open(row, spec, sockets, choice.ports);
    const port = choice.type === 'use' ? choice.port : await this.#answeringInside(row, choice.ports);
    await this.#open(row, spec, sockets, [port]);
    return port;
  }

  /** Returns the port on which an application listens instead of its assigned port; null while unknown. */
  async findOnHost(row: ReplicaRow, spec: ReleaseSpec): Promise<number | null> {
    if (row.port === null || Date.now() - this.#lookedAt < POLL_INTERVAL_MS) return null;
    this.#lookedAt = Date.now();
    const ports = (await this.#sandbox.listeningPorts(sandboxIdOf(row), processOf(row))) ?? [];
    const choice = choosePort({
      sockets: ports.map((port) => ({ address: row.address, port })),
      wanted: row.port,
      configured: spec.configuration.port,
      elsewhereMs: this.#elsewhere(ports, row.port),
    });
    if (choice.type === 'ask') return this.#answering(row.address, choice.ports);
    return choice.type === 'use' && choice.port !== row.port ? choice.port : null;
  }

  async #isReachable(address: string, port: number): Promise<boolean> {
    // The forwarded port of a rootless network accepts every connection, even if nothing listens behind it.
    if (this.#opened !== '' || this.#sandbox.allNetworks?.level === 'rootless') return false;
    return (await checkHealth({ address, port, path: '', host: '' })).healthy;
  }

  /** Returns for how long the application has listened on ports, but not on `wanted`, in milliseconds. */
  #elsewhere(ports: readonly number[], wanted: number): number {
    if (ports.length === 0 || ports.includes(wanted)) this.#elsewhereSince = null;
    else this.#elsewhereSince ??= Date.now();
    return this.#elsewhereSince === null ? 0 : Date.now() - this.#elsewhereSince;
  }

  /** In a rootless network, ports are tried one after another, because only one can be forwarded at a time. */
  async #answeringInside(row: ReplicaRow, ports: readonly number[]): Promise<number> {
    const network = this.#sandbox.allNetworks;
    if (network?.level !== 'rootless') return this.#answering(row.address, ports);
    for (const port of ports) {
      if (await answersHttp(row.address, await network.lead(sandboxIdOf(row), port))) return port;
    }
    return ports[0] ?? 0;
  }

  /** Returns the first port that responds to HTTP; if none does, the first port. */
  async #answering(address: string, ports: readonly number[]): Promise<number> {
    const answers = await Promise.all(ports.map((port) => answersHttp(address, port)));
    return ports[Math.max(0, answers.indexOf(true))] ?? 0;
  }

  /**
   * Makes the application's ports reachable from outside the namespace. If `ports` has only one port, this port is also
   * reachable at the port number in PORT.
   */
  async #open(
    row: ReplicaRow,
    spec: ReleaseSpec,
    sockets: readonly ListeningSocket[],
    ports: readonly number[],
  ): Promise<void> {
    const network = this.#sandbox.allNetworks;
    if (network === null) return;
    const address = network.ownAddress(row.address);
    const wanted = row.given_port ?? spec.configuration.port;
    const id = sandboxIdOf(row);
    const targets: PortTarget[] = [];
    const relays: number[] = [];
    for (const port of ports) {
      const way = wayTo(sockets, port, address);
      const to = { address: way.type === 'translate' ? way.address : address, port };
      if (way.type === 'translate') targets.push({ port, to });
      if (way.type === 'relay') relays.push(port);
      if (port === ports[0] && port !== wanted && ports.length === 1) targets.push({ port: wanted, to });
    }
    const key = JSON.stringify({ targets, relays });
    if (key === this.#opened) return;
    if (targets.length > 0 || this.#opened !== '') await network.setPorts(id, targets);
    for (const port of relays) await this.#sandbox.relay(id, spec.userNumber, address, port);
    if (relays.length > 0) await listening(row.pid, address, relays);
    this.#opened = key;
  }
}

async function listening(pid: number | null, address: string, ports: readonly number[]): Promise<void> {
  const deadline = Date.now() + RELAY_START_MS;
  while (pid !== null && Date.now() < deadline) {
    const sockets = (await socketsOfNamespace(pid)) ?? [];
    if (ports.every((port) => sockets.some((socket) => socket.address === address && socket.port === port))) return;
    await sleep(20);
  }
}

/** Any HTTP status counts. */
async function answersHttp(address: string, port: number): Promise<boolean> {
  const status = await statusOf({ address, port, path: '/', host: `${address}:${port}` }, ANSWER_MS);
  return typeof status === 'number';
}
