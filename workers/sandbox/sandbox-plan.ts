import { basename, dirname, isAbsolute, join, relative } from 'node:path';
import type { ImageProcess } from '../../shared/images/model.js';
import type { Attachment } from '../network/network-model.js';
import type { OciHost } from './oci/oci-model.js';
import { hasMounts, hasUsers, type SandboxLevel, type SandboxLimits } from './sandbox.js';
import { INIT, LOADER, RECORDER } from './sandbox-scripts.js';

/** The command's folder appears below this path inside the namespaces. Absolute paths that a build wrote stay valid at run time. */
export const INSIDE = '/mnt';
export const APP_PATH = `${INSIDE}/app`;
export const HOME_PATH = `${INSIDE}/home`;
/** The folders above the platform's own programs, if they are hidden: node, node1, … */
export function ownName(index: number): string {
  return index === 0 ? 'node' : `node${index}`;
}
export const TOOLS_PATH = `${INSIDE}/tools`;

/** Folders of the host with secrets, sockets or files of other users. */
const HIDDEN = ['/root', '/home', '/run', '/var/run', '/var/log', '/var/backups'];
/** Files and folders of the kernel with figures of the host or of other sandboxes. Nothing is at those that the kernel does not have. */
export const MASKED = [
  ...[
    'acpi',
    'asound',
    'interrupts',
    'kcore',
    'key-users',
    'keys',
    'latency_stats',
    'sched_debug',
    'scsi',
    'timer_list',
  ].map((name) => `/proc/${name}`),
  ...['class/net', 'devices/virtual/net', 'devices/virtual/powercap', 'firmware', 'fs/cgroup', 'kernel/slab'].map(
    (name) => `/sys/${name}`,
  ),
];
/** How many files `/dev/shm` may hold; their memory counts for the plan. */
export const SHARED_FILES = 65_536;
/** Possible places of the stage: the mounts are made there before anything is hidden. */
const STAGES = [INSIDE, '/media', '/srv', '/opt'];
export const OPEN_FILES = 16_384;
/** Address space that Node.js reserves for code from version 24 on. `RLIMIT_DATA` counts it although no memory stands behind it. */
const V8_RESERVED_MB = 512;
/** The folders of the host's programs. */
export const USUAL_PATH = ['/usr/local/sbin', '/usr/local/bin', '/usr/sbin', '/usr/bin', '/sbin', '/bin'];

/** What the host offers. It is found once at start. */
export interface Host {
  level: SandboxLevel;
  /** True if an image can be mounted below a writable layer; otherwise it is copied. */
  overlay: boolean;
  tools: { setsid: boolean; prlimit: boolean };
  /** Arguments before a command that make the kernel refuse it dangerous system calls; empty if that does not work here. */
  filter: readonly string[];
  /** Arguments before mount operations that make all of them in one process; empty if the init has to make them. */
  mounter: readonly string[];
  /** The folders of the `node` that runs the platform and of npm. They are first in the PATH of commands. */
  ownFolders: readonly string[];
  /** Real folders of the host that no command may see. */
  hidden: string[];
  /** What commands run in as OCI containers; null if the programs of this folder make their sandbox. */
  oci: OciHost | null;
}

/** One sandbox with all its paths. */
export interface Plan {
  marker: string;
  uid: number;
  directory: string;
  image: string | null;
  /** Private folder of this sandbox, with `home`, `tmp`, `passwd` and `group`. */
  scratch: string;
  writable: string[];
  tools: readonly string[];
  limits: SandboxLimits;
  /** The cgroup.procs files to join; empty without control groups. */
  procsFiles: string[];
  /** The sandbox must not outlive the worker. */
  tied: boolean;
  /** Its own network, if it has one. */
  network?: Attachment | null;
  /** What it has in place of the host's system and an ordinary user of the host; null if nothing. Needs OCI containers. */
  mapped: MappedRoot | null;
}

/**
 * A root that is not the host's, in a user namespace. `firstUser` of the host stands for its user 0. Without a `process` it is the host's
 * system for the programs that unpack and build images.
 */
export interface MappedRoot {
  firstUser: number;
  process: ImageProcess | null;
}

/** The folders that exist and must be hidden: outermost first, none below another, never the root. */
export function hiddenFolders(existing: readonly string[], own: readonly string[]): string[] {
  const wanted = [...new Set([...HIDDEN.filter((path) => existing.includes(path)), ...own])].filter((p) => p !== '/');
  wanted.sort((a, b) => a.length - b.length || (a < b ? -1 : 1));
  return wanted.filter((path, i) => !wanted.slice(0, i).some((outer) => isBelow(path, outer)));
}

export const HIDE_CANDIDATES: readonly string[] = HIDDEN;

/** The folders above the platform's own that are hidden from commands and have to be mounted. */
export function hiddenOwn({ ownFolders, hidden, oci }: Host): string[] {
  const covers = [...hidden, INSIDE, '/tmp', '/var/tmp'];
  const isSeen = (folder: string) => oci === null || oci.system.some((path) => isBelow(folder, path));
  const isHidden = (folder: string) => !isSeen(folder) || covers.some((path) => isBelow(folder, path));
  return ownFolders.filter(isHidden).map((folder) => dirname(folder));
}

/** The path at which a command sees the folder of a tool. With mounts of its own it is the same for builds and replicas. */
function toolPath(host: Pick<Host, 'level'>, folder: string): string {
  return hasMounts(host.level) ? `${TOOLS_PATH}/${basename(folder)}` : folder;
}

/** PATH of a command: first its tools, then the platform's own Node, then the usual folders. */
export function searchPath(host: Host, tools: readonly string[] = []): string {
  const mounted = hasMounts(host.level) ? hiddenOwn(host) : [];
  const own = host.ownFolders.map((folder) => {
    const index = mounted.indexOf(dirname(folder));
    return index < 0 ? folder : `${INSIDE}/${ownName(index)}/${basename(folder)}`;
  });
  const bins = tools.map((folder) => `${toolPath(host, folder)}/bin`);
  return [...new Set([...bins, ...own, ...USUAL_PATH])].join(':');
}

/** The argument vector of a sandbox that ends with its command. */
export function sandboxArguments(host: Host, plan: Plan): string[] {
  return [...networkArguments(plan), ...withoutNetwork(host, plan)];
}

/** Arguments before a command that let it join the sandbox's network. The process stays the same. */
function networkArguments({ network }: Plan): string[] {
  return [...(network?.join ?? [])];
}

function withoutNetwork(host: Host, plan: Plan): string[] {
  const init = ['/bin/sh', '-c', INIT, 'sandbox-init', host.tools.setsid ? 'setsid' : 'same'];
  const command = ['--', ...plan.procsFiles, '--', ...commandArguments(host, plan)];
  if (!hasMounts(host.level)) return [...init, ...command];
  const mounts = mountOperations(host, plan);
  const inner =
    host.mounter.length > 0
      ? [...host.mounter, ...mounts, '--', ...init, ...command]
      : [...init, ...mounts, ...command];
  // An ordinary user may make mounts only as the root of a user namespace. The command itself gets the user back.
  const asRoot = host.level === 'rootless' ? ['--user', '--map-root-user'] : [];
  const unshare = [
    'unshare',
    ...asRoot,
    '--mount',
    '--pid',
    '--ipc',
    '--propagation',
    'private',
    '--fork',
    '--kill-child=KILL',
  ];
  return [...(plan.tied ? ['setpriv', '--pdeathsig', 'KILL'] : []), ...unshare, ...inner];
}

/** The argument vector of a detached sandbox: a shell outlives the command and records how it ended. */
export function detachedArguments(host: Host, plan: Plan, exitFile: string, oomFile: string): string[] {
  // The recorder is in the network too, so that its process shows the sockets of the network.
  const recorder = ['/bin/sh', '-c', RECORDER, 'sandbox-recorder', exitFile, oomFile];
  return [...networkArguments(plan), ...recorder, ...withoutNetwork(host, plan)];
}

/** The part from the init to the loader: a session of its own, limits, then no privileges and no way to get any. */
export function commandArguments(host: Host, plan: Plan): string[] {
  return [
    ...(host.tools.setsid ? ['setsid'] : []),
    ...(host.tools.prlimit ? ['prlimit', ...resourceLimits(host, plan), '--'] : []),
    ...(host.level === 'none' ? [] : [...withoutPrivileges(host, plan.uid), ...host.filter]),
    '/bin/sh',
    '-c',
    LOADER,
    'sandbox',
  ];
}

/** Arguments before a command that make it run as this user, without privileges and without a way to get any. */
export function withoutPrivileges({ level }: Pick<Host, 'level'>, uid: number): string[] {
  if (level === 'rootless') {
    return ['unshare', '--user', `--map-user=${uid}`, `--map-group=${uid}`, 'setpriv', '--no-new-privs', '--'];
  }
  const user = [`--reuid=${uid}`, `--regid=${uid}`, '--clear-groups'];
  return ['setpriv', ...user, '--no-new-privs', '--bounding-set=-all', '--inh-caps=-all', '--'];
}

function resourceLimits(host: Host, plan: Plan): string[] {
  const { limits } = plan;
  const found = ['--core=0'];
  if (hasUsers(host.level)) found.push(`--nofile=${OPEN_FILES}`);
  if (limits.fileSizeMb !== undefined) found.push(`--fsize=${limits.fileSizeMb * 1024 * 1024}`);
  if (plan.procsFiles.length > 0) return found;
  // Without control groups the kernel limits memory per process, and processes per user. A service's user may run several
  // replicas and a build at once; without such a user the command shares the count with the platform's own processes.
  found.push(`--data=${(limits.memoryMb + V8_RESERVED_MB) * 1024 * 1024}`);
  found.push(`--nproc=${hasUsers(host.level) ? 8 * limits.pids : 4096 + limits.pids}`);
  return found;
}

/** The init's mounts in order: everything that is needed onto a stage, then what hides, then what goes over that. */
export function mountOperations(host: Host, plan: Plan): string[] {
  const own = hiddenOwn(host);
  const { scratch, directory, image, writable, tools } = plan;
  const sources = [directory, scratch, ...writable, ...tools, ...(image === null ? [] : [image]), ...own];
  // Folders below the final place are covered by it.
  const hidden = host.hidden.filter((path) => !isBelow(path, INSIDE));
  // The init joins its control groups after the mounts, and programs read there how much memory they have.
  const groups = plan.procsFiles
    .map((file) => dirname(file))
    .filter((path) => MASKED.some((mask) => isBelow(path, mask)));
  const stage = STAGES.find((path) => !sources.some((source) => isBelow(source, path))) ?? INSIDE;
  const content =
    image === null
      ? ['bind', directory, `${stage}/app`]
      : ['overlay', stage, image, directory, `${stage}/app`, 'own', `${plan.uid}:${plan.uid}`, `${stage}/app`];
  return [
    'stage',
    stage,
    'resolver',
    stage,
    ...content,
    ...['bind', `${scratch}/home`, `${stage}/home`, 'bind', `${scratch}/tmp`, `${stage}/tmp`],
    ...own.flatMap((path, i) => ['readonly', path, `${stage}/${ownName(i)}`]),
    ...tools.flatMap((path) => ['readonly', path, `${stage}/tools/${basename(path)}`]),
    ...writable.flatMap((path, i) => ['bind', path, `${stage}/writable/${i}`]),
    ...groups.flatMap((path, i) => ['bind', path, `${stage}/groups/${i}`]),
    ...['file', `${scratch}/passwd`, '/etc/passwd', 'file', `${scratch}/group`, '/etc/group'],
    ...(plan.network ? ['names', plan.network.hostsFile, plan.network.resolvFile ?? '', stage] : []),
    ...(stage === INSIDE ? [] : ['tree', stage, INSIDE]),
    ...[...hidden, ...(stage === INSIDE ? [] : [stage])].flatMap((path) => ['hide', path]),
    ...['restore-resolver', INSIDE],
    ...['bind', `${INSIDE}/tmp`, '/tmp', 'bind', `${INSIDE}/tmp`, '/var/tmp', 'devices', INSIDE],
    ...['shm', `mode=1777,size=${plan.limits.memoryMb}m,nr_inodes=${SHARED_FILES}`, 'terminals'],
    ...writable.flatMap((path, i) => ['bind', `${INSIDE}/writable/${i}`, path]),
    ...['proc', ...MASKED.flatMap((path) => ['mask', path])],
    ...groups.flatMap((path, i) => ['bind', `${INSIDE}/groups/${i}`, path]),
  ];
}

/** True if `path` is `folder` or lies in it. */
export function isBelow(path: string, folder: string): boolean {
  const way = relative(folder, path);
  return way === '' || (!way.startsWith('..') && !isAbsolute(way));
}

/** Joins the paths. Throws if the result is outside of the folder. */
export function joinBelow(folder: string, path: string): string {
  const joined = join(folder, path);
  if (!isBelow(joined, folder)) throw new Error(`"${path}" leads out of its folder`);
  return joined;
}
