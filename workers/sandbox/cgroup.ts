import { randomUUID } from 'node:crypto';
import { mkdir, readdir, readFile, rmdir, writeFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { errorMessage } from '../../shared/core/errors.js';
import type { ResourceUsage, SandboxLimits } from './sandbox.js';

/** The folders in which we make control groups: one for each hierarchy that we use. */
export interface CgroupRoots {
  version: 1 | 2;
  /** Version 1: a folder per controller. Version 2: the same folder three times. */
  memory: string;
  pids: string;
  cpu: string;
  /** The folder in which processor time is counted; null if the host does not count it. */
  accounting: string | null;
  /** A folder in the version 2 hierarchy, to which rules for sockets are attached; null if the host has none. */
  sockets: string | null;
  /** The parent of the sandboxes' groups as `cgroupsPath` of an OCI container names it. */
  runtimePath: string;
  /** The folder in each hierarchy of the host: an OCI runtime makes a group in all of them. */
  all: readonly string[];
}

/** A control group that holds one sandbox. */
export interface Cgroup {
  /** A process that writes 0 into each of these joins. */
  procsFiles: string[];
  /** Has a line `oom_kill <count>`. */
  oomFile: string;
  /** Its folder in the version 2 hierarchy, or null. */
  sockets: string | null;
}

/** Prefix of the groups that are made only to try whether groups can be made. */
export const TRIAL = 'trial-';
export const CPU_PERIOD_US = 100_000;
/**
 * All hosted code together against everything else of the host: the platform answers while applications use every core. Of a quarter of
 * the usual weight, hosted code gets a fifth of a core that both want, and all of it otherwise.
 */
const CPU_WEIGHT = { 1: ['cpu.shares', '256'], 2: ['cpu.weight', '25'] } as const;
const CONTROLLERS = ['memory', 'pids', 'cpu'] as const;

/**
 * Finds the hierarchies and tries them by making and removing a group. Returns null if none works, after a call of `explain`
 * with each reason. If the platform's own group may delegate controllers, ours are below it, so that its limits hold for
 * hosted processes as well.
 */
export async function detectCgroups(name: string, explain: (why: string) => void): Promise<CgroupRoots | null> {
  return firstUsable(await candidates(name), explain);
}

/** The first of the places in which a group can be made. A place that fails is left as it was. */
export async function firstUsable(places: CgroupRoots[], explain: (why: string) => void): Promise<CgroupRoots | null> {
  const reasons: string[] = [];
  for (const roots of places) {
    // The name is unique, because other workers of this host may start or sweep at the same time.
    const id = `${TRIAL}${randomUUID()}`;
    try {
      await prepareRoots(roots);
      const probe = await makeCgroup(roots, id, { memoryMb: 64, cpu: 0.5, pids: 16 });
      await readFile(probe.oomFile);
      await removeCgroup(roots, id);
      return roots;
    } catch (error) {
      reasons.push(errorMessage(error));
      // rmdir keeps a folder that others use, because it is not empty.
      for (const root of foldersOf(roots)) {
        await rmdir(join(root, id)).catch(() => undefined);
        await rmdir(root).catch(() => undefined);
      }
    }
  }
  for (const why of reasons) explain(why);
  return null;
}

async function candidates(name: string): Promise<CgroupRoots[]> {
  const mounts = (await readFile('/proc/self/mounts', 'utf8')).split('\n').map((line) => line.split(' '));
  const own = (await readFile('/proc/self/cgroup', 'utf8')).split('\n').map((line) => line.split(':'));
  const folderOf = ([, controllers = '', path = '']: string[]) => {
    const names = controllers.split(',').filter((controller) => controller !== '');
    const mount = mounts.find(([, , type, options = '']) => {
      return type === 'cgroup' && names.some((controller) => options.split(',').includes(controller));
    });
    return mount?.[1] === undefined ? null : join(mount[1], path, name);
  };
  const v1 = [...CONTROLLERS, 'cpuacct'].map((controller) => {
    const line = own.find(([, controllers]) => controllers?.split(',').includes(controller));
    return line === undefined ? null : folderOf(line);
  });
  const [memory, pids, cpu, accounting = null] = v1;
  const mount = mounts.find(([, , type]) => type === 'cgroup2')?.[1];
  const path = own.find(([id]) => id === '0')?.[2];
  if (memory && pids && cpu) {
    const all = own.map(folderOf).filter((folder) => folder !== null);
    // A runtime puts a group with a relative path below its own in each hierarchy, as we do.
    const roots = { version: 1 as const, memory, pids, cpu, runtimePath: name, all };
    const sockets = mount === undefined || path === undefined ? [] : [join(mount, path, name)];
    // Limits matter more than figures: a host may have a group for processor time that we cannot use.
    return [accounting, ...(accounting === null ? [] : [null])].flatMap((counted) =>
      [...sockets, null].map((folder) => ({ ...roots, accounting: counted, sockets: folder })),
    );
  }
  if (mount === undefined || path === undefined) return [];
  // Only the root group can both have processes and delegate controllers. Otherwise our group is beside the platform's.
  return [...new Set([join(mount, path, name), join(mount, name)])].map((folder) => {
    const runtimePath = `/${relative(mount, folder)}`;
    const same = { memory: folder, pids: folder, cpu: folder, accounting: folder, sockets: folder };
    return { version: 2, ...same, runtimePath, all: [] };
  });
}

async function prepareRoots(roots: CgroupRoots): Promise<void> {
  for (const root of foldersOf(roots)) await mkdir(root, { recursive: true });
  if (roots.version === 2) await delegate(roots);
  const [file, weight] = CPU_WEIGHT[roots.version];
  await writeFile(join(roots.cpu, file), weight, { flag: 'r+' });
}

/** Lets the groups of sandboxes have limits. */
async function delegate(roots: CgroupRoots): Promise<void> {
  for (const folder of [join(roots.memory, '..'), roots.memory]) {
    const control = join(folder, 'cgroup.subtree_control');
    const enabled = (await readFile(control, 'utf8')).split(/\s+/);
    if (!CONTROLLERS.every((c) => enabled.includes(c))) await writeFile(control, '+memory +pids +cpu');
  }
}

/** Makes the group of a sandbox with its limits. */
export async function makeCgroup(roots: CgroupRoots, id: string, limits: SandboxLimits): Promise<Cgroup> {
  const memory = join(roots.memory, id);
  const pids = join(roots.pids, id);
  const cpu = join(roots.cpu, id);
  const bytes = String(limits.memoryMb * 1024 * 1024);
  const quota = quotaOf(limits.cpu);
  for (const root of foldersOf(roots)) await mkdir(join(root, id), { recursive: true });
  await writeFile(join(pids, 'pids.max'), String(limits.pids));
  if (roots.version === 1) {
    await writeFile(join(memory, 'memory.limit_in_bytes'), bytes);
    // The file is absent if the kernel does not account swap.
    await writeFile(join(memory, 'memory.memsw.limit_in_bytes'), bytes, { flag: 'r+' }).catch(() => undefined);
    await limitSockets(memory, bytes);
    await writeFile(join(cpu, 'cpu.cfs_period_us'), String(CPU_PERIOD_US));
    await writeFile(join(cpu, 'cpu.cfs_quota_us'), String(quota));
  } else {
    await writeFile(join(memory, 'memory.max'), bytes);
    await writeFile(join(memory, 'memory.swap.max'), '0', { flag: 'r+' }).catch(() => undefined);
    await writeFile(join(cpu, 'cpu.max'), `${quota} ${CPU_PERIOD_US}`);
  }
  return cgroupOf(roots, id);
}

/** Makes what an OCI runtime, which makes the rest of the group, does not. */
export async function prepareCgroup(roots: CgroupRoots, id: string, { memoryMb }: SandboxLimits): Promise<Cgroup> {
  const cgroup = cgroupOf(roots, id);
  if (cgroup.sockets !== null) await mkdir(cgroup.sockets, { recursive: true });
  if (roots.version === 1) {
    const memory = join(roots.memory, id);
    await mkdir(memory, { recursive: true });
    await limitSockets(memory, String(memoryMb * 1024 * 1024));
  }
  return cgroup;
}

/** Version 1 counts the memory of sockets apart, and only if it has a limit. */
async function limitSockets(folder: string, bytes: string): Promise<void> {
  const file = join(folder, 'memory.kmem.tcp.limit_in_bytes');
  await writeFile(file, bytes, { flag: 'r+' }).catch(() => undefined);
}

function cgroupOf(roots: CgroupRoots, id: string): Cgroup {
  return {
    procsFiles: procsFilesOf(roots, id),
    oomFile: join(roots.memory, id, roots.version === 1 ? 'memory.oom_control' : 'memory.events'),
    sockets: roots.sockets === null ? null : join(roots.sockets, id),
  };
}

/** Changes how many cores a sandbox may use. Does nothing if it has no group any more. */
export async function limitCpu(roots: CgroupRoots, id: string, cpu: number): Promise<void> {
  const quota = quotaOf(cpu);
  const [file, text] =
    roots.version === 1 ? ['cpu.cfs_quota_us', String(quota)] : ['cpu.max', `${quota} ${CPU_PERIOD_US}`];
  await writeFile(join(roots.cpu, id, file), text, { flag: 'r+' }).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT' && error.code !== 'ENODEV') throw error;
  });
}

/** The processor time of this many cores in one period, in microseconds. */
export function quotaOf(cpu: number): number {
  return Math.max(1000, Math.round(cpu * CPU_PERIOD_US));
}

/** True if the kernel killed a process of the group because its memory was used up. */
export async function ranOutOfMemory(cgroup: Cgroup): Promise<boolean> {
  const text = await readFile(cgroup.oomFile, 'utf8');
  return Number(/^oom_kill (\d+)$/m.exec(text)?.[1] ?? 0) > 0;
}

/** The processes in a sandbox's group; empty if there is no such group. */
export async function cgroupMembers(roots: CgroupRoots, id: string): Promise<number[]> {
  const members = new Set<number>();
  for (const root of foldersOf(roots)) {
    const text = await readFile(join(root, id, 'cgroup.procs'), 'utf8').catch(() => '');
    for (const pid of text.split('\n')) if (pid !== '') members.add(Number(pid));
  }
  return [...members];
}

/** The files by which a process joins a sandbox's group. */
export function procsFilesOf(roots: CgroupRoots, id: string): string[] {
  return foldersOf(roots).map((root) => join(root, id, 'cgroup.procs'));
}

/** The sandboxes that have a group on this host. */
export async function listCgroups(roots: CgroupRoots): Promise<string[]> {
  const entries = await readdir(roots.memory, { withFileTypes: true });
  return entries.filter((entry) => entry.isDirectory() && !entry.name.startsWith(TRIAL)).map((entry) => entry.name);
}

/** Removes the group of a sandbox whose processes have ended. The kernel may need a moment to notice that. */
export async function removeCgroup(roots: CgroupRoots, id: string): Promise<void> {
  for (const root of new Set([...foldersOf(roots), ...roots.all])) {
    for (let attempt = 0; ; attempt++) {
      try {
        await rmdir(join(root, id));
        break;
      } catch (error) {
        const code = (error as NodeJS.ErrnoException).code;
        if (code === 'ENOENT') break;
        if (code !== 'EBUSY' || attempt >= 100) throw error;
        await sleep(10);
      }
    }
  }
}

function foldersOf({ memory, pids, cpu, accounting, sockets }: CgroupRoots): string[] {
  return [...new Set([memory, pids, cpu, accounting, sockets].filter((folder) => folder !== null))];
}

/** What the processes of a sandbox use; null if it has no group, or its host does not count processor time. */
export async function usageOf(roots: CgroupRoots, id: string): Promise<ResourceUsage | null> {
  if (roots.accounting === null) return null;
  const v1 = roots.version === 1;
  try {
    const [time, used, details] = await Promise.all([
      readFile(join(roots.accounting, id, v1 ? 'cpuacct.usage' : 'cpu.stat'), 'utf8'),
      readFile(join(roots.memory, id, v1 ? 'memory.usage_in_bytes' : 'memory.current'), 'utf8'),
      readFile(join(roots.memory, id, 'memory.stat'), 'utf8'),
    ]);
    const cpuSeconds = v1 ? Number(time) / 1e9 : figureOf(time, 'usage_usec') / 1e6;
    const cached = figureOf(details, v1 ? 'total_inactive_file' : 'inactive_file');
    return { cpuSeconds, memoryBytes: Math.max(0, Number(used) - cached) };
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code;
    // It has ended, ends just now, or was made by a version that did not count.
    if (code === 'ENOENT' || code === 'ENODEV') return null;
    throw error;
  }
}

function figureOf(text: string, name: string): number {
  return Number(new RegExp(`^${name} (\\d+)$`, 'm').exec(text)?.[1] ?? 0);
}
