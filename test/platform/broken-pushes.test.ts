import { execFile } from 'node:child_process';
import { connect } from 'node:net';
import { promisify } from 'node:util';
import { expect } from 'chai';
import { createService } from '../support/deployments.js';
import { type Platform, startPlatform } from '../support/platform.js';
import { eventually, isRunning } from '../support/processes.js';

/** The processes of git that a process started, with the processes that these started. */
async function gitOf(parent: number): Promise<number[]> {
  const { stdout } = await promisify(execFile)('ps', ['-eo', 'pid=,ppid=,args=']);
  const rows = stdout.split('\n').flatMap((line) => {
    const [, pid, ppid, args] = /^\s*(\d+)\s+(\d+)\s+(.*)$/.exec(line) ?? [];
    return args === undefined ? [] : [{ pid: Number(pid), ppid: Number(ppid), args }];
  });
  const below = (id: number): number[] =>
    rows.filter(({ ppid, args }) => ppid === id && args.includes('git')).flatMap(({ pid }) => [pid, ...below(pid)]);
  return below(parent);
}

describe('A push whose API process is killed', () => {
  let platform: Platform;
  before(async function () {
    this.timeout(240_000);
    platform = await startPlatform({ engine: 'postgres' });
  });
  after(() => platform?.stop());

  it('leaves no process of git', async () => {
    const { workspaceId, key } = platform.client;
    await createService(platform.client, { name: 'cut', configuration: { sourceType: 'push' } });
    const api = platform.processes.find(({ name }) => name === 'api');
    const socket = connect(platform.apiPort, '127.0.0.1');
    socket.on('error', () => undefined);
    socket.write(
      [
        `POST /git/${workspaceId}/cut.git/git-receive-pack HTTP/1.1`,
        'Host: localhost',
        `Authorization: Basic ${Buffer.from(`anybody:${key}`).toString('base64')}`,
        'Content-Type: application/x-git-receive-pack-request',
        'Content-Length: 5000',
        '',
        '00a1',
      ].join('\r\n'),
    );
    let git: number[] = [];
    await eventually('git reads the push', async () => {
      git = await gitOf(api?.child.pid ?? 0);
      return git.length >= 2;
    });
    await api?.stop('SIGKILL');
    await eventually('git has ended', async () => git.filter(isRunning).length === 0);
    expect(git.filter(isRunning)).to.deep.equal([]);
    socket.destroy();
  });
});
