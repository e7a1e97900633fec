import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from '../../shared/core/log.js';
import { isRunning, processStart } from '../../shared/core/process-identity.js';
import { signalGroup, signalProcess } from '../../shared/core/signal-process.js';
import { type CgroupRoots, cgroupMembers } from './cgroup.js';
import { listenersOf, listeningPortsOf, markedProcesses, socketsOf } from './process-table.js';
import type { DetachedProcess, PortHolder } from './sandbox.js';

const STEP_MS = 20;
/** A process that survives SIGKILL for longer hangs in the kernel. */
const KILL_DEADLINE_MS = 15_000;

/** Returns true for a valid sandbox id. A folder with a valid id as its name is always inside the parent folder. */
export function isSandboxId(text: string): boolean {
  return /^[A-Za-z0-9][A-Za-z0-9._-]{0,200}$/.test(text);
}

interface Dependencies {
  log: Logger;
  token: string;
  cgroups: CgroupRoots | null;
}

/** Finds, observes and kills the processes of this platform's sandboxes. */
export class SandboxProcesses {
  readonly #deps: Dependencies;

  constructor(deps: Dependencies) {
    this.#deps = deps;
  }

  markOf(id: string): string {
    return `${this.#deps.token}:${id}`;
  }

  /**
   * The command and its descendants cannot leave their cgroup; only the platform's own helpers are outside it. With
   * `byMark` or without cgroups, every process of the host is examined, so that helpers are found too.
   */
  async of(id: string, byMark = true): Promise<number[]> {
    const wanted = this.markOf(id);
    const members = new Set<number>();
    if (byMark || this.#deps.cgroups === null) {
      for (const [pid, marker] of await markedProcesses(wanted)) if (marker === wanted) members.add(pid);
    }
    if (this.#deps.cgroups !== null) {
      for (const pid of await cgroupMembers(this.#deps.cgroups, id)) {
        if ((await processStart(pid)) !== null) members.add(pid);
      }
    }
    return [...members];
  }

  /** A command can set any mark in its environment, so invalid ids are ignored. */
  async countMarked(): Promise<Map<string, number>> {
    const counts = new Map<string, number>();
    for (const marker of (await markedProcesses(this.markOf(''))).values()) {
      const id = marker.slice(this.markOf('').length);
      if (isSandboxId(id)) counts.set(id, (counts.get(id) ?? 0) + 1);
    }
    return counts;
  }

  /** `ask` requests the process to exit. */
  async terminate(process: DetachedProcess, graceMs: number, ask: () => void): Promise<void> {
    const deadline = Date.now() + graceMs;
    ask();
    while (Date.now() < deadline && (await isRunning(process))) await sleep(STEP_MS);
  }

  /** Kills until no process of the sandbox is left. Throws if a process survives for 15 s. For `byMark`, see `of`. */
  async kill(id: string, process: DetachedProcess | null, byMark: boolean): Promise<void> {
    const deadline = Date.now() + KILL_DEADLINE_MS;
    for (;;) {
      const leader = process !== null && (await isRunning(process));
      if (leader) signalGroup(process.pid, 'SIGKILL');
      const members = await this.of(id, byMark);
      for (const pid of members) signalProcess(pid, 'SIGKILL');
      if (!leader && members.length === 0) return;
      if (Date.now() > deadline) {
        this.#deps.log.error({ id, members }, 'processes survive KILL');
        throw new Error(`Processes of ${id} survive KILL: ${members.join(', ')}`);
      }
      await sleep(STEP_MS);
    }
  }

  async listeningPorts(id: string): Promise<number[] | null> {
    return listeningPortsOf(await this.of(id));
  }

  /** `uid` is the user ID of the service's processes; null if all services share a user. */
  async portHolder(id: string, uid: number | null, address: string, port: number): Promise<PortHolder> {
    const listeners = await listenersOf(address, port);
    if (listeners === null) return 'unknown';
    if (listeners.length === 0) return 'nobody';
    const sockets = uid === null ? await socketsOf(await this.of(id)) : new Set<string>();
    // The kernel lets only one user listen for IPv4 connections on a port. A socket for all IPv6 addresses may or may
    // not get IPv4 connections too, so it counts only if there is no IPv4 socket.
    const sure = listeners.filter((listener) => listener.address !== '::');
    const counted = sure.length > 0 ? sure : listeners;
    const isOwn = counted.some((listener) => (uid === null ? sockets.has(listener.inode) : listener.uid === uid));
    return isOwn ? 'own' : 'stranger';
  }
}
