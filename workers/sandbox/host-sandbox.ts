import { open, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { v7 } from 'uuid';
import { errorMessage } from '../../shared/core/error-registry.js';
import { exists } from '../../shared/core/exists.js';
import { isRunning } from '../../shared/core/process-identity.js';
import { resultOf } from '../../shared/core/run-limited.js';
import { signalGroup, signalProcess } from '../../shared/core/signal-process.js';
import { concurrently } from '../core/concurrently.js';
import { discardTree } from '../core/remove-folders.js';
import type { HostNetwork } from '../network/host-network.js';
import type { HostNetworks } from '../network/open-network.js';
import { limitCpu, listCgroups, procsFilesOf, removeCgroup, usageOf } from './cgroup.js';
import { canHideFromImageTools } from './container-mounts.js';
import { noteStorage } from './disk-guard.js';
import { enterSandbox } from './enter-sandbox.js';
import { type Container, endUnstarted, spawnContainer, startContainer } from './launch-container.js';
import { type PlainProcess, spawnPlain, startPlain } from './launch-plain.js';
import { startRelay } from './loopback-relay.js';
import { pauseSandbox } from './pause-sandbox.js';
import {
  type Made,
  makeSandbox,
  type Prepared,
  prepareCommand,
  type SandboxPlace,
  scratchRoot,
  userOf,
} from './prepare-sandbox.js';
import { MARKER } from './process-table.js';
import type {
  DetachedOptions,
  DetachedProcess,
  Entry,
  EntryCommand,
  InsideCommand,
  InsideResult,
  PausedSandbox,
  PortHolder,
  ResourceUsage,
  RunOptions,
  RunOutcome,
  Sandbox,
  SandboxBase,
  SandboxLevel,
  SandboxSpec,
  StartedProcess,
} from './sandbox.js';
import { outcomeOf, runChild } from './sandbox-child.js';
import { APP_PATH, OPEN_FILES, withoutPrivileges } from './sandbox-plan.js';
import { isSandboxId, SandboxProcesses } from './sandbox-processes.js';
import { copiedImage, ownerOf } from './scratch-folder.js';
import { hasUsers, uidOf } from './service-users.js';
import { stopRequest } from './stop-signal.js';
import { CONTENT } from './volume-mounts.js';

interface Dependencies extends SandboxPlace {
  /** Distinguishes this platform's processes from those of another installation on the host. */
  token: string;
}

/**
 * How many sandboxes a sweep ends at once. It is more than one, because a sandbox whose processes hang in the kernel
 * takes 15 s. It is small, because ending a sandbox examines every process of the host.
 */
const ENDED_AT_ONCE = 4;

/** Runs commands on this host at the isolation level that the worker detected when it started. */
export class HostSandbox implements Sandbox {
  readonly #place: SandboxPlace;
  readonly #processes: SandboxProcesses;
  #networks: HostNetworks = { current: null, all: null };
  readonly #running = new Set<string>();
  /** Ids of sandboxes that were killed because they filled the disk. */
  readonly #filled = new Set<string>();
  /** Sandboxes that are prepared before their command is known; null if the preparation failed. */
  readonly #expected = new Map<string, Promise<Made | null>>();
  /** Background removals of ended sandboxes, by sandbox id. */
  readonly #discarding = new Map<string, Promise<void>>();

  constructor({ token, ...place }: Dependencies) {
    this.#place = place;
    this.#processes = new SandboxProcesses({ log: place.log, cgroups: place.host.cgroups, token });
  }

  get network(): HostNetwork | null {
    return this.#networks.current;
  }

  get allNetworks(): HostNetwork | null {
    return this.#networks.all;
  }

  /** Sets the networks of later commands. If `networks.current` is null, they share the host's network. */
  useNetworks(networks: HostNetworks): void {
    this.#networks = networks;
  }

  get measuresUsage(): boolean {
    return this.#place.host.cgroups?.accounting != null;
  }

  get runsImages(): boolean {
    const { host } = this.#place;
    return host.oci?.hasImageTools === true && host.overlay && canHideFromImageTools(host);
  }

  get level(): SandboxLevel {
    return this.#place.host.level;
  }

  pathOf({ directory, image }: Pick<SandboxSpec, 'directory' | 'image'>): string {
    if (this.#place.host.oci !== null) return APP_PATH;
    return image === undefined ? directory : copiedImage(directory);
  }

  expect(base: SandboxBase): void {
    // Without containers, a sandbox cannot be made before its command is known, because the command's user must get
    // access to the folders of the command's tools.
    if (this.#place.host.oci === null || this.#running.has(base.id)) return;
    this.#running.add(base.id);
    const made = this.#make(base, true).catch((error: unknown) => {
      this.#place.log.debug({ err: error, id: base.id }, 'a sandbox could not be made before its command');
      return null;
    });
    this.#expected.set(base.id, made);
  }

  forget(id: string): void {
    const made = this.#expected.get(id);
    if (made === undefined) return;
    this.#expected.delete(id);
    this.#discardSoon(id, made);
  }

  async run(spec: SandboxSpec, options: RunOptions): Promise<RunOutcome> {
    if (options.signal.aborted) return { reason: 'aborted' };
    this.#running.add(spec.id);
    try {
      const prepared = await this.#prepare(spec, true);
      if (options.signal.aborted) return { reason: 'aborted' };
      return await this.#runPrepared(spec.id, prepared, options);
    } finally {
      await this.#kill(spec.id, null, false);
      this.#filled.delete(spec.id);
      this.#discardSoon(spec.id);
    }
  }

  async start(spec: SandboxSpec, options: DetachedOptions): Promise<StartedProcess> {
    const prepared = await this.#prepare(spec, false);
    const output = await open(options.logFile, 'a', 0o600);
    try {
      const container = this.#containerOf(spec.id, prepared);
      const { exitFile } = options;
      const { child, pid, startedAt, exited } =
        container === null
          ? await startPlain(this.#plainOf(prepared), { output, exitFile })
          : await startContainer(container, { output, exitFile, oomFile: prepared.cgroup?.oomFile ?? null });
      void exited.then(() => options.onExit?.());
      child.unref();
      const { network } = prepared.plan;
      if (!network) return { pid, startedAt };
      const { address, port } = network;
      return { pid, startedAt, address, ...(port === undefined ? {} : { port }) };
    } catch (error) {
      await this.#end(spec.id, null);
      throw error;
    } finally {
      await output.close();
    }
  }

  async exec(id: string, process: DetachedProcess, command: InsideCommand): Promise<InsideResult> {
    const { args, timeoutMs, cwd, user } = command;
    const entry = await this.enter(id, process, { name: v7(), args, env: {}, image: { cwd, user }, terminal: false });
    try {
      const [program = '', ...rest] = entry.argv;
      // The runtime gives the command the limits of the image's process. In the image's user namespace, the runtime can
      // lower limits but not raise them. So the runtime itself must start with limits that are at least as high.
      const limits = { openFiles: OPEN_FILES, memoryBytes: Number.MAX_SAFE_INTEGER };
      const { code, stdout, stderr, cut } = await resultOf(program, rest, {
        env: entry.env,
        timeout: timeoutMs,
        limits,
      });
      return { code: cut === null ? code : null, output: `${stdout}\n${stderr}` };
    } finally {
      await entry.end();
    }
  }

  async enter(id: string, process: DetachedProcess, command: EntryCommand): Promise<Entry> {
    if (!(await this.isAlive(process))) throw new Error(`${id} has ended`);
    const network = (await this.allNetworks?.joining(id)) ?? [];
    return enterSandbox(this.#place.host, { id, process, scratch: this.#scratchOf(id), network }, command);
  }

  pause(id: string): Promise<PausedSandbox> {
    const mark = `${MARKER}=${this.#processes.markOf(id)}`;
    return pauseSandbox(this.#place.host.cgroups, id, mark);
  }

  async relay(id: string, userNumber: number, address: string, port: number): Promise<void> {
    const join = await this.allNetworks?.joining(id);
    if (!join) throw new Error(`${id} has no network`);
    const { host } = this.#place;
    const drop = withoutPrivileges(host, userOf(host, userNumber));
    const mark = { [MARKER]: this.#processes.markOf(id) };
    const procsFiles = host.cgroups === null ? [] : procsFilesOf(host.cgroups, id);
    await startRelay({ join, drop, address, port, mark, procsFiles });
  }

  isAlive(process: DetachedProcess): Promise<boolean> {
    return isRunning(process);
  }

  async stop(id: string, process: DetachedProcess, graceMs: number): Promise<void> {
    const wasAlive = await this.isAlive(process);
    if (graceMs > 0 && wasAlive) {
      const request = await stopRequest(this.#scratchOf(id));
      await this.#processes.terminate(process, graceMs, () => {
        if (request === null) signalGroup(process.pid, 'SIGTERM');
        else signalProcess(request.pid, request.signal);
      });
    }
    // If the init was still running, it has stopped the platform's helper processes, or they are in the cgroup. If the
    // init had exited, a helper may be left outside the cgroup. Then all processes are searched for the sandbox's mark.
    await this.#end(id, process, !wasAlive);
  }

  async endForRoom(id: string): Promise<void> {
    if (this.#running.has(id)) this.#filled.add(id);
    await this.#kill(id, null, true);
  }

  async limitCpu(id: string, cpu: number): Promise<void> {
    const { cgroups } = this.#place.host;
    if (cgroups !== null) await limitCpu(cgroups, id, cpu);
  }

  async usage(id: string): Promise<ResourceUsage | null> {
    const { cgroups } = this.#place.host;
    return cgroups === null ? null : usageOf(cgroups, id);
  }

  listeningPorts(id: string): Promise<number[] | null> {
    return this.#processes.listeningPorts(id);
  }

  portHolder(id: string, userNumber: number, address: string, port: number): Promise<PortHolder> {
    const uid = hasUsers(this.level) ? uidOf(userNumber) : null;
    return this.#processes.portHolder(id, uid, address, port);
  }

  async sweep(wanted: () => Promise<(id: string) => boolean>): Promise<number> {
    await Promise.all(this.#discarding.values());
    const processes = await this.#processes.countMarked();
    const traces = await readdir(scratchRoot(this.#place.dataDir)).catch(() => []);
    const { cgroups } = this.#place.host;
    const groups = cgroups === null ? [] : await listCgroups(cgroups);
    const networks = (await this.allNetworks?.ids()) ?? [];
    const isWanted = await wanted();
    let count = 0;
    await concurrently(
      [...new Set([...processes.keys(), ...traces, ...groups, ...networks])],
      ENDED_AT_ONCE,
      async (id) => {
        if (this.#running.has(id)) return;
        try {
          const owner = await ownerOf(this.#scratchOf(id));
          if (owner === null ? isWanted(id) : await this.isAlive(owner)) return;
          await this.#end(id, null);
          count += processes.get(id) ?? 0;
        } catch (error) {
          this.#place.log.warn({ err: error, id }, `a sandbox stays until the next sweep: ${errorMessage(error)}`);
        }
      },
    );
    return count;
  }

  async #prepare(spec: SandboxSpec, tied: boolean): Promise<Prepared> {
    const expected = this.#expected.get(spec.id);
    this.#expected.delete(spec.id);
    const made = (await expected) ?? (await this.#make(spec, tied));
    const { fileSizeMb } = spec.limits;
    const isRun = tied || spec.isRun === true;
    // What a volume already contains must not count towards the disk limit of a run.
    const volumes = isRun ? [] : (spec.volumes ?? []).map(({ folder }) => join(folder, CONTENT));
    try {
      await noteStorage(made.scratch, [made.directory, ...(spec.writable ?? []), ...volumes], {
        isRun,
        fileSizeMb,
      });
      return prepareCommand(this.#place, spec, made, { marker: this.#processes.markOf(spec.id), tied });
    } catch (error) {
      await this.#discard(spec.id);
      throw error;
    }
  }

  async #make(spec: Parameters<typeof makeSandbox>[1], tied: boolean): Promise<Made> {
    if (!isSandboxId(spec.id)) throw new Error(`"${spec.id}" cannot name a sandbox`);
    await this.#discarding.get(spec.id);
    // A worker that died may have left a sandbox with this id. When a sandbox is removed, its folder is removed last.
    if (await exists(this.#scratchOf(spec.id))) await this.#end(spec.id, null);
    // The worker may have died while it created the folder and the network at the same time, and left only the network.
    await this.allNetworks?.release(spec.id);
    try {
      return await makeSandbox(this.#place, spec, { tied, network: this.network });
    } catch (error) {
      await this.#discard(spec.id);
      throw error;
    }
  }

  async #runPrepared(id: string, prepared: Prepared, options: RunOptions): Promise<RunOutcome> {
    const container = this.#containerOf(id, prepared);
    const child = container === null ? spawnPlain(this.#plainOf(prepared)) : await spawnContainer(container);
    const { code, cut } = await runChild(child, options, () => this.#kill(id, null, false));
    if (this.#filled.has(id)) return { reason: 'disk' };
    if (cut !== null) return { reason: cut };
    return outcomeOf(code, prepared.cgroup);
  }

  #containerOf(id: string, { plan, command }: Prepared): Container | null {
    const { host } = this.#place;
    const { oci } = host;
    return oci === null ? null : { id, host: { ...host, oci }, plan, command };
  }

  #plainOf({ plan, command }: Prepared): PlainProcess {
    return { init: this.#place.init, plan, command };
  }

  async #kill(id: string, process: DetachedProcess | null, byMark: boolean): Promise<void> {
    await this.#processes.kill(id, process, byMark);
    const { oci, cgroups } = this.#place.host;
    // Without a cgroup, `kill` does not find a container whose command has not started.
    if (oci !== null && cgroups === null) await endUnstarted(oci.runtime, this.#scratchOf(id), id);
  }

  async #end(id: string, process: DetachedProcess | null, byMark = true): Promise<void> {
    await this.#kill(id, process, byMark);
    await this.#discard(id);
  }

  #discardSoon(id: string, after: Promise<unknown> = Promise.resolve()): void {
    const discarding = after
      .then(() => this.#discard(id))
      .catch((error: unknown) => {
        this.#place.log.warn({ err: error, id }, `a sandbox stays until the next sweep: ${errorMessage(error)}`);
      })
      .finally(() => {
        this.#discarding.delete(id);
        this.#running.delete(id);
      });
    this.#discarding.set(id, discarding);
  }

  async #discard(id: string): Promise<void> {
    await this.allNetworks?.release(id);
    const { cgroups } = this.#place.host;
    if (cgroups !== null) await removeCgroup(cgroups, id);
    await discardTree(this.#place, this.#scratchOf(id));
  }

  #scratchOf(id: string): string {
    return join(scratchRoot(this.#place.dataDir), id);
  }
}
