import { basename, join } from 'node:path';
import {
  APP_PATH,
  type ContainedHost,
  type ContainerHost,
  HOME_PATH,
  type Host,
  hiddenOwn,
  INIT_PATH,
  INSIDE,
  isBelow,
  type Mount,
  ownName,
  type Plan,
  TOOLS_PATH,
} from './sandbox-plan.js';
import { volumeMounts, withVolumePoints } from './volume-mounts.js';

const CGROUPS = '/sys/fs/cgroup';
/** Kernel files with information about the host or other containers. Missing paths are ignored. */
const MASKED = [
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
  ...['class/net', 'devices/virtual/net', 'devices/virtual/powercap', 'firmware', 'kernel/slab'].map(
    (name) => `/sys/${name}`,
  ),
];
const TERMINALS = ['newinstance', 'ptmxmode=0666', 'mode=0620', 'max=64'];
/** Maximum number of files in `/dev/shm`. The memory of these files counts towards the limit of the plan. */
const SHARED_FILES = 65_536;
const READ_ONLY = ['rbind', 'ro', 'nosuid', 'nodev', 'rprivate'];
const WRITABLE = ['rbind', 'rw', 'nosuid', 'nodev', 'rprivate'];
/**
 * The host's folders that the image tools see. The tools run as root of a user namespace, so they could remove a mount
 * that hides a path in one of these folders.
 */
const SEEN_BY_IMAGE_TOOLS = ['/etc', '/usr', '/bin', '/lib', '/lib32', '/lib64', '/libx32', '/sbin'];
const OF_IMAGE_TOOLS = ['/run', '/root', '/var'];

/** Returns the paths to mask. Without a cgroup, /sys/fs/cgroup would show the cgroups of the host. */
export function maskedPaths(hasCgroup: boolean): string[] {
  return hasCgroup ? MASKED : [...MASKED, CGROUPS];
}

/** Returns the upper and the work folder of an overlay. Both are in `directory`. */
export function overlayFolders(directory: string) {
  return { upper: join(directory, 'upper'), work: join(directory, 'work') };
}

/** Returns the mount options of the overlay with an image as its lower layer. */
export function overlayLayers(
  { overlayOptions }: Pick<ContainerHost, 'overlayOptions'>,
  image: string,
  directory: string,
): string[] {
  const { upper, work } = overlayFolders(directory);
  return [`lowerdir=${image}`, `upperdir=${upper}`, `workdir=${work}`, ...overlayOptions];
}

/** Returns the mounts of a container whose root shows folders of the host, read-only. */
export function hostMounts(host: ContainedHost, plan: Plan): Mount[] {
  const { oci } = host;
  const { scratch, directory, image, writable, tools, mapped } = plan;
  const system = mapped === null ? oci.system : oci.system.filter((folder) => SEEN_BY_IMAGE_TOOLS.includes(folder));
  const isVisible = (path: string) => system.some((folder) => isBelow(path, folder));
  const app: Mount =
    image === null
      ? bind(directory, APP_PATH, WRITABLE)
      : {
          destination: APP_PATH,
          type: 'overlay',
          source: 'overlay',
          options: ['nosuid', 'nodev', ...overlayLayers(oci, image, directory)],
        };
  return [
    ...kernelMounts(host, plan),
    ...system.map((folder) => withVolumePoints(bind(folder, folder), plan)),
    ...host.hidden.filter(isVisible).map(hide),
    ...(mapped === null ? [] : OF_IMAGE_TOOLS.map((folder) => tmpfs(folder, 'mode=0755'))),
    bind(join(scratch, 'tmp'), '/tmp', WRITABLE),
    bind(join(scratch, 'tmp'), '/var/tmp', WRITABLE),
    ...(mapped === null
      ? [bind(join(scratch, 'passwd'), '/etc/passwd'), bind(join(scratch, 'group'), '/etc/group')]
      : []),
    ...nameMounts(oci, plan),
    hide(INSIDE),
    app,
    bind(join(scratch, 'home'), HOME_PATH, WRITABLE),
    ...hiddenOwn(host).map((path, index) => bind(path, `${INSIDE}/${ownName(index)}`)),
    ...tools.map((path) => bind(path, `${TOOLS_PATH}/${basename(path)}`)),
    ...writable.map((path) => bind(path, path, WRITABLE)),
    ...volumeMounts(plan),
  ];
}

/** Returns false if skopeo, umoci or buildah could read a path of the host that must stay hidden. */
export function canHideFromImageTools({ hidden }: Pick<Host, 'hidden'>): boolean {
  return !hidden.some((path) => SEEN_BY_IMAGE_TOOLS.some((folder) => isBelow(path, folder)));
}

/** Returns the mounts in the root of an image. */
export function imageMounts(host: ContainedHost, plan: Plan): Mount[] {
  const { oci } = host;
  const init = bind(join(oci.rootfs, INIT_PATH), INIT_PATH);
  return [...kernelMounts(host, plan), ...nameMounts(oci, plan), init, ...volumeMounts(plan)];
}

function kernelMounts({ level, cgroups }: Host, { limits, mapped }: Plan): Mount[] {
  // A process in a user namespace may mount sysfs only if that user namespace owns the network namespace. The user
  // namespace of a container does not own one. So a container with a user namespace gets the host's /sys.
  const sys: Mount =
    mapped === null && level !== 'rootless'
      ? { destination: '/sys', type: 'sysfs', source: 'sysfs', options: ['nosuid', 'noexec', 'nodev', 'ro'] }
      : bind('/sys', '/sys', ['rbind', 'ro', 'nosuid', 'noexec', 'nodev', 'rprivate']);
  return [
    { destination: '/proc', type: 'proc', source: 'proc', options: ['nosuid', 'noexec', 'nodev'] },
    { destination: '/dev', type: 'tmpfs', source: 'tmpfs', options: ['nosuid', 'noexec', 'mode=755', 'size=64k'] },
    {
      destination: '/dev/pts',
      type: 'devpts',
      source: 'devpts',
      options: ['nosuid', 'noexec', ...TERMINALS],
    },
    tmpfs('/dev/shm', 'mode=1777', `size=${limits.memoryMb}m`, `nr_inodes=${SHARED_FILES}`),
    sys,
    ...(cgroups === null
      ? []
      : [{ destination: CGROUPS, type: 'cgroup', source: 'cgroup', options: ['nosuid', 'noexec', 'nodev', 'ro'] }]),
  ];
}

function nameMounts({ hasHosts, resolver }: ContainerHost, { network }: Plan): Mount[] {
  return [
    ...(network && hasHosts ? [bind(network.hostsFile, '/etc/hosts')] : []),
    ...(resolver === null ? [] : [bind(network?.resolvFile ?? resolver, '/etc/resolv.conf')]),
  ];
}

function bind(source: string, destination: string, options = READ_ONLY): Mount {
  return { destination, type: 'bind', source, options };
}

function tmpfs(destination: string, ...options: string[]): Mount {
  return { destination, type: 'tmpfs', source: 'tmpfs', options: ['nosuid', 'nodev', ...options] };
}

function hide(path: string): Mount {
  return tmpfs(path, 'ro', 'mode=0755', 'size=64k');
}
