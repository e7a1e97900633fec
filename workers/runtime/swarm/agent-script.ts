import { quote } from '../../core/quote.js';

export const AGENT_PORT = 7000;

/** Runs a command with the connection as input and output, and then sends its exit code. */
const SERVE = `IFS= read -r token; [ "$token" = "$TOKEN" ] || exit 1; IFS= read -r command; sh -c "$command" 2>&1; printf '\\nexit %s\\n' $?`;

/**
 * Does the same as `SERVE`, in Perl, which Debian's base images have. It reads byte by byte, because the rest of the
 * connection is the command's input.
 */
const perlOf = (port: number) => `
use IO::Socket::INET;
my $listener = IO::Socket::INET->new(Listen => 8, LocalPort => ${port}, ReuseAddr => 1) or die "cannot listen: $!";
$SIG{CHLD} = 'IGNORE';
$SIG{TERM} = sub { exit };
while (1) {
  my $peer = $listener->accept or next;
  if (fork) { close $peer; next }
  $SIG{CHLD} = 'DEFAULT';
  alarm 30;
  my @lines;
  for (1, 2) {
    my $line = '';
    while (sysread($peer, my $byte, 1)) { last if $byte eq "\\n"; $line .= $byte; exit if length $line > 65536 }
    push @lines, $line;
    exit if $lines[0] ne $ENV{TOKEN};
  }
  alarm 0;
  open STDIN, '<&', $peer; open STDOUT, '>&', $peer; open STDERR, '>&', $peer;
  my $ended = system('/bin/sh', '-c', $lines[1]);
  syswrite STDOUT, "\\nexit " . ($ended >> 8 || ($ended ? 1 : 0)) . "\\n";
  exit;
}`;

/**
 * Returns the command of a task that works on a volume's files for the platform. Alpine images have no Perl. They have
 * busybox's nc, which handles one connection at a time.
 */
export function agentScript(port = AGENT_PORT): string {
  return [
    `if command -v perl >/dev/null; then exec perl -e ${quote(perlOf(port))}; fi`,
    `nc=nc; command -v nc >/dev/null || nc='busybox nc'`,
    `while :; do $nc -l -p ${port} -e /bin/sh -c ${quote(SERVE)} || sleep 0.2; done`,
  ].join('\n');
}
