import { mkdir, rmdir } from 'node:fs/promises';
import { join } from 'node:path';
import { errorMessage } from '../../shared/core/error-registry.js';
import { runLimited } from '../../shared/core/run-limited.js';

/** The ports for sandboxes that share the host's network. A sandbox may bind none of them except its own. */
export interface PortRange {
  first: number;
  last: number;
}

const BPF_CALL: Readonly<Record<string, number>> = { x64: 321, arm64: 280 };
const EPERM = 1;
const LOOPBACK_PROBE = `
use Socket;
socket(my $socket, PF_INET, SOCK_STREAM, 0) or exit 1;
exit(bind($socket, sockaddr_in($ARGV[0], INADDR_LOOPBACK)) ? 2 : $! + 0 == ${EPERM} ? 0 : 3);
`;

/**
 * Attaches a BPF program to a cgroup (version 2). Written in Perl, because Node.js cannot make system calls, and every
 * Debian has Perl. Arguments: number of the system call `bpf`, the cgroup's folder, the program in hexadecimal digits.
 */
const ATTACH = `
use Fcntl;
my ($bpf, $folder, $program) = @ARGV;
$program = pack 'H*', $program;
my $license = "MIT\\0";
my $at = sub { unpack 'Q', pack 'P', $_[0] };
sysopen(my $group, $folder, O_RDONLY) or die "$folder: $!\\n";
for my $type (8, 9) { # BPF_CGROUP_INET4_BIND, BPF_CGROUP_INET6_BIND
  my $load = pack 'LLQQLLQLLa16LL', 18, length($program) / 8, $at->($program), $at->($license), 0, 0, 0, 0, 0, 'ranvier', 0, $type;
  my $loaded = syscall($bpf + 0, 5, $load, length $load);
  die "the kernel takes no program for bind: $!\\n" if $loaded < 0;
  my $attach = pack 'LLLL', fileno($group), $loaded, $type, 2;
  syscall($bpf + 0, 8, $attach, length $attach) == 0 or die "no program can be attached to $folder: $!\\n";
}
`;

/**
 * Forbids a cgroup's processes to bind ports of the range, except `own` (0: none). Throws if the kernel refuses.
 * nftables filters packets, not bind(), so with nftables another sandbox could bind a port before its owner.
 */
export async function guardPorts(folder: string, range: PortRange, own: number): Promise<void> {
  const call = BPF_CALL[process.arch];
  if (call === undefined) throw new Error(`not known on ${process.arch}`);
  try {
    await runLimited('perl', ['-e', ATTACH, '--', String(call), folder, portProgram(range, own).toString('hex')]);
  } catch (error) {
    throw new Error((error as { stderr?: string }).stderr?.trim() || errorMessage(error));
  }
}

/** Tests the port guard in a new cgroup below `root`. Returns why it does not work, or null. */
export async function portGuardProblem(root: string, name: string, range: PortRange): Promise<string | null> {
  const group = join(root, name);
  try {
    await mkdir(group);
    await guardPorts(group, range, 0);
    const script = 'echo 0 >"$1/cgroup.procs" && shift && exec perl -e "$@"';
    await runLimited('/bin/sh', ['-c', script, 'trial', group, LOOPBACK_PROBE, '--', String(range.first)]);
    return null;
  } catch (error) {
    return errorMessage(error).split('\n')[0] ?? '';
  } finally {
    await rmdir(group).catch(() => undefined);
  }
}

/** The program's result 1 allows the bind, 0 refuses it with EPERM. */
function portProgram({ first, last }: PortRange, own: number): Buffer {
  const PORT_IN_CONTEXT = 24;
  const [ALLOW, EXIT] = [1, 0x95];
  return Buffer.concat([
    instruction(0xb7, { to: 0, value: ALLOW }),
    instruction(0x61, { to: 2, from: 1, offset: PORT_IN_CONTEXT }),
    // Convert from network byte order.
    instruction(0xdc, { to: 2, value: 16 }),
    instruction(0xa5, { to: 2, offset: 3, value: first }),
    instruction(0x25, { to: 2, offset: 2, value: last }),
    instruction(0x15, { to: 2, offset: 1, value: own }),
    instruction(0xb7, { to: 0, value: 0 }),
    instruction(EXIT, { to: 0 }),
  ]);
}

function instruction(
  code: number,
  { to, from = 0, offset = 0, value = 0 }: Record<'to', number> & Partial<Record<'from' | 'offset' | 'value', number>>,
): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeUInt8(code, 0);
  bytes.writeUInt8(to | (from << 4), 1);
  bytes.writeInt16LE(offset, 2);
  bytes.writeInt32LE(value, 4);
  return bytes;
}
