import { basename, join } from 'node:path';
import type { CgroupRoots } from '../cgroup.js';
import {
  HOME_PATH,
  type Host,
  hiddenOwn,
  INSIDE,
  isBelow,
  MASKED,
  OPEN_FILES,
  ownName,
  type Plan,
} from '../sandbox-plan.js';
import { INIT_PATH, type OciHost } from './oci-host.js';
import type { Seccomp } from './seccomp.js';

const CPU_PERIOD_US = 100_000;
/** How many files `/dev/shm` may hold; their memory counts for the plan. */
const SHARED_FILES = 65_536;
/** If the host's memory runs out, the kernel ends hosted code before the platform. */
const OOM_SCORE = 500;
const READ_ONLY = ['rbind', 'ro', 'nosuid', 'nodev', 'rprivate'];
const WRITABLE = ['rbind', 'rw', 'nosuid', 'nodev', 'rprivate'];
/** Dependencies are read only; to make thousands of files somebody's own would hold every start up. */
const NOT_OWNED = ['node_modules', '.venv', 'venv', 'vendor', '.git'];
const NO_CAPABILITIES = { bounding: [], effective: [], inheritable: [], permitted: [], ambient: [] };

interface Mount {
  destination: string;
  type: string;
  source: string;
  options: string[];
}

/** The parts of the OCI runtime specification that are used here. */
export interface ContainerConfig {
  ociVersion: string;
  root: { path: string; readonly: boolean };
  process: {
    terminal: boolean;
    user: { uid: number; gid: number };
    cwd: string;
    args: string[];
    env: string[];
    capabilities: typeof NO_CAPABILITIES;
    noNewPrivileges: boolean;
    oomScoreAdj: number;
    rlimits: { type: string; hard: number; soft: number }[];
  };
  mounts: Mount[];
  hooks: { createContainer: { path: string; args: string[]; env: string[] }[] };
  linux: {
    namespaces: { type: string }[];
    cgroupsPath?: string;
    resources: object;
    seccomp?: Seccomp;
    maskedPaths: string[];
    readonlyPaths: string[];
  };
}

/** A hosted command: its folder, its environment and its command line. */
export interface HostedCommand {
  cwd: string;
  env: Readonly<Record<string, string>>;
  command: string;
}

/**
 * The configuration of a container on the host's own system: the system's folders read only, the command's folder, no privileges.
 * It joins the network of the process that starts it. Throws if a variable has a name or a value that cannot be passed.
 */
export function containerConfig(
  host: Host & { oci: OciHost },
  plan: Plan,
  { cwd, env, command }: HostedCommand,
  groups: { roots: CgroupRoots; id: string } | null,
): ContainerConfig {
  const { oci } = host;
  const { uid, limits } = plan;
  const rlimits = [limit('RLIMIT_CORE', 0), limit('RLIMIT_NOFILE', OPEN_FILES)];
  if (limits.fileSizeMb !== undefined) rlimits.push(limit('RLIMIT_FSIZE', limits.fileSizeMb * 1024 * 1024));
  return {
    ociVersion: '1.0.2',
    root: { path: oci.rootfs, readonly: true },
    process: {
      terminal: false,
      user: { uid, gid: uid },
      cwd: '/',
      args: ['/bin/sh', INIT_PATH, plan.tied ? 'tied' : 'free', cwd, '/bin/sh', '-c', command],
      env: Object.entries(env).map(variable),
      capabilities: NO_CAPABILITIES,
      noNewPrivileges: true,
      oomScoreAdj: OOM_SCORE,
      rlimits,
    },
    mounts: mountsOf(host, plan),
    hooks: { createContainer: plan.image === null ? [] : [ownHook(oci, uid)] },
    linux: {
      namespaces: ['pid', 'ipc', 'mount', 'cgroup'].map((type) => ({ type })),
      ...(groups === null ? {} : { cgroupsPath: join(groups.roots.runtimePath, groups.id) }),
      resources: resourcesOf(oci, plan),
      ...(oci.seccomp === null ? {} : { seccomp: oci.seccomp }),
      maskedPaths: [...MASKED],
      readonlyPaths: ['bus', 'fs', 'irq', 'sys', 'sysrq-trigger'].map((name) => `/proc/${name}`),
    },
  };
}

function variable([name, value]: [string, string]): string {
  if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(name)) throw new Error(`"${name}" is not a name that a variable can have`);
  if (value.includes('\0')) throw new Error(`The variable ${name} contains a NUL character`);
  return `${name}=${value}`;
}

function limit(type: string, value: number) {
  return { type, hard: value, soft: value };
}

function resourcesOf({ limitsSwap }: OciHost, { limits }: Plan): object {
  const bytes = limits.memoryMb * 1024 * 1024;
  return {
    devices: [{ allow: false, access: 'rwm' }],
    memory: { limit: bytes, ...(limitsSwap ? { swap: bytes } : {}) },
    cpu: { quota: Math.max(1000, Math.round(limits.cpu * CPU_PERIOD_US)), period: CPU_PERIOD_US },
    pids: { limit: limits.pids },
  };
}

/** Makes the service's user the owner of the files of the image, in the writable layer over it. */
function ownHook({ rootfs }: OciHost, uid: number) {
  const pruned = NOT_OWNED.flatMap((name, index) => [...(index === 0 ? [] : ['-o']), '-name', name]);
  const own = ['-xdev', '-exec', 'chown', '-h', `${uid}:${uid}`, '{}', '+'];
  const path = join(rootfs, INSIDE, 'app');
  return {
    path: '/usr/bin/find',
    args: ['find', path, ...own, '(', ...pruned, ')', '-prune'],
    env: ['PATH=/usr/sbin:/usr/bin:/sbin:/bin'],
  };
}

/** The folders below a working folder in which an overlay keeps the changes. */
export function overlayFolders(directory: string) {
  return { upper: join(directory, 'upper'), work: join(directory, 'work') };
}

function mountsOf(host: Host & { oci: OciHost }, plan: Plan): Mount[] {
  const { oci } = host;
  const { scratch, directory, image, network, limits, writable, tools } = plan;
  const bind = (source: string, destination: string, options = READ_ONLY): Mount => {
    return { destination, type: 'bind', source, options };
  };
  const tmpfs = (destination: string, ...options: string[]): Mount => {
    return { destination, type: 'tmpfs', source: 'tmpfs', options: ['nosuid', 'nodev', ...options] };
  };
  const hide = (path: string) => tmpfs(path, 'ro', 'mode=0755', 'size=64k');
  const isVisible = (path: string) => oci.system.some((folder) => isBelow(path, folder));
  const { upper, work } = overlayFolders(directory);
  const layers = [`lowerdir=${image}`, `upperdir=${upper}`, `workdir=${work}`, ...oci.overlayOptions];
  const app: Mount =
    image === null
      ? bind(directory, `${INSIDE}/app`, WRITABLE)
      : { destination: `${INSIDE}/app`, type: 'overlay', source: 'overlay', options: ['nosuid', 'nodev', ...layers] };
  return [
    { destination: '/proc', type: 'proc', source: 'proc', options: ['nosuid', 'noexec', 'nodev'] },
    { destination: '/dev', type: 'tmpfs', source: 'tmpfs', options: ['nosuid', 'noexec', 'mode=755', 'size=64k'] },
    {
      destination: '/dev/pts',
      type: 'devpts',
      source: 'devpts',
      options: ['nosuid', 'noexec', 'newinstance', 'ptmxmode=0666', 'mode=0620', 'max=64'],
    },
    tmpfs('/dev/shm', 'mode=1777', `size=${limits.memoryMb}m`, `nr_inodes=${SHARED_FILES}`),
    { destination: '/sys', type: 'sysfs', source: 'sysfs', options: ['nosuid', 'noexec', 'nodev', 'ro'] },
    { destination: '/sys/fs/cgroup', type: 'cgroup', source: 'cgroup', options: ['nosuid', 'noexec', 'nodev', 'ro'] },
    ...oci.system.map((folder) => bind(folder, folder)),
    ...host.hidden.filter(isVisible).map(hide),
    bind(join(scratch, 'tmp'), '/tmp', WRITABLE),
    bind(join(scratch, 'tmp'), '/var/tmp', WRITABLE),
    bind(join(scratch, 'passwd'), '/etc/passwd'),
    bind(join(scratch, 'group'), '/etc/group'),
    ...(network && oci.hasHosts ? [bind(network.hostsFile, '/etc/hosts')] : []),
    ...(oci.resolver === null ? [] : [bind(network?.resolvFile ?? oci.resolver, '/etc/resolv.conf')]),
    hide(INSIDE),
    app,
    bind(join(scratch, 'home'), HOME_PATH, WRITABLE),
    ...hiddenOwn(host).map((path, index) => bind(path, `${INSIDE}/${ownName(index)}`)),
    ...tools.map((path) => bind(path, `${INSIDE}/tools/${basename(path)}`)),
    ...writable.map((path) => bind(path, path, WRITABLE)),
  ];
}
