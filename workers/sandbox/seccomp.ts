import { readFile } from 'node:fs/promises';
import { unlessAbsent } from '../../shared/core/exists.js';
import { CAPABILITIES, type ContainerKind } from './capabilities.js';

/** The profile that Debian, Ubuntu and Fedora install. */
const PROFILE = '/usr/share/containers/seccomp.json';
const NAMESPACE_FLAGS = 0x7e020080;
const CLONE_NEWUSER = 0x10000000;
const EPERM = 1;
const ENOSYS = 38;
const EAFNOSUPPORT = 97;
/** Families of sockets that bypass network rules (kernel cryptography, virtual machines). */
const AF_ALG = 38;
const AF_VSOCK = 40;

/** Only these architectures are allowed: 32-bit programs do not run. */
const ARCHITECTURES: Readonly<Record<string, { profile: string; names: string[] }>> = {
  x64: { profile: 'amd64', names: ['SCMP_ARCH_X86_64'] },
  arm64: { profile: 'arm64', names: ['SCMP_ARCH_AARCH64'] },
};

/**
 * No hosted command needs these system calls. The distribution's profile allows many of them, because it is meant for
 * Podman, which also runs inside containers.
 */
const REFUSED = [
  ...['keyctl', 'add_key', 'request_key', 'bpf', 'perf_event_open', 'userfaultfd', 'fanotify_init'],
  ...['quotactl', 'quotactl_fd', 'swapon', 'swapoff', 'acct', 'open_by_handle_at', 'reboot', 'syslog', 'vhangup'],
  ...['init_module', 'finit_module', 'delete_module', 'kexec_load', 'kexec_file_load'],
];

/** Only the image tools need these system calls, in a user namespace. */
const NAMESPACES = [
  ...['unshare', 'setns', 'pivot_root', 'mount', 'umount', 'umount2', 'mount_setattr', 'move_mount'],
  ...['open_tree', 'fsopen', 'fsmount', 'fsconfig', 'fspick', 'name_to_handle_at'],
];

/**
 * These system calls fail with ENOSYS, because programs then use a fallback. With io_setup, one tenant could use up the
 * host's asynchronous I/O contexts. A filter cannot check the flags of clone3, because they are in memory.
 */
const ABSENT = ['clone3', 'io_setup', 'io_uring_setup', 'io_uring_enter', 'io_uring_register'];

/**
 * A rootless container calls `unshare` to create the command's user namespace. A shell next to the command calls
 * `setns` to enter it. `index` is the position of the argument with the flags.
 */
const OWN_USER = [
  { call: 'unshare', index: 0 },
  { call: 'setns', index: 1 },
] as const;

function refusedTo(kind: ContainerKind): string[] {
  if (kind === 'imageTools') return REFUSED;
  if (kind === 'image') return [...REFUSED, ...NAMESPACES];
  const refused = [...REFUSED, ...NAMESPACES, 'chroot'];
  return kind === 'rootless' ? refused.filter((name) => !OWN_USER.some(({ call }) => call === name)) : refused;
}

interface SeccompRule {
  names: string[];
  action: string;
  args?: { index: number; value: number; valueTwo?: number; op: string }[];
  errnoRet?: number;
}

export interface Seccomp {
  defaultAction: string;
  defaultErrnoRet?: number;
  architectures: string[];
  syscalls: SeccompRule[];
}

interface ProfileRule extends SeccompRule {
  /** `minKernel` is ignored: this platform runs only on newer kernels. */
  includes?: { caps?: string[]; arches?: string[]; minKernel?: string };
  excludes?: { caps?: string[]; arches?: string[] };
}

/**
 * Returns the seccomp filters by kind of container; null on an unsupported architecture. Without the distribution's
 * profile, all calls are allowed that are not refused here.
 */
export async function hostSeccomp(): Promise<Record<ContainerKind, Seccomp> | null> {
  const text = await unlessAbsent(readFile(PROFILE, 'utf8'));
  const profile = text === null ? null : JSON.parse(text);
  const [command, rootless, image, imageTools] = (['command', 'rootless', 'image', 'imageTools'] as const).map((kind) =>
    seccompOf(profile, process.arch, kind),
  );
  return command && rootless && image && imageTools ? { command, rootless, image, imageTools } : null;
}

/** Returns the seccomp filter for one kind of container; null on an unsupported architecture. */
export function seccompOf(
  profile: { defaultAction: string; defaultErrnoRet?: number; syscalls: ProfileRule[] } | null,
  machine: string,
  kind: ContainerKind,
): Seccomp | null {
  const architecture = ARCHITECTURES[machine];
  if (architecture === undefined) return null;
  const refused = refusedTo(kind);
  const makesNamespaces = kind === 'imageTools';
  const decided = new Set([...refused, ...ABSENT, 'socket', ...(makesNamespaces ? [] : ['clone', 'unshare', 'setns'])]);
  const own: SeccompRule[] = [
    { names: ABSENT, action: 'SCMP_ACT_ERRNO', errnoRet: ENOSYS },
    { names: refused, action: 'SCMP_ACT_ERRNO', errnoRet: EPERM },
  ];
  if (profile === null) {
    for (const flag of makesNamespaces ? [] : bitsOf(NAMESPACE_FLAGS)) {
      const args = [{ index: 0, value: flag, valueTwo: flag, op: 'SCMP_CMP_MASKED_EQ' }];
      own.push({ names: ['clone'], action: 'SCMP_ACT_ERRNO', errnoRet: EPERM, args });
    }
    if (kind === 'rootless') own.push(...userNamespaceOnly('SCMP_ACT_ERRNO', 'SCMP_CMP_NE'));
    for (const family of [AF_ALG, AF_VSOCK]) {
      const args = [{ index: 0, value: family, op: 'SCMP_CMP_EQ' }];
      own.push({ names: ['socket'], action: 'SCMP_ACT_ERRNO', errnoRet: EAFNOSUPPORT, args });
    }
    return { defaultAction: 'SCMP_ACT_ALLOW', architectures: architecture.names, syscalls: own };
  }
  const kept = profile.syscalls
    .filter((rule) => applies(rule, architecture.profile, CAPABILITIES[kind]))
    .map(({ names, action, args, errnoRet }) => ({
      names: names.filter((name) => !decided.has(name)),
      action,
      ...(args?.length ? { args } : {}),
      ...(errnoRet === undefined ? {} : { errnoRet }),
    }))
    .filter(({ names }) => names.length > 0);
  const noNamespaces = [{ index: 0, value: NAMESPACE_FLAGS, valueTwo: 0, op: 'SCMP_CMP_MASKED_EQ' }];
  if (!makesNamespaces) own.push({ names: ['clone'], action: 'SCMP_ACT_ALLOW', args: noNamespaces });
  if (kind === 'rootless') own.push(...userNamespaceOnly('SCMP_ACT_ALLOW', 'SCMP_CMP_EQ'));
  // Several rules for one call are alternatives. Together, these allow all families except AF_ALG and AF_VSOCK.
  own.push(
    { names: ['socket'], action: 'SCMP_ACT_ALLOW', args: [{ index: 0, value: AF_ALG, op: 'SCMP_CMP_LT' }] },
    { names: ['socket'], action: 'SCMP_ACT_ALLOW', args: [{ index: 0, value: AF_VSOCK, op: 'SCMP_CMP_GT' }] },
    { names: ['socket'], action: 'SCMP_ACT_ALLOW', args: [{ index: 0, value: AF_ALG + 1, op: 'SCMP_CMP_EQ' }] },
  );
  const { defaultAction, defaultErrnoRet } = profile;
  return {
    defaultAction,
    ...(defaultErrnoRet === undefined ? {} : { defaultErrnoRet }),
    architectures: architecture.names,
    syscalls: [...kept, ...own],
  };
}

function applies(
  { includes = {}, excludes = {} }: ProfileRule,
  architecture: string,
  capabilities: readonly string[],
): boolean {
  if (includes.caps?.some((name) => !capabilities.includes(name))) return false;
  if (excludes.caps?.some((name) => capabilities.includes(name))) return false;
  if (includes.arches !== undefined && !includes.arches.includes(architecture)) return false;
  return !excludes.arches?.includes(architecture);
}

/** The rules apply to a call if the comparison `op` of its flags with CLONE_NEWUSER is true. */
function userNamespaceOnly(action: string, op: string): SeccompRule[] {
  const refusal = action === 'SCMP_ACT_ERRNO' ? { errnoRet: EPERM } : {};
  return OWN_USER.map(({ call, index }) => {
    return { names: [call], action, args: [{ index, value: CLONE_NEWUSER, op }], ...refusal };
  });
}

function bitsOf(flags: number): number[] {
  return Array.from({ length: 31 }, (_, bit) => 2 ** bit).filter((bit) => (flags & bit) !== 0);
}
