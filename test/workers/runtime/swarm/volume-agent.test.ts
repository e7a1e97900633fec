import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdtemp, rm, symlink } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'chai';
import { exists } from '../../../../shared/core/exists.js';
import { type AgentAddress, callAgent } from '../../../../workers/runtime/swarm/agent-call.js';
import { agentScript } from '../../../../workers/runtime/swarm/agent-script.js';
import { listen } from '../../../support/http.js';
import { messageOf } from '../../../support/outcomes.js';
import { eventually, freePorts } from '../../../support/processes.js';

const NEVER = new AbortController().signal;
const WAYS = [
  { name: 'perl', programs: { perl: '/usr/bin/perl', sh: '/bin/sh', wc: '/usr/bin/wc' } },
  {
    name: 'the nc of busybox',
    programs: { nc: '/bin/busybox', sh: '/bin/busybox', sleep: '/bin/busybox', wc: '/usr/bin/wc' },
  },
];

for (const { name, programs } of WAYS) {
  describe(`The agent of a volume, with ${name}`, () => {
    let folder: string;
    let agent: ChildProcess;
    let address: AgentAddress;

    before(async function () {
      const paths = await Promise.all(
        Object.values(programs).map(async (path) => (await exists(path)) || path === '/bin/busybox'),
      );
      if (!paths.every(Boolean)) this.skip();
      folder = await mkdtemp(join(tmpdir(), 'ranvier-agent-'));
      for (const [program, path] of Object.entries(programs)) {
        const found = (await exists(path)) ? path : '/usr/bin/busybox';
        await symlink(found, join(folder, program));
      }
      const [port = 0] = await freePorts(1);
      address = { host: '127.0.0.1', port, token: randomBytes(8).toString('hex') };
      agent = spawn('/bin/sh', ['-c', agentScript(port)], {
        env: { PATH: folder, TOKEN: address.token },
        stdio: 'ignore',
        detached: true,
      });
      await eventually('it answers', () => callAgent(address, 'printf up', { signal: NEVER }));
    });
    after(async () => {
      if (agent?.pid) process.kill(-agent.pid, 'SIGKILL');
      if (folder) await rm(folder, { recursive: true, force: true });
    });

    /** The agent may serve one connection at a time, so a further call has to wait. */
    const call = (command: string, options: { input?: Readable; token?: string } = {}) =>
      eventually('it listens', async () => {
        const { token = address.token, input } = options;
        try {
          return {
            output: await callAgent({ ...address, token }, command, { ...(input ? { input } : {}), signal: NEVER }),
          };
        } catch (error) {
          if ((error as NodeJS.ErrnoException).code === 'ECONNREFUSED') return undefined;
          return { output: String(error) };
        }
      });

    it('returns what a command printed', async () => {
      expect(await call('printf "%s" "one two"')).to.deep.equal({ output: 'one two' });
    });

    it('gives a command its input, however long it is', async () => {
      const input = Readable.from([Buffer.alloc(3_000_000, 'a'), Buffer.from('\nexit 0\n')]);
      expect((await call('wc -c', { input })).output.trim()).to.equal('3000008');
    });

    it('tells how a command failed', async () => {
      expect((await call('echo because; exit 3')).output).to.match(/exit code 3: because/);
    });

    it('runs nothing for those who do not know its token', async () => {
      expect((await call('echo secret', { token: 'wrong' })).output)
        .to.match(/Error/)
        .and.not.match(/secret$/);
    });
  });
}

describe('A call of an agent', () => {
  it('finds the exit code after a long output, however it arrives', async () => {
    const agent = createServer(async (socket) => {
      socket.setNoDelay().write('x'.repeat(2_000_000));
      for (const piece of ['because', '\nex', 'it ', '3', '\n']) {
        await delay(50);
        socket.write(piece);
      }
      socket.end();
    });
    try {
      const address = { host: '127.0.0.1', port: await listen(agent as never), token: 'token' };
      expect(await messageOf(callAgent(address, 'cat', { signal: NEVER }))).to.match(/^exit code 3: x+because$/);
    } finally {
      agent.close();
    }
  });
});
