import { basename, dirname, isAbsolute, join, relative } from 'node:path';
import type { ImageProcess } from '../../shared/images/model.js';
import type { Attachment } from '../network/network-model.js';
import type { ContainerKind } from './capabilities.js';
import type { CgroupRoots } from './cgroup.js';
import type { SandboxLevel, SandboxLimits } from './sandbox.js';
import type { Seccomp } from './seccomp.js';

/** The command's folder appears below this path in a container. Absolute paths that a build wrote stay valid at run time. */
export const INSIDE = '/mnt';
export const APP_PATH = `${INSIDE}/app`;
export const HOME_PATH = `${INSIDE}/home`;
export const TOOLS_PATH = `${INSIDE}/tools`;
/** The path of the init in a container. */
export const INIT_PATH = '/.init';
/** The folder of names for programs that a host may have under another one. It is the last of a container's PATH. */
export const OTHER_NAMES_PATH = '/.bin';
/**
 * The root of a container with users of its own is mounted here before it starts. The mount is in a mount namespace of its own. The path is
 * one that those users may enter.
 */
export const MAPPED_ROOT = '/media';
/** Returns the folders above the platform's own programs, if they are hidden: node, node1, … */
export function ownName(index: number): string {
  return index === 0 ? 'node' : `node${index}`;
}

/** Folders of the host with secrets, sockets or files of other users. */
export const HIDE_CANDIDATES: readonly string[] = [
  ...['/root', '/home', '/run', '/var/run', '/var/log', '/var/backups'],
];
/** Dependencies are read only. To change the owner of their thousands of files would delay every start. */
export const NOT_OWNED = ['node_modules', '.venv', 'venv', 'vendor', '.git'];
const OPEN_FILES = 16_384;
/** Address space that Node.js reserves for code from version 24 on. `RLIMIT_DATA` counts it although no memory stands behind it. */
const V8_RESERVED_MB = 512;
/** The folders of the host's programs. */
export const USUAL_PATH = ['/usr/local/sbin', '/usr/local/bin', '/usr/sbin', '/usr/bin', '/sbin', '/bin'];

/** What this host has to run OCI containers with. */
export interface ContainerHost {
  /** Paths of the OCI runtime and of conmon, which outlives the worker and records the exit code. */
  runtime: string;
  conmon: string;
  /** The root of containers: an empty folder with places for the mounts. */
  rootfs: string;
  /** The program that records how a detached container ended. */
  record: string;
  /** The program that mounts the root of a container with users of its own and then starts it. */
  enter: string;
  /** Real folders of the host's system that containers see. */
  system: readonly string[];
  /** True if the programs that copy, unpack and build images are installed. */
  hasImageTools: boolean;
  seccomp: Record<ContainerKind, Seccomp> | null;
  overlayOptions: readonly string[];
  /** True if the kernel can limit swap. */
  limitsSwap: boolean;
  /** The file with the host's name servers; null if there is none. */
  resolver: string | null;
  /** True if the host has a file of names of its own, which a network can replace. */
  hasHosts: boolean;
}

/** A host that runs containers. */
export type ContainedHost = Host & { oci: ContainerHost };

/** What the host offers. It is found once at start. */
export interface Host {
  level: SandboxLevel;
  /** True if an image can be mounted below a writable layer; otherwise it is copied. */
  overlay: boolean;
  /** The folders of the `node` that runs the platform and of npm. They are first in the PATH of commands. */
  ownFolders: readonly string[];
  /** Real folders of the host that no command may see. */
  hidden: readonly string[];
  /** What containers are run with; null at level `none`. */
  oci: ContainerHost | null;
  /** Where containers have control groups; null if the host allows none. */
  cgroups: CgroupRoots | null;
}

/** One sandbox with all its paths. */
export interface Plan {
  marker: string;
  /** The user of this host that owns the command's files and, except in an image, runs it. */
  uid: number;
  directory: string;
  image: string | null;
  /** Private folder of this sandbox, with `home`, `tmp`, `passwd` and `group`. */
  scratch: string;
  writable: string[];
  tools: readonly string[];
  limits: SandboxLimits;
  /** The sandbox must not outlive the worker. */
  tied: boolean;
  /** Its own network, if it has one. */
  network?: Attachment | null;
  /** What it has in place of the host's system and an ordinary user of the host; null if nothing. */
  mapped: MappedRoot | null;
}

/**
 * A root that is not the host's, in a user namespace. `firstUser` of the host stands for its user 0. Without a `process` it is the host's
 * system for the programs that unpack and build images.
 */
interface MappedRoot {
  firstUser: number;
  process: ImageProcess | null;
}

/** A hosted command: its folder, its environment and its command line. */
export interface HostedCommand {
  cwd: string;
  env: Readonly<Record<string, string>>;
  command: string;
}

/** Returns the folders that exist and must be hidden: outermost first, none below another, never the root. */
export function hiddenFolders(existing: readonly string[], own: readonly string[]): string[] {
  const candidates = HIDE_CANDIDATES.filter((path) => existing.includes(path));
  const wanted = [...new Set([...candidates, ...own])].filter((path) => path !== '/');
  wanted.sort((a, b) => a.length - b.length || (a < b ? -1 : 1));
  return wanted.filter((path, i) => !wanted.slice(0, i).some((outer) => isBelow(path, outer)));
}

/** Returns the folders above the platform's own that a container does not show and that have to be mounted. */
export function hiddenOwn({ ownFolders, hidden, oci }: Host): string[] {
  if (oci === null) return [];
  const covers = [...hidden, INSIDE, '/tmp', '/var/tmp'];
  const isHidden = (folder: string) =>
    !oci.system.some((path) => isBelow(folder, path)) || covers.some((path) => isBelow(folder, path));
  return ownFolders.filter(isHidden).map((folder) => dirname(folder));
}

/** PATH of a command: first its tools, then the platform's own Node, then the usual folders. */
export function searchPath(host: Host, tools: readonly string[] = []): string {
  const mounted = hiddenOwn(host);
  const own = host.ownFolders.map((folder) => {
    const index = mounted.indexOf(dirname(folder));
    return index < 0 ? folder : `${INSIDE}/${ownName(index)}/${basename(folder)}`;
  });
  const bins = tools.map((folder) => (host.oci === null ? folder : `${TOOLS_PATH}/${basename(folder)}`));
  const last = host.oci === null ? [] : [OTHER_NAMES_PATH];
  return [...new Set([...bins.map((folder) => `${folder}/bin`), ...own, ...USUAL_PATH, ...last])].join(':');
}

/**
 * Returns the limits of each process. Without control groups the kernel limits memory per process, and counts processes
 * per user: in a user namespace since Linux 5.14 (`of: 'container'`), for a service, which may have several replicas
 * and a build at once, or for all that the platform's own user runs.
 */
export function resourceLimits(
  { limits }: Pick<Plan, 'limits'>,
  hasCgroup: boolean,
  of: 'container' | 'service' | 'all',
) {
  const found = [{ name: 'CORE', value: 0 }];
  if (of === 'service') found.push({ name: 'NOFILE', value: OPEN_FILES });
  if (limits.fileSizeMb !== undefined) found.push({ name: 'FSIZE', value: limits.fileSizeMb * 1024 ** 2 });
  if (hasCgroup) return found;
  found.push({ name: 'DATA', value: (limits.memoryMb + V8_RESERVED_MB) * 1024 ** 2 });
  const processes = { container: limits.pids, service: 8 * limits.pids, all: 4096 + limits.pids };
  found.push({ name: 'NPROC', value: processes[of] });
  return found;
}

/** Arguments before a command that make it run as this user, without privileges and without a way to get any. */
export function withoutPrivileges({ level }: Pick<Host, 'level'>, uid: number): string[] {
  if (level === 'rootless') return asOrdinaryUser(uid);
  const user = [`--reuid=${uid}`, `--regid=${uid}`, '--clear-groups'];
  return ['setpriv', ...user, '--no-new-privs', '--bounding-set=-all', '--inh-caps=-all', '--'];
}

/** Arguments before a command that give the root of a user namespace this number, in a namespace of its own, and take its privileges. */
export function asOrdinaryUser(uid: number): string[] {
  const namespace = ['unshare', '--user', `--map-user=${uid}`, `--map-group=${uid}`, '--keep-caps'];
  const drop = ['--no-new-privs', '--ambient-caps=-all', '--bounding-set=-all', '--inh-caps=-all'];
  return [...namespace, 'setpriv', ...drop, '--'];
}

/** Throws if a variable has a name or a value that cannot be passed to a program. */
export function assertVariable(name: string, value: string): void {
  if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(name)) throw new Error(`"${name}" is not a name that a variable can have`);
  if (value.includes('\0')) throw new Error(`The variable ${name} contains a NUL character`);
}

/** Returns true if `path` is `folder` or lies in it. */
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
