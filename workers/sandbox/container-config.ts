import { release } from 'node:os';
import { join } from 'node:path';
import type { ImageProcess } from '../../shared/images/model.js';
import { type ContainerKind, capabilitiesOf } from './capabilities.js';
import { type CgroupRoots, CPU_PERIOD_US, quotaOf } from './cgroup.js';
import { hostMounts, imageMounts, maskedPaths } from './container-mounts.js';
import { MARKER } from './process-table.js';
import {
  APP_PATH,
  asOrdinaryUser,
  assertVariable,
  type ContainedHost,
  type Host,
  type HostedCommand,
  INIT_PATH,
  MAPPED_ROOT,
  NOT_OWNED,
  type Plan,
  resourceLimits,
  USUAL_PATH,
  VARIABLES_PATH,
} from './sandbox-plan.js';
import { IMAGE_USERS } from './service-users.js';

/** If the host's memory runs out, the kernel kills hosted code before the platform. */
const OOM_SCORE = 500;

/**
 * Some shells refuse to set these variables, so the script `VARIABLES` cannot set them. They are passed under their own
 * names, because only shells read them.
 */
const OF_SHELLS = ['IFS', 'UID', 'EUID', 'PPID', 'OPTIND', 'SHELLOPTS', 'BASHOPTS', 'BASH_VERSINFO'];

/** Returns the OCI configuration of a container. Throws if a variable's name or value cannot be passed. */
export function containerConfig(host: ContainedHost, plan: Plan, { cwd, env, command }: HostedCommand, id: string) {
  const { oci, cgroups } = host;
  const { mapped } = plan;
  const kind = kindOf(host, plan);
  const users = usersOf(host, plan);
  const ofImage = command === '' ? (mapped?.process?.args ?? []) : [];
  const isRootless = kind === 'rootless';
  // A rootless container has two user namespaces. Process 1 stays in the outer namespace, because a later `runc exec`
  // can enter only the user namespace of process 1. The command runs in the inner namespace.
  const drop = isRootless ? [...asOrdinaryUser(plan.uid), '/bin/sh', VARIABLES_PATH] : [];
  const init = ['/bin/sh', INIT_PATH, plan.tied ? 'tied' : 'free', cwd, 'here'];
  const byInit = [...init, ...drop, '/bin/sh', '-c', command];
  const namespaces = ['pid', 'ipc', 'mount', ...(cgroups ? ['cgroup'] : []), ...(users ? ['user'] : [])];
  return {
    ociVersion: '1.0.2',
    root: { path: mapped === null ? oci.rootfs : MAPPED_ROOT, readonly: kind !== 'image' },
    process: {
      terminal: false,
      user: userOf(plan, kind),
      cwd: ofImage.length > 0 ? cwd : '/',
      args: ofImage.length > 0 ? ofImage : byInit,
      env: isRootless ? deferred(env) : Object.entries(env).map(variable),
      capabilities: capabilitiesOf(kind),
      // Programs that a Dockerfile runs may change their user, within the user namespace.
      noNewPrivileges: kind !== 'imageTools',
      oomScoreAdj: OOM_SCORE,
      rlimits: resourceLimits(plan, cgroups !== null, countedOf(kind)).map(({ name, value }) => {
        return { type: `RLIMIT_${name}`, hard: value, soft: value };
      }),
    },
    mounts: kind === 'image' ? imageMounts(host, plan) : hostMounts(host, plan),
    hooks: { createContainer: hooksOf(host, plan, kind) },
    linux: {
      namespaces: namespaces.map((type) => ({ type })),
      ...(users === null ? {} : { uidMappings: [users], gidMappings: [users] }),
      ...(cgroups === null
        ? {}
        : { cgroupsPath: join(cgroups.runtimePath, id), resources: resourcesOf(host, plan, cgroups) }),
      ...(oci.seccomp === null ? {} : { seccomp: oci.seccomp[kind] }),
      maskedPaths: maskedPaths(cgroups !== null),
      readonlyPaths: ['bus', 'fs', 'irq', 'sys', 'sysrq-trigger'].map((name) => `/proc/${name}`),
    },
  };
}

function kindOf({ level }: Host, { mapped }: Plan): ContainerKind {
  if (mapped === null) return level === 'rootless' ? 'rootless' : 'command';
  return mapped.process === null ? 'imageTools' : 'image';
}

/** Since Linux 5.14, the kernel counts processes for RLIMIT_NPROC per user namespace. */
function countedOf(kind: ContainerKind): 'container' | 'service' | 'all' {
  if (kind !== 'rootless') return 'service';
  const [major = 0, minor = 0] = release().split('.').map(Number);
  return major > 5 || (major === 5 && minor >= 14) ? 'container' : 'all';
}

function usersOf({ level }: Host, { mapped, network, uid }: Plan) {
  if (mapped !== null) return { containerID: 0, hostID: mapped.firstUser, size: IMAGE_USERS };
  if (level !== 'rootless') return null;
  // A container with a network is created in the network's user namespace, where the platform's user has the ID 0.
  return { containerID: 0, hostID: network ? 0 : uid, size: 1 };
}

function userOf({ uid, mapped }: Plan, kind: ContainerKind) {
  if (kind === 'command') return { uid, gid: uid };
  if (!mapped?.process) return { uid: 0, gid: 0 };
  return userOfImage(mapped.process.user);
}

/** Returns the user of an image's process in the format of the OCI runtime specification. */
export function userOfImage({ uid, gid, groups }: ImageProcess['user']) {
  return { uid, gid, additionalGids: groups };
}

/**
 * Returns a command's variables under other names. `VARIABLES` sets them just before the command starts, so that they
 * cannot influence the programs that drop privileges.
 */
export function deferred({ [MARKER]: mark = '', ...env }: HostedCommand['env']): string[] {
  const later = Object.keys(env).filter((name) => !OF_SHELLS.includes(name));
  return [
    `PATH=${USUAL_PATH.join(':')}`,
    `${MARKER}=${mark}`,
    `RANVIER_NAMES=${later.join(' ')}`,
    ...Object.entries(env).map(([name, value]) => {
      return `${later.includes(name) ? 'RANVIER_ENV_' : ''}${variable([name, value])}`;
    }),
  ];
}

function variable([name, value]: [string, string]): string {
  assertVariable(name, value);
  return `${name}=${value}`;
}

function resourcesOf({ level, oci }: ContainedHost, { limits }: Plan, cgroups: CgroupRoots): object {
  const bytes = limits.memoryMb * 1024 * 1024;
  return {
    // Device rules require root privileges. In a user namespace, device files cannot be created anyway.
    ...(level === 'rootless' ? {} : { devices: [{ allow: false, access: 'rwm' }] }),
    memory: { limit: bytes, ...(oci.limitsSwap ? { swap: bytes } : {}) },
    cpu: { quota: quotaOf(limits.cpu, cgroups), period: CPU_PERIOD_US },
    pids: { limit: limits.pids },
  };
}

function hooksOf({ oci }: ContainedHost, { image, uid, volumes }: Plan, kind: ContainerKind) {
  if (kind === 'rootless') {
    // Allows only the one user namespace in which the command will run, so that the command cannot create another.
    const limit = 'echo 1 >"$1/proc/sys/user/max_user_namespaces"';
    return [hook('/bin/sh', ['sh', '-c', limit, 'limit', oci.rootfs])];
  }
  if (kind !== 'command' || image === null) return [];
  // chown changes only the writable layer above the image.
  const pruned = NOT_OWNED.flatMap((name, index) => [...(index === 0 ? [] : ['-o']), '-name', name]);
  // A run of the service may change a volume at the same time. `-execdir` passes each name relative to its folder, so
  // that chown follows no symlink on the path.
  const each = volumes.length === 0 ? '-exec' : '-execdir';
  const own = ['-xdev', each, 'chown', '-h', `${uid}:${uid}`, '{}', '+'];
  return [hook('/usr/bin/find', ['find', join(oci.rootfs, APP_PATH), ...own, '(', ...pruned, ')', '-prune'])];
}

function hook(path: string, args: string[]) {
  return { path, args, env: ['PATH=/usr/sbin:/usr/bin:/sbin:/bin'] };
}
