import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { expect } from 'chai';
import { tieGuard } from '../../../workers/sandbox/entry-guard.js';
import { markedProcesses } from '../../../workers/sandbox/process-table.js';

const BYTES = 400 * 1024 * 1024;
/** Points the environment of its process at memory of `BYTES`, which prctl(2) allows every process. */
const GROW = `
import ctypes, mmap, struct, sys
libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
start = libc.mmap(None, ${BYTES}, 3, 0x4022, -1, 0)
fields = open('/proc/self/stat').read().rsplit(')', 1)[1].split()
start_code, end_code, start_stack = (int(fields[i]) for i in (23, 24, 25))
start_data, end_data, start_brk, arg_start, arg_end = (int(fields[i]) for i in (42, 43, 44, 45, 46))
brk = libc.sbrk; brk.restype = ctypes.c_void_p
layout = struct.pack('12QIi', start_code, end_code, start_data, end_data, start_brk, brk(0), start_stack,
                     arg_start, arg_end, start, start + ${BYTES}, 0, 0, -1)
print(libc.prctl(35, 14, ctypes.c_char_p(layout), ctypes.c_ulong(len(layout)), 0), flush=True)
sys.stdin.read()
`;

describe('The table of processes', () => {
  let child: ChildProcess | undefined;
  after(() => child?.kill('SIGKILL'));

  it('is read in little memory, whatever a process shows as its environment', async function () {
    this.timeout(30_000);
    if (process.platform !== 'linux') this.skip();
    child = spawn('python3', ['-c', GROW], { stdio: ['pipe', 'pipe', 'inherit'] });
    const [answer] = await once(child.stdout ?? process.stdin, 'data');
    if (String(answer).trim() !== '0') this.skip();
    const before = process.resourceUsage().maxRSS;
    expect(await markedProcesses('a mark that no process has')).to.have.lengthOf(0);
    expect(process.resourceUsage().maxRSS - before, 'kilobytes').to.be.lessThan(150_000);
  });

  it('shows the guard of an entry which processes to end', async function () {
    if (process.platform !== 'linux') this.skip();
    const mark = 'RANVIER_ENTRY=test-of-the-guard';
    const guard = await tieGuard({ mark, cgroup: null, network: [] });
    const [own, other] = [mark, `${mark}-2`].map((text) =>
      spawn('sleep', ['60'], { env: Object.fromEntries([text.split('=')]) }),
    );
    const ended = once(own as ChildProcess, 'exit');
    await guard.end();
    expect((await ended)[1]).to.equal('SIGKILL');
    expect(other?.exitCode ?? other?.signalCode ?? null).to.equal(null);
    other?.kill('SIGKILL');
  });
});
