import { execFile } from 'node:child_process';
import { access, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { createDatabase } from '../../shared/core/database/database-client.js';
import { findApiKey, findUserByEmail } from '../../shared/identity/store.js';
import { matches, parseApiKey } from '../../shared/secrets/api-key.js';
import { verifyPassword } from '../../shared/secrets/password.js';
import { hashToken } from '../../shared/secrets/random-token.js';
import { LauncherBench } from '../support/launcher.js';
import { eventually, freePorts, type PlatformProcess } from '../support/processes.js';

const ADMIN = fileURLToPath(new URL('../../api/admin/main.js', import.meta.url));

async function modeOf(path: string): Promise<string> {
  return ((await stat(path)).mode & 0o777).toString(8);
}

describe('npm start (on Linux: it looks into /proc)', function () {
  this.timeout(240_000);
  let bench: LauncherBench;

  before(function () {
    if (process.platform !== 'linux') this.skip();
  });

  describe('on a first start', () => {
    let launcher: PlatformProcess;
    before(async () => {
      bench = await LauncherBench.create();
      launcher = await bench.launchReady();
    });
    after(() => bench.remove());

    it('prints a link that signs the owner in, which the database knows by its hash', async () => {
      const [, token = ''] = /http:\/\/localhost:\d+\/sign-in#([\w-]{43})\b/.exec(launcher.output) ?? [];
      const { DATABASE_URL = '' } = await bench.apiSettings();
      const db = createDatabase({ url: DATABASE_URL, name: 'test', poolSize: 1 });
      try {
        const links = await db('sign_in_links').where({ token_hash: hashToken(token) });
        expect(links).to.have.length(1);
      } finally {
        await db.destroy();
      }
    });

    it('keeps the credentials and secrets from other users, below a folder that they can enter', async () => {
      expect(await modeOf(bench.dataDir)).to.equal('711');
      for (const secret of ['credentials.json', 'secrets.key', 'postgres/password']) {
        expect(await modeOf(join(bench.dataDir, secret)), secret).to.equal('600');
      }
      expect(await modeOf(join(bench.dataDir, 'postgres/data'))).to.equal('700');
    });

    it('makes a workspace with a verified owner and a write key that the database knows', async () => {
      const credentials = await bench.credentials();
      expect(credentials).to.include({
        baseUrl: `http://localhost:${bench.ports.api}/api/v1`,
        edgeUrl: `http://localhost:${bench.ports.edge}`,
        dashboardUrl: `http://localhost:${bench.ports.api}/admin/queues`,
      });
      const db = createDatabase({ url: (await bench.apiSettings()).DATABASE_URL ?? '', name: 'test', poolSize: 1 });
      try {
        const parsed = parseApiKey(credentials.apiKey);
        const key = await findApiKey(db, parsed?.lookup ?? '');
        expect(key).to.include({ workspace_id: credentials.workspaceId, scope: 'write', expires_at: null });
        expect(matches(parsed?.secret ?? '', key?.secret_hash ?? Buffer.alloc(0))).to.equal(true);
        const user = await findUserByEmail(db, credentials.email);
        expect(user?.email_verified_at).to.be.instanceOf(Date);
        expect(await verifyPassword(credentials.password, user?.password_hash ?? null)).to.equal(true);
      } finally {
        await db.destroy();
      }
    });

    it('gives the processes their settings', async () => {
      const { email, password } = await bench.credentials();
      expect(await bench.apiSettings()).to.include({
        ALLOW_LOCAL_REPOSITORIES: 'true',
        DASHBOARD_USER: email,
        DASHBOARD_PASSWORD: password,
        SECRETS_KEY: (await readFile(join(bench.dataDir, 'secrets.key'), 'utf8')).trim(),
      });
    });

    it('starts a process again that ended by itself', async () => {
      const { pid } = await bench.apiSettings();
      process.kill(pid, 'SIGKILL');
      await eventually('another API answers', async () => (await bench.apiSettings()).pid !== pid);
    });

    it('refuses a second start on the same folder and names the first one', async () => {
      const second = bench.launch();
      await eventually('the second start has ended', () => second.ended);
      expect(second.child.exitCode).to.equal(1);
      const { pid } = JSON.parse(await readFile(join(bench.dataDir, 'launch.lock'), 'utf8'));
      expect(second.output).to.include(`runs already on ${bench.dataDir} (pid ${pid})`);
      await bench.apiSettings();
    });

    it('lets "npm run admin" work beside it without any variable but DATA_DIR', async () => {
      const { workspaceId } = await bench.credentials();
      const args = [ADMIN, 'key', 'list', '--workspace', workspaceId, '--json'];
      const stdout = await new Promise<string>((resolve, reject) => {
        execFile(process.execPath, args, { env: { DATA_DIR: bench.dataDir } }, (error, out) =>
          error ? reject(error) : resolve(out),
        );
      });
      expect(JSON.parse(stdout)).to.have.length(1);
    });
  });

  // The tests of a group go on with the same data, because the first start of each takes seconds of processor time.
  describe('when it ends', () => {
    before(async () => {
      bench = await LauncherBench.create();
    });
    afterEach(() => bench.end());
    after(() => bench.remove());

    it('SIGTERM lets the processes drain and leaves nothing running', async () => {
      const launcher = await bench.launchReady();
      await launcher.stop();
      expect(launcher.child.exitCode).to.equal(0);
      await access(join(bench.folder, 'drained'));
      await bench.nothingLeft();
    });

    it('a Ctrl-C that npm repeats is one Ctrl-C', async () => {
      const launcher = await bench.launchReady();
      launcher.kill('SIGINT');
      await launcher.stop('SIGINT');
      expect(launcher.child.exitCode).to.equal(0);
      await access(join(bench.folder, 'drained'));
    });

    it('kill -9 leaves nothing running, and the next start goes on with the same data and addresses', async () => {
      const launcher = await bench.launchReady();
      const [credentials, settings] = [await bench.credentials(), await bench.apiSettings()];
      await launcher.stop('SIGKILL');
      await bench.nothingLeft();
      const [api = 0] = await freePorts(1);
      await bench.launchReady({ PORT: String(api) });
      expect(await bench.credentials()).to.deep.equal({
        ...credentials,
        baseUrl: `http://localhost:${api}/api/v1`,
        dashboardUrl: `http://localhost:${api}/admin/queues`,
      });
      const { DATABASE_URL, SECRETS_KEY } = await bench.apiSettings(api);
      expect({ DATABASE_URL, SECRETS_KEY }).to.deep.equal({
        DATABASE_URL: settings.DATABASE_URL,
        SECRETS_KEY: settings.SECRETS_KEY,
      });
    });

    it('a start right after kill -9 waits for what is left and takes its place', async () => {
      const launcher = await bench.launchReady();
      const { pid } = await bench.apiSettings();
      await launcher.stop('SIGKILL');
      await bench.launchReady();
      expect((await bench.apiSettings()).pid).to.not.equal(pid);
    });
  });

  describe('when something is in the way', () => {
    before(async () => {
      bench = await LauncherBench.create();
    });
    afterEach(() => bench.end());
    after(() => bench.remove());

    it('a stale lock is taken over, even where its number belongs to another process now', async () => {
      await (await bench.launchReady()).stop('SIGKILL');
      const lock = join(bench.dataDir, 'launch.lock');
      const stale = JSON.parse(await readFile(lock, 'utf8'));
      await writeFile(lock, JSON.stringify({ ...stale, pid: process.pid }));
      await bench.launchReady();
      expect(JSON.parse(await readFile(lock, 'utf8')).pid).to.not.equal(process.pid);
    });

    it('a postmaster.pid whose number belongs to another process now does not stop PostgreSQL', async () => {
      await (await bench.launchReady()).stop();
      const file = join(bench.dataDir, 'postgres/data/postmaster.pid');
      await writeFile(file, `${process.pid}\n${bench.dataDir}\n`);
      await bench.launchReady();
      expect((await readFile(file, 'utf8')).split('\n')[0]).to.not.equal(String(process.pid));
    });

    it('a port in use is named with its variable before anything starts', async () => {
      const taken = createServer();
      await new Promise<void>((resolve) => taken.listen(bench.ports.edge, resolve));
      try {
        const launcher = bench.launch();
        await eventually('the launcher has ended', () => launcher.ended, 90_000);
        expect(launcher.child.exitCode).to.equal(1);
        expect(launcher.output).to.match(new RegExp(`Port ${bench.ports.edge} is in use.*set EDGE_PORT`));
        expect(launcher.output).to.not.include('api ');
      } finally {
        taken.close();
      }
    });

    it('an API that never answers its first request is asked again', async () => {
      const file = join(bench.folder, 'api.mjs');
      const api = await readFile(file, 'utf8');
      await writeFile(file, `let asked = 0;${api.replace('=> response', '=> asked++ && response')}`);
      await bench.launchReady();
      await writeFile(file, api);
    });

    it('lost credentials are made anew for the same workspace', async () => {
      await (await bench.launchReady()).stop();
      const before = await bench.credentials();
      await rm(join(bench.dataDir, 'credentials.json'));
      await bench.launchReady();
      const after = await bench.credentials();
      expect(after.workspaceId).to.equal(before.workspaceId);
      expect(after.apiKey).to.not.equal(before.apiKey);
    });

    it('a Caddy that is not there is named before anything starts', async () => {
      const [port] = await freePorts(1);
      const launcher = bench.launch({ EDGE: 'caddy', CADDY_ADMIN_URL: `http://127.0.0.1:${port}` });
      await eventually('the launcher has ended', () => launcher.ended, 90_000);
      expect(launcher.child.exitCode).to.equal(1);
      expect(launcher.output)
        .to.include(`127.0.0.1:${port}`)
        .and.match(/start Caddy, or set CADDY_ADMIN_URL/);
      expect(launcher.output).to.not.include('api ');
    });

    it('settings that are wrong are all named before anything starts', async () => {
      const launcher = bench.launch({ PORT: 'x', RUNTIME: 'magic' });
      await eventually('the launcher has ended', () => launcher.ended, 90_000);
      expect(launcher.output)
        .to.match(/PORT must be an integer/)
        .and.match(/RUNTIME must be one of/);
    });
  });

  it('a process that ends at once again and again ends the launch and is named', async () => {
    bench = await LauncherBench.create("api: node api.mjs\nworker: sh -c 'exit 7'\n");
    try {
      const launcher = bench.launch();
      await eventually('the launcher has ended', () => launcher.ended, 90_000);
      expect(launcher.child.exitCode).to.equal(1);
      expect(launcher.output).to.match(
        /worker \(sh -c 'exit 7'\) ended \d times right after its start, at last with exit code 7/,
      );
      await bench.nothingLeft();
    } finally {
      await bench.remove();
    }
  });
});
