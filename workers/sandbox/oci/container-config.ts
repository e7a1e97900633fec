import { join } from 'node:path';
import { CPU_PERIOD_US, quotaOf } from '../cgroup.js';
import { APP_PATH, type Host, MASKED, type MappedRoot, OPEN_FILES, type Plan } from '../sandbox-plan.js';
import { assertVariable, NOT_OWNED } from '../sandbox-scripts.js';
import { IMAGE_USERS } from '../service-users.js';
import { CAPABILITIES, type ContainerKind } from './capabilities.js';
import { CGROUPS, hostMounts, imageMounts, type Mount } from './mounts.js';
import { INIT_PATH, MAPPED_ROOT, type OciHost } from './oci-model.js';
import type { Seccomp } from './seccomp.js';

/** If the host's memory runs out, the kernel ends hosted code before the platform. */
const OOM_SCORE = 500;

interface Capabilities {
  bounding: readonly string[];
  effective: readonly string[];
  inheritable: readonly string[];
  permitted: readonly string[];
  ambient: readonly string[];
}

interface IdMapping {
  containerID: number;
  hostID: number;
  size: number;
}

/** The parts of the OCI runtime specification that are used here. */
export interface ContainerConfig {
  ociVersion: string;
  root: { path: string; readonly: boolean };
  process: {
    terminal: boolean;
    user: { uid: number; gid: number; additionalGids?: number[] };
    cwd: string;
    args: string[];
    env: string[];
    capabilities: Capabilities;
    noNewPrivileges: boolean;
    oomScoreAdj: number;
    rlimits: { type: string; hard: number; soft: number }[];
  };
  mounts: Mount[];
  hooks: { createContainer: { path: string; args: string[]; env: string[] }[] };
  linux: {
    namespaces: { type: string }[];
    uidMappings?: IdMapping[];
    gidMappings?: IdMapping[];
    cgroupsPath: string;
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
 * The configuration of a container: on the host's own system without privileges, or with the root and the users of `plan.mapped`. It
 * joins the network of the process that starts it. Throws if a variable has a name or a value that cannot be passed.
 */
export function containerConfig(
  host: Host & { oci: OciHost },
  plan: Plan,
  { cwd, env, command }: HostedCommand,
  id: string,
): ContainerConfig {
  const { oci } = host;
  const { uid, limits, mapped } = plan;
  const rlimits = [limit('RLIMIT_CORE', 0), limit('RLIMIT_NOFILE', OPEN_FILES)];
  if (limits.fileSizeMb !== undefined) rlimits.push(limit('RLIMIT_FSIZE', limits.fileSizeMb * 1024 * 1024));
  const kind = kindOf(plan);
  const ofImage = command === '' ? (mapped?.process?.args ?? []) : [];
  const byInit = ['/bin/sh', INIT_PATH, plan.tied ? 'tied' : 'free', cwd, '/bin/sh', '-c', command];
  return {
    ociVersion: '1.0.2',
    root: { path: mapped === null ? oci.rootfs : MAPPED_ROOT, readonly: kind !== 'image' },
    process: {
      terminal: false,
      user: userOf(plan),
      cwd: ofImage.length > 0 ? cwd : '/',
      args: ofImage.length > 0 ? ofImage : byInit,
      env: Object.entries(env).map(variable),
      capabilities: capabilitiesOf(kind),
      // Programs of a Dockerfile may change their user, in the user namespace.
      noNewPrivileges: kind !== 'imageTools',
      oomScoreAdj: OOM_SCORE,
      rlimits,
    },
    mounts: kind === 'image' ? imageMounts(host, plan) : hostMounts(host, plan),
    hooks: { createContainer: plan.image === null || mapped !== null ? [] : [ownHook(oci, uid)] },
    linux: {
      namespaces: ['pid', 'ipc', 'mount', 'cgroup', ...(mapped === null ? [] : ['user'])].map((type) => ({ type })),
      ...(mapped === null ? {} : mappingsOf(mapped)),
      cgroupsPath: join(oci.cgroupsPath, id),
      resources: resourcesOf(oci, plan),
      ...(oci.seccomp === null ? {} : { seccomp: oci.seccomp[kind] }),
      maskedPaths: MASKED.filter((path) => path !== CGROUPS),
      readonlyPaths: ['bus', 'fs', 'irq', 'sys', 'sysrq-trigger'].map((name) => `/proc/${name}`),
    },
  };
}

function kindOf({ mapped }: Plan): ContainerKind {
  if (mapped === null) return 'command';
  return mapped.process === null ? 'imageTools' : 'image';
}

function userOf({ uid, mapped }: Plan): ContainerConfig['process']['user'] {
  if (mapped === null) return { uid, gid: uid };
  if (mapped.process === null) return { uid: 0, gid: 0 };
  const { user } = mapped.process;
  return { uid: user.uid, gid: user.gid, additionalGids: user.groups };
}

function capabilitiesOf(kind: ContainerKind): Capabilities {
  const names = CAPABILITIES[kind];
  return { bounding: names, effective: names, inheritable: [], permitted: names, ambient: [] };
}

function mappingsOf({ firstUser }: MappedRoot): { uidMappings: IdMapping[]; gidMappings: IdMapping[] } {
  const mapping = [{ containerID: 0, hostID: firstUser, size: IMAGE_USERS }];
  return { uidMappings: mapping, gidMappings: mapping };
}

function variable([name, value]: [string, string]): string {
  assertVariable(name, value);
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
    cpu: { quota: quotaOf(limits.cpu), period: CPU_PERIOD_US },
    pids: { limit: limits.pids },
  };
}

/** Makes the service's user the owner of the files of the image, in the writable layer over it. */
function ownHook({ rootfs }: OciHost, uid: number) {
  const pruned = NOT_OWNED.flatMap((name, index) => [...(index === 0 ? [] : ['-o']), '-name', name]);
  const own = ['-xdev', '-exec', 'chown', '-h', `${uid}:${uid}`, '{}', '+'];
  const path = join(rootfs, APP_PATH);
  return {
    path: '/usr/bin/find',
    args: ['find', path, ...own, '(', ...pruned, ')', '-prune'],
    env: ['PATH=/usr/sbin:/usr/bin:/sbin:/bin'],
  };
}
