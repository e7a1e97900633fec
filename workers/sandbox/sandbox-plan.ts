import { basename, dirname, isAbsolute, join, relative } from 'node:path';
import type { ImageProcess } from '../../shared/images/model.js';
import type { Attachment } from '../network/network-model.js';
import type { ContainerKind } from './capabilities.js';
import type { CgroupRoots } from './cgroup.js';
import type { SandboxLevel, SandboxLimits, SandboxSpec, SandboxVolume } from './sandbox.js';
import type { Seccomp } from './seccomp.js';

/** The path is the same in every container, so that absolute paths from a build stay valid at run time. */
export const INSIDE = '/mnt';
export const APP_PATH = `${INSIDE}/app`;
export const HOME_PATH = `${INSIDE}/home`;
export const TOOLS_PATH = `${INSIDE}/tools`;
export const INIT_PATH = '/.init';
/** The program that sets a command's variables in a rootless container. */
export const VARIABLES_PATH = '/.variables';
/** This folder contains aliases of programs, such as `python`. It is the last folder in a container's PATH. */
export const OTHER_NAMES_PATH = '/.bin';
/**
 * Where the root of a container with mapped users is mounted, in a separate mount namespace. The mapped users must be
 * able to traverse this path of the host.
 */
export const MAPPED_ROOT = '/media';
/** Returns the name for a folder of the platform's own programs in a container. */
export function ownName(index: number): string {
  return index === 0 ? 'node' : `node${index}`;
}

/** Folders of the host with secrets, sockets or other users' files. */
export const HIDE_CANDIDATES: readonly string[] = [
  ...['/root', '/home', '/run', '/var/run', '/var/log', '/var/backups'],
];
/**
 * The command cannot write to folders of dependencies and of git: changing the owner of their thousands of files would
 * delay every start.
 */
export const NOT_OWNED = ['node_modules', '.venv', 'venv', 'vendor', '.git'];
export const OPEN_FILES = 16_384;
/** Node.js 24 and later reserve this much address space for code. `RLIMIT_DATA` counts it although it is unused. */
const V8_RESERVED_MB = 512;
export const USUAL_PATH = ['/usr/local/sbin', '/usr/local/bin', '/usr/sbin', '/usr/bin', '/sbin', '/bin'];

export interface ContainerHost {
  /** The paths of the OCI runtime and of conmon, which outlives the worker and records the exit code. */
  runtime: string;
  conmon: string;
  /** The root of containers: an empty folder with mount points. */
  rootfs: string;
  record: string;
  /** The paths of the scripts `MOUNT_VOLUMES` and `ENTER`. */
  mountVolumes: string;
  enter: string;
  /** The host's folders that containers see, with symlinks resolved. */
  system: readonly string[];
  hasImageTools: boolean;
  seccomp: Record<ContainerKind, Seccomp> | null;
  overlayOptions: readonly string[];
  limitsSwap: boolean;
  /** The file with the host's DNS servers. */
  resolver: string | null;
  /** True if the host has an /etc/hosts, over which a sandbox's own file is mounted. */
  hasHosts: boolean;
}

export type ContainedHost = Host & { oci: ContainerHost };

export interface Host {
  level: SandboxLevel;
  /** False if images must be copied, because they cannot be mounted below a writable layer. */
  overlay: boolean;
  /** The folders of the platform's `node` and npm. */
  ownFolders: readonly string[];
  /** The host's folders that no command may see, with symlinks resolved. */
  hidden: readonly string[];
  oci: ContainerHost | null;
  cgroups: CgroupRoots | null;
}

export interface Place {
  /** The user of the host that owns the command's files and, except in an image, runs the command. */
  uid: number;
  directory: string;
  image: string | null;
  /** This sandbox's private folder, with `home`, `tmp`, `passwd` and `group`. */
  scratch: string;
  network?: Attachment | null;
}

export interface Plan extends Place {
  marker: string;
  writable: string[];
  volumes: readonly SandboxVolume[];
  tools: readonly string[];
  limits: SandboxLimits;
  /** True if the sandbox must not outlive the worker. */
  tied: boolean;
  /** Null if the container uses the root and users of the host. */
  mapped: MappedRoot | null;
}

/**
 * The host's user `firstUser` is user 0 in the container. If `process` is null, the container runs the tools that
 * unpack and build images, and the root shows the host's file system.
 */
interface MappedRoot {
  firstUser: number;
  process: ImageProcess | null;
}

/** A mount in the format of the OCI runtime specification. */
export interface Mount {
  destination: string;
  type: string;
  source: string;
  options: string[];
}

export type HostedCommand = Pick<SandboxSpec, 'cwd' | 'env' | 'command'>;

/** Returns the folders to hide, shorter paths first. No folder in the result is inside another one. */
export function hiddenFolders(existing: readonly string[], own: readonly string[]): string[] {
  const candidates = HIDE_CANDIDATES.filter((path) => existing.includes(path));
  const wanted = [...new Set([...candidates, ...own])].filter((path) => path !== '/');
  wanted.sort((a, b) => a.length - b.length || (a < b ? -1 : 1));
  return wanted.filter((path, i) => !wanted.slice(0, i).some((outer) => isBelow(path, outer)));
}

/** Returns the folders to mount so that a container sees the platform's `node` and npm. */
export function hiddenOwn({ ownFolders, hidden, oci }: Host): string[] {
  if (oci === null) return [];
  const covers = [...hidden, INSIDE, '/tmp', '/var/tmp'];
  const isHidden = (folder: string) =>
    !oci.system.some((path) => isBelow(folder, path)) || covers.some((path) => isBelow(folder, path));
  return ownFolders.filter(isHidden).map((folder) => dirname(folder));
}

/** Returns the PATH of a command: its tools, the platform's own Node.js, then the usual folders. */
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
 * Returns the resource limits of each process. Without cgroups, the kernel limits memory per process and counts
 * processes per user. `of` tells whose processes the kernel counts.
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

/** Returns arguments to put before a command so that it runs as this user and cannot gain privileges. */
export function withoutPrivileges({ level }: Pick<Host, 'level'>, uid: number): string[] {
  if (level === 'rootless') return asOrdinaryUser(uid);
  const user = [`--reuid=${uid}`, `--regid=${uid}`, '--clear-groups'];
  return ['setpriv', ...user, '--no-new-privs', '--bounding-set=-all', '--inh-caps=-all', '--'];
}

/** Returns arguments to put before a command so that it runs unprivileged in a new user namespace. */
export function asOrdinaryUser(uid: number): string[] {
  const namespace = ['unshare', '--user', `--map-user=${uid}`, `--map-group=${uid}`, '--keep-caps'];
  const drop = ['--no-new-privs', '--ambient-caps=-all', '--bounding-set=-all', '--inh-caps=-all'];
  return [...namespace, 'setpriv', ...drop, '--'];
}

/** Throws if the variable cannot be passed to a program. */
export function assertVariable(name: string, value: string): void {
  if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(name)) throw new Error(`"${name}" is not a name that a variable can have`);
  if (value.includes('\0')) throw new Error(`The variable ${name} contains a NUL character`);
}

/** Returns true if `path` is `folder` itself or inside it. */
export function isBelow(path: string, folder: string): boolean {
  const way = relative(folder, path);
  return way !== '..' && !way.startsWith('../') && !isAbsolute(way);
}

/** Joins the paths. Throws if the result is outside the folder. */
export function joinBelow(folder: string, path: string): string {
  const joined = join(folder, path);
  if (!isBelow(joined, folder)) throw new Error(`"${path}" leads out of its folder`);
  return joined;
}
