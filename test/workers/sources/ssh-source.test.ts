import { type ChildProcess, execFile, spawn, spawnSync } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect } from 'chai';
import { createLogger } from '../../../shared/core/log.js';
import { Sensitive } from '../../../shared/core/sensitive.js';
import { Keyring } from '../../../shared/secrets/keyring.js';
import { addressForWorkspace } from '../../../shared/ssh/model.js';
import { ensureDeployKey, forgetSshHost, listSshHosts } from '../../../shared/ssh/store.js';
import { GitSource } from '../../../workers/sources/git-source.js';
import type { RepositorySource } from '../../../workers/sources/repository-source.js';
import { createSshAccess } from '../../../workers/sources/ssh-access.js';
import { makeWorkspace } from '../../support/factories.js';
import { createTestDatabase, type TestDatabase } from '../../support/postgres.js';
import { eventually, freePorts } from '../../support/processes.js';
import { createRepository, type TestRepository } from '../../support/repositories.js';

const run = promisify(execFile);
const SSHD = '/usr/sbin/sshd';
const hasSshd = spawnSync(SSHD, ['-?']).error === undefined;
const never = new AbortController().signal;

describe(`Private repositories over SSH${hasSshd ? '' : ': sshd is not installed'}`, () => {
  let root: string;
  let database: TestDatabase;
  let repository: TestRepository;
  let server: ChildProcess | null = null;
  let port = 0;
  let source: RepositorySource;
  let workspaceId: string;
  let address: string;
  const keyring = new Keyring(new Sensitive(Buffer.alloc(32, 5).toString('base64')));

  before(async function () {
    if (!hasSshd) this.skip();
    root = await mkdtemp(join(tmpdir(), 'ranvier-ssh-'));
    database = await createTestDatabase();
    repository = await createRepository({ 'index.html': 'private' }, 'Say it');
    workspaceId = (await makeWorkspace(database.db)).id;
    [port = 0] = await freePorts(1);
    address = addressForWorkspace(`ssh://${userInfo().username}@127.0.0.1:${port}${repository.folder}`, workspaceId);
    const config = { dataDir: join(root, 'data'), allowLocalRepositories: true, buildEnvironment: {} };
    await mkdir(config.dataDir);
    const log = createLogger('test', 'silent');
    source = new GitSource({
      config,
      log,
      ssh: createSshAccess({ db: database.db, keyring, dataDir: config.dataDir }),
    });
    await startSshd('first');
  });
  after(async () => {
    await stopSshd();
    await repository?.remove();
    await database?.drop();
    if (root) await rm(root, { recursive: true, force: true });
  });

  async function startSshd(hostKey: string): Promise<void> {
    const keyFile = join(root, hostKey);
    await run('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', keyFile]);
    const settings = [
      `Port ${port}`,
      'ListenAddress 127.0.0.1',
      `HostKey ${keyFile}`,
      `AuthorizedKeysFile ${join(root, 'authorized_keys')}`,
      `PidFile ${join(root, 'pid')}`,
      'StrictModes no',
      'UsePAM no',
      'PasswordAuthentication no',
      'SetEnv GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=safe.directory GIT_CONFIG_VALUE_0=*',
    ];
    await writeFile(join(root, 'config'), `${settings.join('\n')}\n`);
    // As root, the server needs this folder to separate privileges.
    await mkdir('/run/sshd', { recursive: true }).catch(() => undefined);
    server = spawn(SSHD, ['-D', '-e', '-f', join(root, 'config')], { stdio: 'ignore' });
    await eventually('the server answers', async () => {
      const { stdout } = await run('ssh-keyscan', ['-T', '2', '-p', String(port), '127.0.0.1']);
      return stdout.includes('ssh-ed25519');
    });
  }

  async function stopSshd(): Promise<void> {
    if (server === null) return;
    const exit = new Promise((resolve) => server?.once('exit', resolve));
    server.kill('SIGTERM');
    await exit;
    server = null;
  }

  const resolveIt = () => source.resolve({ url: address, ref: 'main', signal: never });

  async function failure(promise: Promise<unknown>): Promise<string> {
    const error = await promise.then(
      () => null,
      (reason: Error) => reason,
    );
    return error?.message ?? 'it succeeded';
  }

  it('are refused until the repository has the deploy key, and the message says so', async () => {
    await writeFile(join(root, 'authorized_keys'), '');
    expect(await failure(resolveIt())).to.match(/refuses the deploy key of the workspace; add its public half/);
    const { public_key: publicKey } = await ensureDeployKey(database.db, keyring, workspaceId);
    await writeFile(join(root, 'authorized_keys'), `${publicKey}\n`);
    const { sha, message } = await resolveIt();
    expect(message).to.equal('Say it');
    const directory = await mkdtemp(join(root, 'out-'));
    await source.checkout({ url: address, sha, directory, signal: never });
    expect(await readFile(join(directory, 'index.html'), 'utf8')).to.equal('private');
    expect([...(await source.heads({ url: address, branches: ['main'], signal: never }))]).to.deep.equal([
      ['main', sha],
    ]);
  });

  it('of one workspace are not read with the key of another', async () => {
    const other = (await makeWorkspace(database.db)).id;
    const url = addressForWorkspace(`ssh://${userInfo().username}@127.0.0.1:${port}${repository.folder}`, other);
    expect(await failure(source.resolve({ url, ref: 'main', signal: never }))).to.match(/refuses the deploy key/);
  });

  it('of a server with another host key than before are refused until the pinned one is forgotten', async () => {
    const [pinned] = await listSshHosts(database.db, workspaceId);
    expect(pinned?.host).to.equal(`[127.0.0.1]:${port}`);
    await stopSshd();
    await startSshd('second');
    expect(await failure(resolveIt())).to.match(/another host key than on its first use/);
    await database.db.transaction((trx) => forgetSshHost(trx, workspaceId, pinned?.id ?? ''));
    expect((await resolveIt()).message).to.equal('Say it');
  });

  it('at a name that resolves anew are reached at the checked address', async () => {
    const config = { dataDir: join(root, 'data'), allowLocalRepositories: false, buildEnvironment: {} };
    const ssh = createSshAccess({ db: database.db, keyring, dataDir: config.dataDir });
    // Only this policy resolves the name.
    const policy = { allowLocal: false, resolve: async () => ['127.0.0.1'], isPrivate: () => false };
    const source = new GitSource({ config, log: createLogger('test', 'silent'), ssh, policy });
    const url = `ssh://${userInfo().username}@known.test:${port}${repository.folder}`;
    const at = { url: addressForWorkspace(url, workspaceId), ref: 'main', signal: never };
    expect((await source.resolve(at)).message).to.equal('Say it');
  });

  it('at private addresses are refused in production', async () => {
    const config = { dataDir: join(root, 'data'), allowLocalRepositories: false, buildEnvironment: {} };
    const ssh = createSshAccess({ db: database.db, keyring, dataDir: config.dataDir });
    const policy = {
      allowLocal: false,
      resolve: async () => ['127.0.0.1'],
      isPrivate: (text: string) => text === '127.0.0.1',
    };
    const strict = new GitSource({ config, log: createLogger('test', 'silent'), ssh, policy });
    const named = addressForWorkspace(`git@git.example.com:x/y.git`, workspaceId);
    expect(await failure(strict.resolve({ url: named, ref: 'main', signal: never }))).to.match(
      /private address 127\.0\.0\.1/,
    );
    expect(await failure(strict.resolve({ url: address, ref: 'main', signal: never }))).to.match(/private address/);
  });
});
