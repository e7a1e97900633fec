import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { expect } from 'chai';
import { INIT } from '../../../workers/sandbox/shell-programs.js';

/** A process name that looks like the end of the line in which the kernel prints it. */
const NAME = ') /e*/passw*\\n';

describe('The init of a sandbox', () => {
  it('matches no name of a process against files, which it would do as root', async function () {
    this.timeout(20_000);
    if (process.platform !== 'linux') this.skip();
    const rename = `open my $f, ">", "/proc/self/comm" or die; print $f "${NAME}"; close $f;`;
    // The process outlives TERM for a while, so that the init looks for the rest of its group.
    const command = `${rename} $| = 1; $SIG{TERM} = sub { select undef, undef, undef, 0.5; exit }; print "ready\\n"; sleep 15 while 1`;
    const group = ['/bin/sh', '-c', 'trap "exit" TERM; perl -e "$1" & wait', 'sh', command];
    // The init discards its trace, which this test reads.
    const text = INIT.replace('exec 2>/dev/null', ':');
    expect(text).to.not.equal(INIT);
    const init = spawn('/bin/sh', ['-x', '-c', text, 'init', 'free', '/', 'here', ...group]);
    let trace = '';
    init.stderr.on('data', (chunk: Buffer) => {
      trace += chunk.toString();
    });
    const ended = once(init, 'close');
    await once(init.stdout, 'data');
    init.kill('SIGTERM');
    await ended;
    const read = trace.split('\n').filter((line) => /^\+ set -- .*passw/.test(line));
    expect(new Set(read), 'it has read the name').to.deep.equal(new Set(['+ set -- /e*/passw*']));
  });
});
