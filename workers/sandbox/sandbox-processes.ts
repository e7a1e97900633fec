import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from '../../shared/core/log.js';
import { isRunning, processStart } from '../../shared/core/process-identity.js';
import { signalGroup, signalProcess } from '../../shared/core/signal-process.js';
import { type CgroupRoots, cgroupMembers } from './cgroup.js';
import { type Listener, listenersOf, listeningPortsOf, markedProcesses, socketsOf } from './process-table.js';
import type { DetachedProcess, PortHolder } from './sandbox.js';

const STEP_MS = 20;
/** A process that survives KILL for this long, in milliseconds, hangs in the kernel. */
const KILL_DEADLINE_MS = 15_000;

/** Returns true for a text that can name a sandbox, and as a folder's name stays inside of its parent. */
export function isSandboxId(text: string): boolean {
  return /^[A-Za-z0-9][A-Za-z0-9._-]{0,200}$/.test(text);
}

/** Finds, observes and ends the processes of this platform's sandboxes. */
export class SandboxProcesses {
  readonly #log: Logger;
  readonly #token: string;
  readonly #cgroups: CgroupRoots | null;

  /** `token` marks this platform's processes on a host that may run another one. */
  constructor({ log, token, cgroups }: { log: Logger; token: string; cgroups: CgroupRoots | null }) {
    this.#log = log;
    this.#token = token;
    this.#cgroups = cgroups;
  }

  /** Returns the mark of every process of a sandbox. */
  markOf(id: string): string {
    return `${this.#token}:${id}`;
  }

  isAlive(process: DetachedProcess): Promise<boolean> {
    return isRunning(process);
  }

  /**
   * Returns the processes of a sandbox. The command and its descendants cannot leave their control group. Only the
   * platform's own helpers are outside of it; `byMark` finds these too, by examining every process of the host. Without
   * control groups that is the only way.
   */
  async of(id: string, byMark = true): Promise<number[]> {
    const wanted = this.markOf(id);
    const members = new Set<number>();
    if (byMark || this.#cgroups === null) {
      for (const [pid, marker] of await markedProcesses(wanted)) if (marker === wanted) members.add(pid);
    }
    if (this.#cgroups !== null) {
      for (const pid of await cgroupMembers(this.#cgroups, id)) {
        if ((await processStart(pid)) !== null) members.add(pid);
      }
    }
    return [...members];
  }

  /** Returns the number of marked processes by sandbox id. Other marks are ignored, because a command can set any. */
  async countMarked(): Promise<Map<string, number>> {
    const counts = new Map<string, number>();
    for (const marker of (await markedProcesses(this.markOf(''))).values()) {
      const id = marker.slice(this.markOf('').length);
      if (isSandboxId(id)) counts.set(id, (counts.get(id) ?? 0) + 1);
    }
    return counts;
  }

  /** Asks a process to end by calling `ask`. Resolves when it has ended, or after `graceMs`. */
  async terminate(process: DetachedProcess, graceMs: number, ask: () => void): Promise<void> {
    const deadline = Date.now() + graceMs;
    ask();
    while (Date.now() < deadline && (await this.isAlive(process))) await sleep(STEP_MS);
  }

  /** Kills until no process of the sandbox is left. Throws if one survives for 15 s. `byMark` as for `of`. */
  async kill(id: string, process: DetachedProcess | null, byMark: boolean): Promise<void> {
    const deadline = Date.now() + KILL_DEADLINE_MS;
    for (;;) {
      const leader = process !== null && (await this.isAlive(process));
      if (leader) signalGroup(process.pid, 'SIGKILL');
      const members = await this.of(id, byMark);
      for (const pid of members) signalProcess(pid, 'SIGKILL');
      if (!leader && members.length === 0) return;
      if (Date.now() > deadline) {
        this.#log.error({ id, members }, 'processes survive KILL');
        throw new Error(`Processes of ${id} survive KILL: ${members.join(', ')}`);
      }
      await sleep(STEP_MS);
    }
  }

  async listeningPorts(id: string): Promise<number[] | null> {
    return listeningPortsOf(await this.of(id));
  }

  /** Returns who listens on a port. `uid` is the sandbox's own user, or null if it shares one. */
  async portHolder(id: string, uid: number | null, address: string, port: number): Promise<PortHolder> {
    const listeners = await listenersOf(address, port);
    if (listeners === null) return 'unknown';
    if (listeners.length === 0) return 'nobody';
    const sockets = uid === null ? await socketsOf(await this.of(id)) : new Set<string>();
    const isOwn = (listener: Listener) => (uid === null ? sockets.has(listener.inode) : listener.uid === uid);
    // The kernel lets only one user listen for IPv4 connections. An IPv6 socket for all addresses may or may not accept
    // them.
    const sure = listeners.filter((listener) => !listener.anyIpv6);
    return (sure.length > 0 ? sure : listeners).some(isOwn) ? 'own' : 'stranger';
  }
}
