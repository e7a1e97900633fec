import { DEVICE_LINKS, DEVICES, NOT_OWNED, SETUP_FAILED, TERMINALS } from './sandbox-scripts.js';

/**
 * Makes all mounts of a sandbox in one process, where the init needs about one process for each. It understands the operations of the
 * init (`sandbox-scripts.ts`) and does the same for each. Perl makes the system calls, because neither Node nor a shell can.
 */

interface Calls {
  mount: number;
  umount: number;
  chown: number;
}

/** The numbers of `mount`, `umount2` and `fchownat`. */
const CALLS: Readonly<Record<string, Calls>> = {
  x64: { mount: 165, umount: 166, chown: 260 },
  arm64: { mount: 40, umount: 39, chown: 54 },
};

/** Arguments: the numbers of the calls, mount operations, `--`, the command that takes this process's place. */
const PROGRAM = `
my ($mount, $umount, $chown) = map { $_ + 0 } splice @ARGV, 0, 3;
my ($READ_ONLY, $NO_SUID, $NO_DEVICES, $NO_PROGRAMS, $REMOUNT) = (1, 2, 4, 8, 32);
my ($BIND, $MOVE, $RECURSIVE) = (4096, 8192, 16384);
my ($DETACH, $HERE, $NO_FOLLOW, $SET_ATTRIBUTES) = (2, -100, 256, 442);
my %read_only = map { $_ => 1 } qw(${NOT_OWNED.join(' ')});
my $resolver;

sub fail { print STDERR "sandbox: @_: $!\\n"; exit ${SETUP_FAILED} }

# Copies of the arguments: a system call may write to a string, and constants cannot be written to.
sub attach {
  my ($type, $source, $target, $flags, $data) = @_;
  return syscall($mount, $source, $target, $type, $flags + 0, $data) == 0;
}

sub must_attach { attach(@_) or fail("cannot mount $_[1] at $_[2]") }

sub show { must_attach('none', $_[0], $_[1], $BIND | ($_[2] || 0), '') }

sub detach { my ($target, $flags) = @_; return syscall($umount, $target, $flags + 0) == 0 }

# The first way keeps the other flags of the mount; the kernel has it since version 5.12.
sub restrict {
  my ($target) = @_;
  my $flags = $READ_ONLY | $NO_SUID | $NO_DEVICES;
  my $attributes = pack 'Q4', $flags, 0, 0, 0;
  return if syscall($SET_ATTRIBUTES, $HERE, $target, 0, $attributes, length $attributes) == 0;
  show('none', $target, $REMOUNT | $flags);
}

sub folder {
  my $path = '';
  for my $name (grep { length } split m{/}, $_[0]) {
    $path .= "/$name";
    mkdir $path or -d $path or fail("cannot make $path");
  }
}

sub empty { my ($path) = @_; open my $file, '>', $path or fail("cannot make $path") }

sub copy {
  my ($from, $to) = @_;
  local $/;
  open my $source, '<', $from or return 0;
  my $text = <$source>;
  open my $target, '>', $to or return 0;
  return print($target defined $text ? $text : '') && close $target;
}

sub own {
  my ($uid, $gid, $root) = @_;
  my $device = (lstat $root)[0];
  my @left = ($root);
  while (defined(my $path = pop @left)) {
    syscall($chown, $HERE, $path, $uid + 0, $gid + 0, $NO_FOLLOW) == 0 or fail("cannot own $path");
    next if $path =~ m{([^/]*)\\z} && $read_only{$1} && $path ne $root;
    my @found = lstat $path or fail($path);
    next if !-d _ || $found[0] != $device;
    opendir my $folder, $path or fail("cannot read $path");
    push @left, map { "$path/$_" } grep { $_ ne '.' && $_ ne '..' } readdir $folder;
  }
}

my %operations = (
  stage => [1, sub { must_attach('tmpfs', 'tmpfs', $_[0], 0, 'mode=0755,size=4m') }],
  overlay => [4, sub {
    my ($stage, $lower, $changes, $target) = @_;
    folder($_) for "$stage/lower", "$stage/changes", $target;
    show($lower, "$stage/lower");
    show($changes, "$stage/changes");
    folder($_) for "$stage/changes/upper", "$stage/changes/work";
    my $layers = "lowerdir=$stage/lower,upperdir=$stage/changes/upper,workdir=$stage/changes/work";
    attach('overlay', 'overlay', $target, 0, "metacopy=on,volatile,$layers")
      or attach('overlay', 'overlay', $target, 0, "volatile,$layers")
      or must_attach('overlay', 'overlay', $target, 0, $layers);
    for ("$stage/lower", "$stage/changes") { detach($_, 0) && rmdir or fail("cannot remove $_") }
  }],
  own => [2, sub { own(split(/:/, $_[0]), $_[1]) }],
  bind => [2, sub { folder($_[1]); show(@_) }],
  readonly => [2, sub { folder($_[1]); show(@_); restrict($_[1]) }],
  tree => [2, sub { show(@_, $RECURSIVE) }],
  file => [2, sub { show(@_) }],
  hide => [1, sub { must_attach('tmpfs', 'tmpfs', $_[0], 0, 'mode=0755,size=64k') }],
  resolver => [1, sub {
    $resolver = '/etc/resolv.conf';
    if (-l $resolver) { require Cwd; $resolver = Cwd::realpath($resolver) }
    copy($resolver, "$_[0]/resolv.conf") if defined $resolver;
  }],
  'restore-resolver' => [1, sub {
    return if !defined $resolver || -e $resolver;
    folder($resolver =~ s{/[^/]*\\z}{}r);
    copy("$_[0]/resolv.conf", $resolver);
  }],
  # The copies of other namespaces' mounts would keep those namespaces after their end.
  names => [3, sub {
    my ($hosts, $servers, $stage) = @_;
    detach('/run/netns', $DETACH);
    show($hosts, '/etc/hosts') if -e '/etc/hosts';
    return if $servers eq '' || !defined $resolver;
    if ($resolver =~ m{^/run/}) { copy($servers, "$stage/resolv.conf") or fail("cannot copy $servers") }
    elsif (-e $resolver) { show($servers, $resolver) }
  }],
  devices => [1, sub {
    my $folder = "$_[0]/dev";
    folder($folder);
    must_attach('tmpfs', 'tmpfs', $folder, $NO_SUID | $NO_PROGRAMS, 'mode=0755,size=64k');
    for my $name (grep { -e "/dev/$_" } qw(${DEVICES.join(' ')})) { empty("$folder/$name"); show("/dev/$name", "$folder/$name") }
    my %links = (${Object.entries(DEVICE_LINKS)
      .map(([name, target]) => `${name} => '/proc/self/fd${target}'`)
      .join(', ')});
    symlink $links{$_}, "$folder/$_" or fail("cannot make $folder/$_") for keys %links;
    folder("$folder/$_") for qw(pts shm);
    empty("$folder/ptmx");
    must_attach('none', $folder, '/dev', $MOVE, '');
    rmdir $folder or fail("cannot remove $folder");
  }],
  shm => [1, sub { must_attach('tmpfs', 'tmpfs', '/dev/shm', 0, $_[0]) }],
  mask => [1, sub {
    if (-d $_[0]) { must_attach('tmpfs', 'tmpfs', $_[0], 0, 'mode=0755,size=64k') }
    elsif (-e $_[0]) { show('/dev/null', $_[0]) }
  }],
  terminals => [0, sub { attach('devpts', 'devpts', '/dev/pts', 0, '${TERMINALS}') and show('/dev/pts/ptmx', '/dev/ptmx') }],
  proc => [0, sub { must_attach('proc', 'proc', '/proc', 0, '') }],
);

while ((my $name = shift @ARGV) ne '--') {
  my ($count, $perform) = @{$operations{$name} || fail("unknown operation $name")};
  $perform->(splice @ARGV, 0, $count);
}
exec { $ARGV[0] } @ARGV or fail($ARGV[0]);
`;

/** Arguments before mount operations, `--` and a command; null on an architecture that is not listed. */
export function mountProgram(architecture: string = process.arch): string[] | null {
  const calls = CALLS[architecture];
  if (calls === undefined) return null;
  return ['perl', '-e', PROGRAM, '--', String(calls.mount), String(calls.umount), String(calls.chown)];
}
