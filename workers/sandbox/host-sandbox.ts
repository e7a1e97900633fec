import { type ChildProcess, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { open, readdir } from 'node:fs/promises';
import { constants } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { exists } from '../../shared/core/exists.js';
import type { Logger } from '../../shared/core/log.js';
import { processStart } from '../../shared/core/process-identity.js';
import { signalGroup, signalProcess } from '../../shared/core/signal-process.js';
import { discardTree } from '../folders.js';
import type { HostNetwork } from '../network/host-network.js';
import { startRelay } from '../network/loopback-relay.js';
import type { NetworkSpec } from '../network/network-model.js';
import type { HostNetworks } from '../network/open-network.js';
import {
  type Cgroup,
  type CgroupRoots,
  cgroupMembers,
  limitCpu,
  listCgroups,
  makeCgroup,
  procsFilesOf,
  ranOutOfMemory,
  removeCgroup,
  usageOf,
} from './cgroup.js';
import { guardPorts, type PortRange } from './port-guard.js';
import { type Listener, listenersOf, listeningPortsOf, MARKER, markedProcesses, socketsOf } from './proc.js';
import {
  type DetachedOptions,
  type DetachedProcess,
  hasMounts,
  hasUsers,
  type PortHolder,
  type ResourceUsage,
  type RunOptions,
  type RunOutcome,
  type Sandbox,
  type SandboxLevel,
  type SandboxSpec,
  type StartedProcess,
} from './sandbox.js';
import { ended, handOver, runChild, spawned } from './sandbox-child.js';
import {
  APP_PATH,
  detachedArguments,
  HOME_PATH,
  type Host,
  joinBelow,
  type Plan,
  sandboxArguments,
  searchPath,
  USUAL_PATH,
} from './sandbox-plan.js';
import { commandScript } from './sandbox-scripts.js';
import { copiedImage, ownerOf, prepareScratch } from './scratch-folder.js';
import { uidOf } from './service-users.js';

interface Dependencies {
  log: Logger;
  dataDir: string;
  /** Marks this platform's processes on a host that may run another one. */
  token: string;
  host: Host;
  cgroups: CgroupRoots | null;
  /** The ports that the kernel refuses to a sandbox, except its own; null if it cannot. */
  guardedPorts: PortRange | null;
}

/** A sandbox that is made and not started. */
interface Prepared {
  plan: Plan;
  cgroup: Cgroup | null;
  script: string;
}

/** PATH of the sandbox's own programs, which never get the command's variables. */
const INIT_PATH = USUAL_PATH.join(':');
const STEP_MS = 20;
/** A process that survives KILL this long, in milliseconds, hangs in the kernel. */
const KILL_DEADLINE_MS = 15_000;

/** Runs commands on this host at the level that was found at start. */
export class HostSandbox implements Sandbox {
  readonly #log: Logger;
  readonly #dataDir: string;
  readonly #token: string;
  readonly #host: Host;
  readonly #cgroups: CgroupRoots | null;
  readonly #guardedPorts: PortRange | null;
  #networks: HostNetworks = { current: null, all: null };
  /** Ids of the sandboxes that this process runs now. Sweeps do not touch them. */
  readonly #running = new Set<string>();

  constructor({ log, dataDir, token, host, cgroups, guardedPorts }: Dependencies) {
    this.#log = log;
    this.#dataDir = dataDir;
    this.#token = token;
    this.#host = host;
    this.#cgroups = cgroups;
    this.#guardedPorts = guardedPorts;
  }

  get network(): HostNetwork | null {
    return this.#networks.current;
  }

  get allNetworks(): HostNetwork | null {
    return this.#networks.all;
  }

  /** Gives each command from now on a network of its own, if `current` is not null. */
  useNetworks(networks: HostNetworks): void {
    this.#networks = networks;
  }

  get measuresUsage(): boolean {
    return this.#cgroups !== null && this.#cgroups.accounting !== null;
  }

  get level(): SandboxLevel {
    return this.#host.level;
  }

  pathOf({ directory, image }: Pick<SandboxSpec, 'directory' | 'image'>): string {
    if (hasMounts(this.level)) return APP_PATH;
    return image === undefined ? directory : copiedImage(directory);
  }

  async run(spec: SandboxSpec, options: RunOptions): Promise<RunOutcome> {
    if (options.signal.aborted) return { reason: 'aborted' };
    this.#running.add(spec.id);
    try {
      const prepared = await this.#prepare(spec, true);
      return await this.#runPrepared(spec.id, prepared, options);
    } finally {
      await this.#end(spec.id, null, false);
      this.#running.delete(spec.id);
    }
  }

  async start(spec: SandboxSpec, options: DetachedOptions): Promise<StartedProcess> {
    const prepared = await this.#prepare(spec, false);
    const argv = detachedArguments(this.#host, prepared.plan, options.exitFile, prepared.cgroup?.oomFile ?? '');
    const output = await open(options.logFile, 'a', 0o600);
    try {
      const child = this.#spawn(argv, prepared, ['ignore', output.fd, output.fd, 'pipe']);
      const exited = ended(child);
      const pid = await spawned(child);
      const startedAt = await processStart(pid);
      const made = await handOver(child, prepared.script);
      if (!made || startedAt === null) {
        throw new Error(`The sandbox could not be made; the reason stands at the end of ${options.logFile}`);
      }
      void exited.then(() => options.onExit?.());
      child.unref();
      const { network } = prepared.plan;
      return { pid, startedAt, ...(network ? { address: network.address } : {}) };
    } catch (error) {
      await this.#end(spec.id, null);
      throw error;
    } finally {
      await output.close();
    }
  }

  async relay(id: string, userNumber: number, address: string, port: number): Promise<void> {
    const namespace = await this.allNetworks?.namespaceOf(id);
    if (!namespace) throw new Error(`${id} has no network`);
    const mark = { [MARKER]: `${this.#token}:${id}` };
    const procsFiles = this.#cgroups === null ? [] : procsFilesOf(this.#cgroups, id);
    await startRelay({ namespace, address, port, uid: uidOf(userNumber), mark, procsFiles });
  }

  async isAlive({ pid, startedAt }: DetachedProcess): Promise<boolean> {
    return (await processStart(pid)) === startedAt;
  }

  async stop(id: string, process: DetachedProcess, graceMs: number): Promise<void> {
    const deadline = Date.now() + graceMs;
    const wasAlive = await this.isAlive(process);
    if (graceMs > 0 && wasAlive) {
      signalGroup(process.pid, 'SIGTERM');
      while (Date.now() < deadline && (await this.isAlive(process))) await sleep(STEP_MS);
    }
    // If the leader is alive, it ends its helpers or they are in its group. If it had ended before, one may be left.
    await this.#end(id, process, !wasAlive);
  }

  async limitCpu(id: string, cpu: number): Promise<void> {
    if (this.#cgroups !== null) await limitCpu(this.#cgroups, id, cpu);
  }

  async usage(id: string): Promise<ResourceUsage | null> {
    return this.#cgroups === null ? null : usageOf(this.#cgroups, id);
  }

  async listeningPorts(id: string): Promise<number[] | null> {
    return listeningPortsOf(await this.#members(id));
  }

  async portHolder(id: string, userNumber: number, address: string, port: number): Promise<PortHolder> {
    const listeners = await listenersOf(address, port);
    if (listeners === null) return 'unknown';
    if (listeners.length === 0) return 'nobody';
    const uid = hasUsers(this.level) ? uidOf(userNumber) : null;
    const sockets = uid === null ? await socketsOf(await this.#members(id)) : new Set<string>();
    const isOwn = (listener: Listener) => (uid === null ? sockets.has(listener.inode) : listener.uid === uid);
    // The kernel lets only one user listen for IPv4 connections. An IPv6 socket for all addresses may or may not accept them.
    const sure = listeners.filter((listener) => !listener.anyIpv6);
    return (sure.length > 0 ? sure : listeners).some(isOwn) ? 'own' : 'stranger';
  }

  async sweep(isWanted: (id: string) => boolean): Promise<number> {
    const processes = new Map<string, number>();
    for (const marker of (await markedProcesses(`${this.#token}:`)).values()) {
      const id = marker.slice(this.#token.length + 1);
      processes.set(id, (processes.get(id) ?? 0) + 1);
    }
    const traces = await readdir(this.#scratchRoot()).catch(() => []);
    const groups = this.#cgroups === null ? [] : await listCgroups(this.#cgroups);
    let ended = 0;
    const networks = (await this.allNetworks?.ids()) ?? [];
    for (const id of new Set([...processes.keys(), ...traces, ...groups, ...networks])) {
      if (this.#running.has(id)) continue;
      const owner = await ownerOf(join(this.#scratchRoot(), id));
      if (owner === null ? isWanted(id) : await this.isAlive(owner)) continue;
      await this.#end(id, null);
      ended += processes.get(id) ?? 0;
    }
    return ended;
  }

  async #prepare(spec: SandboxSpec, tied: boolean): Promise<Prepared> {
    if (!/^[A-Za-z0-9][A-Za-z0-9._-]{0,200}$/.test(spec.id)) throw new Error(`"${spec.id}" cannot name a sandbox`);
    // A worker that died may have left the same run behind. Its folder is made first and removed last.
    if (await exists(join(this.#scratchRoot(), spec.id))) await this.#end(spec.id, null);
    // Its network is made at the same time as its folder, and may be there without it.
    await this.allNetworks?.release(spec.id);
    const uid = this.level === 'rootless' ? (process.getuid?.() ?? 0) : uidOf(spec.userNumber);
    const scratch = join(this.#scratchRoot(), spec.id);
    const mounted = hasMounts(this.level) && this.#host.overlay;
    const owner = tied ? { pid: process.pid, startedAt: (await processStart(process.pid)) ?? '' } : null;
    const folders = {
      ...spec,
      scratch,
      owner,
      uid,
      mounted,
      dataDir: this.#dataDir,
      log: this.#log,
      level: this.level,
    };
    const attached = this.network?.attach(spec.id, spec.network ?? aloneIn(spec)) ?? Promise.resolve(null);
    const [made, joined] = await Promise.allSettled([this.#prepareFolders(spec, folders), attached]);
    if (made.status === 'rejected' || joined.status === 'rejected') {
      await this.#discard(spec.id);
      throw made.status === 'rejected' ? made.reason : (joined as PromiseRejectedResult).reason;
    }
    const { directory, image, cgroup } = made.value;
    const inside = hasMounts(this.level);
    const env = {
      PATH: searchPath(this.#host, spec.tools),
      HOME: inside ? HOME_PATH : join(scratch, 'home'),
      TMPDIR: inside ? '/tmp' : join(scratch, 'tmp'),
      ...spec.env,
      [MARKER]: `${this.#token}:${spec.id}`,
    };
    const cwd = joinBelow(inside ? APP_PATH : directory, spec.cwd);
    const plan: Plan = {
      marker: `${this.#token}:${spec.id}`,
      uid,
      directory,
      image,
      scratch,
      writable: spec.writable ?? [],
      tools: spec.tools ?? [],
      limits: spec.limits,
      procsFiles: cgroup?.procsFiles ?? [],
      tied,
      network: joined.value,
    };
    return { plan, cgroup, script: commandScript(cwd, env, spec.command) };
  }

  /** Makes the folders and the control group of a sandbox. */
  async #prepareFolders(spec: SandboxSpec, folders: Parameters<typeof prepareScratch>[0]) {
    const prepared = await prepareScratch(folders);
    const cgroup = this.#cgroups === null ? null : await makeCgroup(this.#cgroups, spec.id, spec.limits);
    // A sandbox with a network of its own shares no port with another.
    if (this.network === null && this.#guardedPorts !== null && cgroup !== null && cgroup.sockets !== null) {
      await guardPorts(cgroup.sockets, this.#guardedPorts, spec.port ?? 0);
    }
    return { ...prepared, cgroup };
  }

  #spawn(argv: string[], { plan }: Prepared, stdio: ('ignore' | 'pipe' | number)[]): ChildProcess {
    const [file = '', ...args] = argv;
    const env = { PATH: INIT_PATH, [MARKER]: plan.marker };
    return spawn(file, args, { cwd: '/', env, stdio, detached: true });
  }

  async #runPrepared(id: string, prepared: Prepared, options: RunOptions): Promise<RunOutcome> {
    // At the other levels no namespace ends with the worker. The init notices its end by the end of descriptor 4.
    const lifeline = hasMounts(this.level) ? [] : (['pipe'] as const);
    const argv = sandboxArguments(this.#host, prepared.plan);
    const child = this.#spawn(argv, prepared, ['ignore', 'pipe', 'pipe', 'pipe', ...lifeline]);
    const { code, cut } = await runChild(child, prepared.script, options, () => this.#killAll(id, null, false));
    if (cut !== null) return { reason: cut };
    return outcomeOf(code, prepared.cgroup);
  }

  /** Kills until nothing of the sandbox is left, and removes its traces. `byMark` as for `#members`. */
  async #end(id: string, process: DetachedProcess | null, byMark = true): Promise<void> {
    await this.#killAll(id, process, byMark);
    await this.#discard(id);
  }

  async #discard(id: string): Promise<void> {
    await this.allNetworks?.release(id);
    if (this.#cgroups !== null) await removeCgroup(this.#cgroups, id);
    await discardTree({ dataDir: this.#dataDir, log: this.#log }, join(this.#scratchRoot(), id));
  }

  async #killAll(id: string, process: DetachedProcess | null, byMark: boolean): Promise<void> {
    const deadline = Date.now() + KILL_DEADLINE_MS;
    for (;;) {
      const leader = process !== null && (await this.isAlive(process));
      if (leader) signalGroup(process.pid, 'SIGKILL');
      const members = await this.#members(id, byMark);
      for (const pid of members) signalProcess(pid, 'SIGKILL');
      if (!leader && members.length === 0) return;
      if (Date.now() > deadline) {
        this.#log.error({ id, members }, 'processes survive KILL');
        throw new Error(`Processes of ${id} survive KILL: ${members.join(', ')}`);
      }
      await sleep(STEP_MS);
    }
  }

  /**
   * The processes of a sandbox. The command and its descendants cannot leave their control group. Only the platform's own
   * helpers around them are not in it; `byMark` finds those too, by a look at every process of the host. Without control
   * groups that is the only way.
   */
  async #members(id: string, byMark = true): Promise<number[]> {
    const wanted = `${this.#token}:${id}`;
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

  #scratchRoot(): string {
    return join(this.#dataDir, 'sandboxes');
  }
}

/** The network of a command that belongs to no service. */
function aloneIn({ id }: SandboxSpec): NetworkSpec {
  const scope = `sandbox-${createHash('sha256').update(id).digest('hex').slice(0, 32)}`;
  return { scope, use: 'build', hostName: '' };
}

async function outcomeOf(code: number, cgroup: Cgroup | null): Promise<RunOutcome> {
  if (code !== 0 && cgroup !== null && (await ranOutOfMemory(cgroup))) return { reason: 'out-of-memory' };
  // For a shell `exit 143` and an end by TERM look the same. The latter is assumed.
  const signalName = Object.entries(constants.signals).find(([, number]) => number === code - 128)?.[0];
  if (signalName !== undefined) return { reason: 'signalled', signal: signalName as NodeJS.Signals };
  return { reason: 'exited', exitCode: code };
}
