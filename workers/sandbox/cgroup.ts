import { randomUUID } from 'node:crypto';
import { mkdir, readdir, readFile, rmdir, writeFile } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { errorMessage } from '../../shared/core/error-registry.js';
import { exists } from '../../shared/core/exists.js';
import type { ResourceUsage, SandboxLimits } from './sandbox.js';

export interface CgroupRoots {
  version: 1 | 2;
  /** The folder for the memory controller. With cgroup version 2, `cpu` is the same folder. */
  memory: string;
  cpu: string;
  /** Null if the host does not account CPU time. */
  accounting: string | null;
  /** A cgroup folder for attaching BPF programs for sockets; null if the host has no version 2 hierarchy. */
  sockets: string | null;
  /**
   * The most cores that a container may be given. With version 1, the kernel refuses a container's quota that is above
   * the platform's own; with version 2, it does not.
   */
  maxCpu: number;
  /** The folders in all hierarchies of the host, because an OCI runtime creates a cgroup in each of them. */
  all: readonly string[];
  /** The parent of the containers' cgroups, in the format of `linux.cgroupsPath` in an OCI configuration. */
  runtimePath: string;
}

export interface Cgroup {
  /** A file of the kernel with the line `oom_kill <count>`. */
  oomFile: string;
  /** The folder in the version 2 hierarchy; null if the host has no such hierarchy. */
  sockets: string | null;
}

/** Name prefix of cgroups that are created only to find out whether cgroups work. */
export const TRIAL = 'trial-';
export const CPU_PERIOD_US = 100_000;
/**
 * CPU weight of all hosted code together. With a quarter of the default weight, hosted code gets a fifth of a core that
 * the platform also wants, and all of an idle one.
 */
const CPU_WEIGHT = { 1: ['cpu.shares', '256'], 2: ['cpu.weight', '25'] } as const;
const MEMORY_LIMIT = { 1: 'memory.limit_in_bytes', 2: 'memory.max' } as const;
const SWAP_LIMIT = { 1: 'memory.memsw.limit_in_bytes', 2: 'memory.swap.max' } as const;
const CONTROLLERS = ['memory', 'pids', 'cpu'] as const;

/** Finds a usable cgroup hierarchy. Returns null if none works, after calling `explain` with each reason. */
export async function detectCgroups(name: string, explain: (why: string) => void): Promise<CgroupRoots | null> {
  return firstUsable(await candidates(name), explain);
}

/** Returns the first candidate in which a cgroup can be created. */
export async function firstUsable(places: CgroupRoots[], explain: (why: string) => void): Promise<CgroupRoots | null> {
  const reasons: string[] = [];
  for (const place of places) {
    // Other workers on this host may create trial cgroups at the same time.
    const id = `${TRIAL}${randomUUID()}`;
    try {
      const roots = await prepareRoots(place);
      const trial = join(roots.memory, id);
      await mkdir(trial);
      await writeFile(join(trial, MEMORY_LIMIT[roots.version]), String(64 * 1024 ** 2), { flag: 'r+' });
      await rmdir(trial);
      return roots;
    } catch (error) {
      reasons.push(errorMessage(error));
      // rmdir only removes empty folders, so a folder with other cgroups stays.
      for (const folder of [join(place.memory, id), ...foldersOf(place)]) await rmdir(folder).catch(() => undefined);
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
  const [memory, pids, cpu, accounting = null] = [...CONTROLLERS, 'cpuacct'].map((controller) => {
    const line = own.find(([, controllers]) => controllers?.split(',').includes(controller));
    return line === undefined ? null : folderOf(line);
  });
  const mount = mounts.find(([, , type]) => type === 'cgroup2')?.[1];
  const path = own.find(([id]) => id === '0')?.[2];
  if (memory && pids && cpu) {
    const all = own.map(folderOf).filter((folder) => folder !== null);
    const sockets = mount === undefined || path === undefined ? null : join(mount, path, name);
    // A relative `runtimePath` lets the OCI runtime create the cgroup below the runtime's own cgroup in each hierarchy.
    const maxCpu = await coresAllowedTo(dirname(cpu));
    return [{ version: 1, memory, cpu, accounting, sockets, maxCpu, all, runtimePath: name }];
  }
  if (mount === undefined || path === undefined) return [];
  // Only the root cgroup can both contain processes and delegate controllers. So if the platform runs in another
  // cgroup, the containers' cgroups must be in its parent or in the root.
  const parents = new Set([join(mount, path), dirname(join(mount, path)), mount]);
  return [...parents]
    .filter((parent) => !relative(mount, parent).startsWith('..'))
    .map((parent) => {
      const folder = join(parent, name);
      const same = { memory: folder, cpu: folder, accounting: folder, sockets: folder };
      return {
        version: 2,
        ...same,
        maxCpu: Number.POSITIVE_INFINITY,
        all: [folder],
        runtimePath: `/${relative(mount, folder)}`,
      };
    });
}

/** Returns the smallest CPU quota of a version 1 cgroup and the cgroups above it, in cores. */
async function coresAllowedTo(folder: string): Promise<number> {
  const read = async (file: string) => Number(await readFile(join(folder, file), 'utf8').catch(() => Number.NaN));
  const cores = (await read('cpu.cfs_quota_us')) / (await read('cpu.cfs_period_us'));
  const own = cores > 0 ? cores : Number.POSITIVE_INFINITY;
  return folder === dirname(folder) ? own : Math.min(own, await coresAllowedTo(dirname(folder)));
}

async function prepareRoots(place: CgroupRoots): Promise<CgroupRoots> {
  const made = (folder: string) => mkdir(folder, { recursive: true }).then(() => folder);
  const ifPossible = async (folder: string | null) => (folder === null ? null : made(folder).catch(() => null));
  for (const folder of [place.memory, place.cpu]) await made(folder);
  if (place.version === 2) await delegate(place.memory);
  const [file, weight] = CPU_WEIGHT[place.version];
  await writeFile(join(place.cpu, file), weight, { flag: 'r+' });
  const [accounting, sockets] = await Promise.all([place.accounting, place.sockets].map(ifPossible));
  return { ...place, accounting: accounting ?? null, sockets: sockets ?? null };
}

async function delegate(folder: string): Promise<void> {
  for (const parent of [dirname(folder), folder]) {
    const control = join(parent, 'cgroup.subtree_control');
    const enabled = (await readFile(control, 'utf8')).split(/\s+/);
    if (!CONTROLLERS.every((c) => enabled.includes(c))) await writeFile(control, '+memory +pids +cpu');
  }
}

/** Returns true if the kernel can limit swap. */
export function limitsSwap({ version, memory }: CgroupRoots): Promise<boolean> {
  return exists(join(memory, SWAP_LIMIT[version]));
}

/** Creates the parts of a cgroup that an OCI runtime does not create. */
export async function prepareCgroup(roots: CgroupRoots, id: string, { memoryMb }: SandboxLimits): Promise<Cgroup> {
  const sockets = roots.sockets === null ? null : join(roots.sockets, id);
  if (sockets !== null) await mkdir(sockets, { recursive: true });
  if (roots.version === 1) {
    const memory = join(roots.memory, id);
    await mkdir(memory, { recursive: true });
    // cgroup v1 accounts socket memory separately, and only if a limit is set.
    const file = join(memory, 'memory.kmem.tcp.limit_in_bytes');
    await writeFile(file, String(memoryMb * 1024 * 1024), { flag: 'r+' }).catch(() => undefined);
  }
  return { oomFile: join(roots.memory, id, roots.version === 1 ? 'memory.oom_control' : 'memory.events'), sockets };
}

/** Changes how many cores a sandbox may use. Does nothing if the sandbox has ended. */
export async function limitCpu(roots: CgroupRoots, id: string, cpu: number): Promise<void> {
  const quota = quotaOf(cpu, roots);
  const [file, text] =
    roots.version === 1 ? ['cpu.cfs_quota_us', String(quota)] : ['cpu.max', `${quota} ${CPU_PERIOD_US}`];
  await writeFile(join(roots.cpu, id, file), text, { flag: 'r+' }).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT' && error.code !== 'ENODEV') throw error;
  });
}

/** Returns the quota for this many cores, at most the platform's own. It is in microseconds per scheduling period. */
export function quotaOf(cpu: number, { maxCpu }: Pick<CgroupRoots, 'maxCpu'>): number {
  return Math.max(1000, Math.min(Math.round(cpu * CPU_PERIOD_US), Math.floor(maxCpu * CPU_PERIOD_US)));
}

/** Returns true if the OOM killer has killed a process of the cgroup. */
export async function ranOutOfMemory(cgroup: Cgroup): Promise<boolean> {
  return figureOf(await readFile(cgroup.oomFile, 'utf8'), 'oom_kill') > 0;
}

/** Returns the pids in a sandbox's cgroup and the cgroups below it; none if it has no cgroup. */
export async function cgroupMembers(roots: CgroupRoots, id: string): Promise<number[]> {
  const own = join(roots.memory, id);
  const texts = await Promise.all(
    [own, ...(await groupsIn(own))].map((folder) => readFile(join(folder, 'cgroup.procs'), 'utf8').catch(() => '')),
  );
  return texts
    .flatMap((text) => text.split('\n'))
    .filter((pid) => pid !== '')
    .map(Number);
}

async function groupsIn(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => []);
  return entries.filter((entry) => entry.isDirectory()).map(({ name }) => join(folder, name));
}

/** Creates a cgroup below a sandbox's own. `option` is the value for `runc exec --cgroup`. */
export async function makeInnerCgroup(roots: CgroupRoots, id: string, name: string) {
  const folder = join(roots.memory, id, name);
  await mkdir(folder);
  return { folder, option: roots.version === 1 ? `memory:${name}` : name };
}

/** Returns the `cgroup.procs` files to which a process is written to join a sandbox's cgroup. */
export function procsFilesOf(roots: CgroupRoots, id: string): string[] {
  return foldersOf(roots).map((root) => join(root, id, 'cgroup.procs'));
}

/** Returns the ids of the sandboxes that have a cgroup on this host. */
export async function listCgroups(roots: CgroupRoots): Promise<string[]> {
  const entries = await readdir(roots.memory, { withFileTypes: true });
  return entries.filter((entry) => entry.isDirectory() && !entry.name.startsWith(TRIAL)).map((entry) => entry.name);
}

/** Removes the cgroup of a sandbox. Retries while the kernel still counts exited processes as members. */
export async function removeCgroup(roots: CgroupRoots, id: string): Promise<void> {
  for (const root of foldersOf(roots)) {
    for (let attempt = 0; ; attempt++) {
      try {
        for (const inner of await groupsIn(join(root, id))) await rmdir(inner);
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

function foldersOf({ memory, cpu, accounting, sockets, all }: CgroupRoots): string[] {
  return [...new Set([memory, cpu, accounting, sockets, ...all].filter((folder) => folder !== null))];
}

/** Returns the resources that a sandbox uses; null if it has no cgroup, or if nothing is measured. */
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
    // The cgroup was removed, or its creator did not account CPU time.
    if (code === 'ENOENT' || code === 'ENODEV') return null;
    throw error;
  }
}

function figureOf(text: string, name: string): number {
  return Number(new RegExp(`^${name} (\\d+)$`, 'm').exec(text)?.[1] ?? 0);
}
