import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { connect } from 'node:net';
import { expect } from 'chai';
import { addMember, createKey } from '../../shared/identity/commands.js';
import { markedProcesses } from '../../workers/sandbox/process-table.js';
import { nodeServer } from '../support/apps.js';
import { ApiClient } from '../support/client.js';
import { act, createService, deploy, type Service } from '../support/deployments.js';
import { makeUser } from '../support/factories.js';
import { ENGINES, type Platform, usePlatform } from '../support/platform.js';
import { eventually } from '../support/processes.js';
import { openShell, type ShellBody, TestShell } from '../support/shells.js';

const SIZE = { columns: 100, rows: 30 };

interface Entry {
  operation: string;
  details: Record<string, unknown> | null;
}

describe('A shell', function () {
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
    // The line editor of the shell deletes characters, not bytes.
    shell.write('echo "<\u00fc\u{1f600}x"\u007f\u007f\u007f>\u0022\n');
    await prints(shell, '\r<\u00fc>\r\n');
    shell.write('sleep 1000; echo "after $?"\n');
    await new Promise((resolve) => setTimeout(resolve, 300));
    shell.write('\u0003');
    // Ctrl-C discards what was typed before it is handled.
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
    // Each character is a message of its own, as when a person types.
    for (const character of text) shell.write(character);
    await prints(shell, createHash('md5').update(text).digest('hex'));
    await shell.ended;
  });

  it('has the containment of the application and no descriptor of the platform', async () => {
    const answer = await run(
      'ls /proc/self/fd; grep -E "CapEff|NoNewPrivs|Seccomp:" /proc/self/status; ls /proc | grep -c "^[0-9]"',
    );
    const lines = answer.output.trim().split('\n');
    // The last descriptor is that of ls, which reads the folder.
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
    expect(opened?.details).to.include({ address: '127.0.0.1' });
    expect(ended.details).to.include({ reason: 'the command ended', address: '127.0.0.1' });
  });

  it('is recorded with the reason for its end', async () => {
    const shell = await open({ command: ['cat', '/proc/self/limits', '-'] });
    await prints(shell, 'Max');
    shell.socket.close();
    await eventually('its end is recorded', async () => {
      const ended = (await entries()).find(({ operation }) => operation === 'shell.end');
      return ended?.details?.reason === 'the client left' && JSON.stringify(ended.details.command).includes('limits');
    });
  });

  it('is recorded if the workspace says so, and its user is told', async () => {
    const { client } = platform;
    const path = `/services/${service.id}/recordings`;
    const set = (recordShells: boolean) => client.expect('PATCH', '', { configuration: { recordShells } });
    interface Recordings {
      recordings: { id: string; command: unknown; exitCode: number | null }[];
    }
    await run('true');
    expect(await client.expect('GET', path))
      .to.have.property('recordings')
      .that.deep.equals([]);
    await set(true);
    const answer = await run('echo printed; exit 6');
    const terminal = await open({ ...SIZE, command: 'cat' });
    await set(false);
    expect(answer).to.include({ output: 'printed\n', error: 'This shell is recorded.\n' });
    await prints(terminal, 'This shell is recorded.\r\n');
    terminal.write('typed\n\u0004');
    await terminal.ended;
    const ended = await eventually('it is stored', async () => {
      const { recordings } = await client.expect<Recordings>('GET', path);
      return recordings.find(({ exitCode }) => exitCode === 6);
    });
    expect(ended.command).to.equal('echo printed; exit 6');
    const { recordings } = await client.expect<Recordings>('GET', path);
    expect(recordings).to.have.length(2);
    const texts = await Promise.all(
      recordings.map(async ({ id }) =>
        eventually('it is stored', async () => {
          const { asciicast } = await client.expect<{ asciicast: string }>('GET', `${path}/${id}`);
          return asciicast.includes('"o"') ? asciicast : undefined;
        }),
      ),
    );
    expect(texts[0]).to.contain('"width":100').and.to.contain('typed');
    expect(texts[1]).to.contain('printed\\r\\n');
    const { db } = platform.database;
    await makeUser(db, { email: 'curious@example.test' });
    await db.transaction((trx) =>
      addMember(trx, { workspaceId: client.workspaceId, email: 'curious@example.test', role: 'developer' }),
    );
    const developer = await key('read', 'curious@example.test');
    expect((await developer.client.call('GET', path)).status).to.equal(403);
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

  it('closes the connection of a client that is refused and does not leave', async () => {
    const socket = connect({ port: platform.apiPort, host: '127.0.0.1', allowHalfOpen: true });
    const closed = new Promise((resolve) => socket.once('close', resolve));
    const headers =
      'Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==';
    socket.write(`GET /api/v1/shells/unknown HTTP/1.1\r\nHost: x\r\n${headers}\r\n\r\n`);
    const [answer] = (await once(socket, 'data')) as [Buffer];
    expect(answer.toString()).to.match(/^HTTP\/1\.1 404 /);
    socket.on('error', () => undefined);
    // Writing fails once the platform has closed the connection.
    const timer = setInterval(() => socket.write('more'), 200);
    await closed;
    clearInterval(timer);
  });

  it('needs the role of an admin if its variables come from a protected environment', async () => {
    const { db } = platform.database;
    const { workspaceId } = platform.client;
    await makeUser(db, { email: 'reader@example.test' });
    await db.transaction((trx) => addMember(trx, { workspaceId, email: 'reader@example.test', role: 'developer' }));
    const { client } = await key('write', 'reader@example.test');
    const shell = await open({ command: 'cat' }, client);
    await db('snapshots').where({ service_id: service.id }).update({ read_protected: true });
    try {
      expect(await shell.ended).to.include({ code: 4401 });
      expect(await refused({ command: 'env' }, client)).to.deep.equal({ status: 403, code: 'forbidden' });
      const run = await client.call('POST', `/services/${service.id}/runs`, { command: 'env' });
      expect(run.status).to.equal(403);
      expect(await (await open({ command: 'exit 4' })).ended).to.include({ exit: 4 });
    } finally {
      await db('snapshots').where({ service_id: service.id }).update({ read_protected: false });
    }
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

  it('is one of twenty of its workspace', async () => {
    await eventually('no shell is open', async () => (await openShells()) === 0 || undefined);
    const { db } = platform.database;
    const other = await createService(platform.client, { name: 'other', kind: 'redis', configuration: {} });
    const shell = await open({ command: 'cat' });
    await db.raw(
      `insert into remote_sessions (id, kind, workspace_id, service_id, replica_id, host_id, actor, user_id, credential, credential_id,
                                    request_id, ticket_hash, expires_at)
       select gen_random_uuid(), kind, workspace_id, ?, replica_id, host_id, actor, user_id, credential, credential_id,
              request_id, decode(md5(n::text), 'hex'), now() + interval '1 minute'
         from remote_sessions, generate_series(1, 19) n where ended_at is null`,
      [other.id],
    );
    expect(await refused({})).to.deep.equal({ status: 409, code: 'shell_limit' });
    await db('remote_sessions').where({ service_id: other.id }).delete();
    expect(await run('true')).to.include({ exit: 0 });
    shell.socket.close();
  });

  it('ends when its owner becomes a viewer', async () => {
    const { db } = platform.database;
    const { workspaceId } = platform.client;
    await makeUser(db, { email: 'developer@example.test' });
    await db.transaction((trx) => addMember(trx, { workspaceId, email: 'developer@example.test', role: 'developer' }));
    const developer = await key('write', 'developer@example.test');
    const shell = await open({ command: 'echo begins; cat' }, developer.client);
    await prints(shell, 'begins');
    await db('memberships').where({ workspace_id: workspaceId, role: 'developer' }).update({ role: 'viewer' });
    expect((await shell.ended).code).to.equal(4401);
    await eventually('its end is recorded', async () => {
      const ended = (await entries()).find(({ operation }) => operation === 'shell.end');
      return ended?.details?.reason === 'the role or the rights of its owner changed';
    });
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
    expect(await shell.ended).to.deep.equal({ exit: 137, code: 4404 });
    await eventually('its end is recorded', async () => {
      const ended = (await entries()).find(({ operation }) => operation === 'shell.end');
      return ended?.details?.reason === 'the replica has ended';
    });
    expect(await run('true')).to.include({ exit: 0 });
    await act(platform.client, service.id, 'suspend');
    expect(await refused({})).to.deep.equal({ status: 409, code: 'conflict' });
  });
});
