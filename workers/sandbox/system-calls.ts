/**
 * Refuses system calls that no hosted command needs: user namespaces (they give an unprivileged user access to privileged
 * code of the kernel), mounts, kernel keys, BPF, io_uring, asynchronous I/O, and socket families that the machine's network rules do not cover.
 * Perl, which Debian and Ubuntu always have, installs the filter, because neither Node nor util-linux can.
 */

const EPERM = 1;
const ENOSYS = 38;
const EAFNOSUPPORT = 97;
const ALLOW = 0x7fff0000;
const ERRNO = 0x00050000;
const CLONE_NEWUSER = 0x10000000;
const AF_ALG = 38;
const AF_VSOCK = 40;
/** Offsets in the kernel's `struct seccomp_data`. */
const NUMBER = 0;
const ARCHITECTURE = 4;
const FIRST_ARGUMENT = 16;
const LOAD = 0x20;
const RETURN = 0x06;
const EQUAL = 0x15;
const AT_LEAST = 0x35;
const ANY_BIT = 0x45;

interface Machine {
  /** The kernel's AUDIT_ARCH number. Calls by another convention (32 bit) have other numbers and are refused. */
  audit: number;
  prctl: number;
  clone: number;
  clone3: number;
  unshare: number;
  socket: number;
  ioUringSetup: number;
  /** Asynchronous I/O, whose contexts are counted for the whole host. */
  ioSetup: number;
  refused: readonly number[];
}

/** The calls of the new mount interface, with the same numbers on every architecture. */
const MOUNTS_SINCE_5_2 = [428, 429, 430, 431, 432, 433, 442];
const MACHINES: Readonly<Record<string, Machine>> = {
  x64: {
    audit: 0xc000003e,
    prctl: 157,
    clone: 56,
    clone3: 435,
    unshare: 272,
    socket: 41,
    ioUringSetup: 425,
    ioSetup: 206,
    // setns, bpf, keyctl, add_key, request_key, userfaultfd, perf_event_open, mount, umount2, pivot_root, open_by_handle_at,
    // kexec_load, kexec_file_load, init_module, finit_module, delete_module
    refused: [308, 321, 250, 248, 249, 323, 298, 165, 166, 155, 304, 246, 320, 175, 313, 176, ...MOUNTS_SINCE_5_2],
  },
  arm64: {
    audit: 0xc00000b7,
    prctl: 167,
    clone: 220,
    clone3: 435,
    unshare: 97,
    socket: 198,
    ioUringSetup: 425,
    ioSetup: 0,
    refused: [268, 280, 219, 217, 218, 282, 241, 40, 39, 41, 265, 104, 294, 105, 273, 106, ...MOUNTS_SINCE_5_2],
  },
};

/** The number of `close_range` on every architecture. */
const CLOSE_RANGE = 436;

/**
 * Arguments: number of `prctl`, the filter in hexadecimal digits, the command. Needs no_new_privs or root. The command keeps its three
 * standard streams and descriptor 3, which has its program, and no other descriptor of the platform.
 */
const INSTALL = `
my ($prctl, $filter) = splice @ARGV, 0, 2;
$filter = pack 'H*', $filter;
my $program = pack 'S x![P] P', length($filter) / 8, $filter;
syscall($prctl + 0, 22, 2, $program, 0, 0) == 0 or die "sandbox: no filter of system calls: $!\\n";
syscall(${CLOSE_RANGE}, 4, 0x7fffffff, 0);
exec { $ARGV[0] } @ARGV or die "sandbox: $ARGV[0]: $!\\n";
`;

/** Arguments before a command that install the filter; null on an architecture that is not listed. */
export function filterArguments(architecture: string = process.arch): string[] | null {
  const machine = MACHINES[architecture];
  if (machine === undefined) return null;
  return ['perl', '-e', INSTALL, '--', String(machine.prctl), filterOf(machine).toString('hex')];
}

function filterOf(machine: Machine): Buffer {
  const refuse = (error: number) => step(RETURN, ERRNO | error);
  const unless = (call: number, then: Buffer[]) => [step(EQUAL, call, 0, then.length), ...then];
  const namespaces = [
    step(LOAD, FIRST_ARGUMENT),
    step(ANY_BIT, CLONE_NEWUSER, 0, 1),
    refuse(EPERM),
    step(RETURN, ALLOW),
  ];
  const families = [
    step(LOAD, FIRST_ARGUMENT),
    step(EQUAL, AF_ALG, 1, 0),
    step(EQUAL, AF_VSOCK, 0, 1),
    refuse(EAFNOSUPPORT),
    step(RETURN, ALLOW),
  ];
  return Buffer.concat([
    step(LOAD, ARCHITECTURE),
    step(EQUAL, machine.audit, 1, 0),
    refuse(ENOSYS),
    step(LOAD, NUMBER),
    // The x32 convention has numbers of its own.
    step(AT_LEAST, 0x40000000, 0, 1),
    refuse(ENOSYS),
    // The flags of clone3 are in memory, which a filter cannot read. The C library falls back to clone.
    ...unless(machine.clone3, [refuse(ENOSYS)]),
    ...unless(machine.ioUringSetup, [refuse(ENOSYS)]),
    ...unless(machine.ioSetup, [refuse(ENOSYS)]),
    ...machine.refused.flatMap((call) => unless(call, [refuse(EPERM)])),
    ...unless(machine.clone, namespaces),
    ...unless(machine.unshare, namespaces),
    ...unless(machine.socket, families),
    step(RETURN, ALLOW),
  ]);
}

/** One instruction of the filter. The jumps count the instructions to skip. */
function step(code: number, value: number, ifTrue = 0, ifFalse = 0): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeUInt16LE(code, 0);
  bytes.writeUInt8(ifTrue, 2);
  bytes.writeUInt8(ifFalse, 3);
  bytes.writeUInt32LE(value >>> 0, 4);
  return bytes;
}
