import { createHash } from 'node:crypto';
import { expect } from 'chai';
import { addMember, createKey } from '../../shared/identity/commands.js';
import { markedProcesses } from '../../workers/sandbox/process-table.js';
import { nodeServer } from '../support/apps.js';
import { ApiClient } from '../support/client.js';
import { act, deploy, type Service } from '../support/deployments.js';
import { makeUser } from '../support/factories.js';
import { ENGINES, type Platform, usePlatform } from '../support/platform.js';
import { PLATFORM_USER } from '../support/platform-user.js';
import { eventually } from '../support/processes.js';
import { openShell, type ShellBody, TestShell } from '../support/shells.js';

const SIZE = { columns: 100, rows: 30 };

interface Entry {
  operation: string;
  details: Record<string, unknown> | null;
}

/** Without root, a container cannot be entered. */
const described = PLATFORM_USER === null ? describe : describe.skip;

described('A shell', function () {
  this.timeout(240_000);
  let platform: Platform;
  let service: Service;
  usePlatform({ engine: ENGINES[0] ?? 'postgres', env: { STOP_GRACE_SECONDS: '2' } }, async (started) => {
    platform = started;
    ({ service } = await platform.serviceOf('shop', nodeServer('serves')));
    await platform.client.expect('POST', `/services/${service.id}/variables`, { key: 'GREETING', value: 'hi' });
    await deploy(platform.client, service.id);
  });

  const shells: TestShell[] = [];
  afterEach(() => {
    for (const { socket } of shells.splice(0)) socket.terminate();
  });
  const open = async (body: ShellBody = {}, client = platform.client) => {
    const shell = await openShell(client, service.id, body);
    shells.push(shell);
    return shell;
  };
  const run = async (command: string | string[], input?: string) => {
    const shell = await open({ command });
    if (input !== undefined) shell.write(input);
    shell.control({ eof: true });
    const answer = { ...(await shell.ended), output: shell.output, error: shell.error };
    if (answer.exit === 255) throw new Error(answer.error);
    return answer;
  };
  const prints = (shell: TestShell, text: string) =>
    eventually(`it prints ${text}`, () => {
      if (shell.output.includes(text)) return true;
      throw new Error(JSON.stringify(shell.output));
    });
  const entries = async () => (await platform.client.expect<{ entries: Entry[] }>('GET', '/audit?limit=100')).entries;
  const openShells = async () => {
    const rows = await platform.database.db('remote_sessions').where({ kind: 'shell', ended_at: null });
    return rows.length;
  };
  const refused = async (body: ShellBody, client = platform.client) => {
    const { status, body: answer } = await client.call('POST', `/services/${service.id}/shells`, body);
    return { status, code: (answer as { error?: { code: string } }).error?.code };
  };
  const key = async (scope: 'read' | 'write', email = 'owner@example.test') => {
    const { db } = platform.database;
    const workspaceId = platform.client.workspaceId;
    const { key: secret, row } = await createKey(db, { workspaceId, email, scope, name: 'other', expiresAt: null });
    return { client: new ApiClient(`http://127.0.0.1:${platform.apiPort}/api/v1`, workspaceId, secret), id: row.id };
  };

  it('runs a command beside the application, as its user, with its variables, and hands its exit code on', async () => {
    const answer = await run('echo "$GREETING $PWD"; ls server.js; id -u; echo wrong >&2; exit 7');
    expect(answer).to.include({ exit: 7, code: 1000, error: 'wrong\n' });
    const [greeting, file, uid] = answer.output.trim().split('\n');
    expect(greeting).to.match(/^hi .*\/app$/);
    expect(file).to.equal('server.js');
    const application = await run(['node', '-e', 'console.log(require("fs").statSync("/proc/1").uid)']);
    expect(uid).to.equal(application.output.trim());
  });

  it('hands the number of a signal on', async () => {
    expect(await run('kill -TERM $$')).to.include({ exit: 143, code: 1000 });
  });

  it('reads its standard input to the end', async () => {
    const text = 'é'.repeat(400_000);
    const answer = await run(['wc', '-c'], text);
    expect(answer).to.include({ exit: 0, output: `${Buffer.byteLength(text)}\n` });
  });

  it('has a terminal with a size that changes, Unicode, and Ctrl-C', async () => {
    const shell = await open({ ...SIZE });
    await prints(shell, '$ ');
    shell.write('stty size; tty\n');
    await prints(shell, '30 100');
    await prints(shell, '/dev/pts/');
    expect(shell.output.split('stty size; tty')).to.have.length(2);
    shell.control({ resize: { columns: 90, rows: 20 } });
    await eventually('the size has changed', async () => {
      shell.write('stty size\n');
      await new Promise((resolve) => setTimeout(resolve, 100));
      return shell.output.includes('20 90') || undefined;
    });
    shell.write('echo "gr\u00fc\u00df \u{1f600}" | tr a a\n');
    await prints(shell, '\rgr\u00fc\u00df \u{1f600}');
    shell.write('sleep 1000; echo "after $?"\n');
    await new Promise((resolve) => setTimeout(resolve, 300));
    shell.write('\u0003');
    // It discards what was typed before it.
    await prints(shell, '^C');
    shell.write('echo "code $?"\n');
    await prints(shell, 'code 130');
    shell.write('exit 3\n');
    expect(await shell.ended).to.deep.equal({ exit: 3, code: 1000 });
  });

  it('reads what was typed in its order', async () => {
    const shell = await open({ ...SIZE, command: 'stty raw -echo; echo ready; head -c 1000 | md5sum' });
    await prints(shell, 'ready');
    const text = Array.from({ length: 1000 }, (_, index) => String.fromCharCode(97 + (index % 26))).join('');
    // Each character is a message, as a person types.
    for (const character of text) shell.write(character);
    await prints(shell, createHash('md5').update(text).digest('hex'));
    await shell.ended;
  });

  it('has the containment of the application and no descriptor of the platform', async () => {
    const answer = await run(
      'ls /proc/self/fd; grep -E "CapEff|NoNewPrivs|Seccomp:" /proc/self/status; ls /proc | grep -c "^[0-9]"',
    );
    const lines = answer.output.trim().split('\n');
    // The last one is that of ls, which reads the folder.
    expect(lines.slice(0, 4)).to.deep.equal(['0', '1', '2', '3']);
    expect(answer.output).to.contain('CapEff:\t0000000000000000');
    expect(answer.output).to.contain('NoNewPrivs:\t1');
    expect(answer.output).to.contain('Seccomp:\t2');
    expect(Number(lines.at(-1))).to.be.lessThan(20);
  });

  it('ends with everything that it has started', async () => {
    const before = (await markedProcesses(await platform.sandboxToken())).size;
    const shell = await open({ command: 'env -i setsid sleep 1234 & setsid sleep 1234 & echo started; cat' });
    await prints(shell, 'started');
    shell.socket.terminate();
    await eventually('nothing of it is left', async () => {
      const { output } = await run('pgrep -f "sleep 123[4]"');
      if (output === '') return true;
      throw new Error(output);
    });
    await eventually('as many processes as before', async () => {
      const now = (await markedProcesses(await platform.sandboxToken())).size;
      return now === before || undefined;
    });
  });

  it('ends when its command ends, although something that it has started holds its output', async () => {
    expect(await run('sleep 1234 & echo done')).to.include({ exit: 0, output: 'done\n' });
  });

  it('holds up a program that prints faster than the client reads', async () => {
    const shell = await open({ command: ['yes'] });
    await eventually('it prints', () => shell.bytes > 0 || undefined);
    shell.socket.pause();
    const { output } = await run(
      'sleep 2; grep wchar /proc/$(pgrep -x yes)/io; sleep 1; grep wchar /proc/$(pgrep -x yes)/io',
    );
    const [first, second] = output.trim().split('\n');
    expect(first).to.match(/^wchar: \d+$/);
    expect(second).to.equal(first);
    shell.socket.terminate();
  });

  it('is recorded in the audit log with its command, its replica and its exit code', async () => {
    await run(['sh', '-c', 'exit 5']);
    const ended = await eventually('its end is recorded', async () =>
      (await entries()).find(({ operation, details }) => operation === 'shell.end' && details?.exitCode === 5),
    );
    const opened = (await entries()).find(({ operation }) => operation === 'shell.open');
    expect(opened?.details).to.deep.include({ command: ['sh', '-c', 'exit 5'], replica: ended.details?.replica });
    expect(ended.details).to.include({ reason: 'the command ended' });
  });

  it('opens once, and not with another ticket', async () => {
    const { shell } = await platform.client.expect<{ shell: { address: string } }>(
      'POST',
      `/services/${service.id}/shells`,
      { command: 'cat' },
    );
    const first = await new TestShell(shell.address, { terminal: false }).opened();
    expect((await new TestShell(shell.address, { terminal: false }).ended).code).to.equal(1006);
    expect((await new TestShell(shell.address.replace(/.$/, 'x'), { terminal: false }).ended).code).to.equal(1006);
    first.control({ eof: true });
    expect(await first.ended).to.deep.equal({ exit: 0, code: 1000 });
  });

  it('is one of five of its service', async () => {
    await eventually('no shell is open', async () => (await openShells()) === 0 || undefined);
    const five = await Promise.all(Array.from({ length: 5 }, () => open({ command: 'cat' })));
    expect(await refused({})).to.deep.equal({ status: 409, code: 'shell_limit' });
    for (const shell of five) shell.control({ eof: true });
    await Promise.all(five.map(({ ended }) => ended));
    await eventually('another one can be opened', async () => (await openShells()) === 0 || undefined);
    expect(await run('true')).to.include({ exit: 0 });
  });

  it('ends within two seconds when its key is revoked', async () => {
    const other = await key('write');
    const shell = await open({ command: 'echo begins; sleep 4321' }, other.client);
    await prints(shell, 'begins');
    const at = Date.now();
    await platform.client.expect('DELETE', `/keys/${other.id}`);
    expect(await shell.ended).to.deep.equal({ exit: null, code: 4401 });
    // A busy machine may be late by another second.
    expect(Date.now() - at).to.be.lessThan(3_000);
    await eventually(
      'its processes have ended',
      async () => (await run('pgrep -f "sleep 432[1]"')).exit === 1 || undefined,
    );
  });

  it('is refused to a viewer, and with a key that reads', async () => {
    const { db } = platform.database;
    await makeUser(db, { email: 'viewer@example.test' });
    await db.transaction((trx) =>
      addMember(trx, { workspaceId: platform.client.workspaceId, email: 'viewer@example.test', role: 'viewer' }),
    );
    const viewer = await key('write', 'viewer@example.test');
    expect(await refused({}, viewer.client)).to.deep.equal({ status: 403, code: 'forbidden' });
    const reader = await key('read');
    expect(await refused({}, reader.client)).to.deep.equal({ status: 403, code: 'forbidden' });
  });

  it('ends with its worker, and with its replica', async () => {
    const orphan = await open({ command: 'echo begins; env -i sleep 5678' });
    await prints(orphan, 'begins');
    for (const worker of platform.workers) worker.child.kill('SIGKILL');
    expect((await orphan.ended).code).to.equal(1011);
    await platform.startWorker();
    await eventually(
      'its processes have ended',
      async () => (await run('pgrep -f "sleep 567[8]"')).exit === 1 || undefined,
    );
    const shell = await open({ command: 'echo begins; cat' });
    await prints(shell, 'begins');
    await act(platform.client, service.id, 'restart');
    expect((await shell.ended).exit).to.equal(137);
    expect(await run('true')).to.include({ exit: 0 });
    await act(platform.client, service.id, 'suspend');
    expect(await refused({})).to.deep.equal({ status: 409, code: 'conflict' });
  });
});
