import { chmod, readFile, rm, stat } from 'node:fs/promises';
import { createServer, type Server, Socket } from 'node:net';
import { join } from 'node:path';
import { expect } from 'chai';
import type { AuditEntryPresentation } from '../../api/resources/audit/routes.js';
import { addMember } from '../../shared/identity/commands.js';
import { nodeServer } from '../support/apps.js';
import { visit } from '../support/client.js';
import { makeUser } from '../support/factories.js';
import { ENGINES, type Platform, usePlatform } from '../support/platform.js';
import { eventually } from '../support/processes.js';
import { createPlatformRepository, type TestRepository, writeFiles } from '../support/repositories.js';
import { hasScript, Rnv, type RnvResult, resultOf } from '../support/rnv.js';

const EMAIL = 'ada@example.test';
const PASSWORD = 'correct horse battery staple';

function ticker(word: string): Record<string, string> {
  const files = nodeServer(word);
  return {
    ...files,
    'server.js': `${files['server.js']}\nlet n = 0; setInterval(() => console.log('tick ' + n++), 100);`,
  };
}

/** A TCP proxy between `rnv` and the API, whose connections can be cut. */
class Cable {
  readonly #server: Server;
  readonly #open = new Set<Socket>();
  readonly #to: number;
  #cut = false;
  port = 0;
  refused = 0;

  constructor(to: number) {
    this.#to = to;
    this.#server = createServer((socket) => {
      if (this.#cut) {
        this.refused += 1;
        return socket.destroy();
      }
      const api = new Socket();
      for (const each of [socket, api]) {
        this.#open.add(each);
        each
          .on('error', () => undefined)
          .on('close', () => {
            this.#open.delete(each);
            socket.destroy();
            api.destroy();
          });
      }
      api.connect(this.#to, '127.0.0.1');
      socket.pipe(api).pipe(socket);
    });
  }

  async start(): Promise<string> {
    await new Promise<void>((done) => this.#server.listen(0, '127.0.0.1', done));
    this.port = (this.#server.address() as { port: number }).port;
    return `http://127.0.0.1:${this.port}`;
  }

  cut(): void {
    this.#cut = true;
    for (const socket of this.#open) socket.destroy();
  }

  mend(): void {
    this.#cut = false;
  }

  stop(): void {
    this.cut();
    this.#server.close();
  }
}

describe('The command line rnv', function () {
  this.timeout(240_000);
  let platform: Platform;
  let rnv: Rnv;
  let app: TestRepository;
  let url: string;
  let key: string;

  usePlatform({ engine: ENGINES[0] ?? 'postgres' }, async (started) => {
    platform = started;
    url = `http://127.0.0.1:${platform.apiPort}`;
    ({ key } = platform.client);
    await makeUser(platform.database.db, { email: EMAIL, password: PASSWORD });
    const { workspaceId } = platform.client;
    await platform.database.db.transaction((trx) => addMember(trx, { workspaceId, email: EMAIL, role: 'developer' }));
    rnv = await Rnv.create();
    app = await createPlatformRepository(ticker('one'), 'First');
  });
  after(async () => {
    await rnv?.remove();
    await app?.remove();
  });

  const expectCode = (result: RnvResult, code: number) =>
    expect(result.code, `${result.stdout}\n${result.stderr}`).to.equal(code);
  const here = (input?: string) => ({ cwd: app.folder, ...(input === undefined ? {} : { input }) });

  it('ends with the number of what went wrong, and asks nothing without a terminal', async () => {
    expectCode(await rnv.run(['nothing']), 2);
    expectCode(await rnv.run(['status']), 3);
    expectCode(await rnv.run(['login', '--url', url]), 2);
    expectCode(await rnv.run(['login', '--url', url, '--email', EMAIL], { input: 'wrong' }), 3);
    expectCode(await rnv.run(['status'], { env: { RNV_URL: url, RNV_KEY: `${key.slice(0, -1)}!` } }), 3);
    const closed = { RNV_URL: 'http://127.0.0.1:9', RNV_KEY: key };
    expectCode(await rnv.run(['status'], { env: closed }), 8);
    expectCode(await rnv.run(['open', '-s', 'nope'], { env: { RNV_URL: url, RNV_KEY: key } }), 5);
    const stored = await stat(rnv.settingsFile).catch((error: NodeJS.ErrnoException) => error.code);
    expect(stored, 'nothing is stored').to.equal('ENOENT');
  });

  it('login makes a key of its own, in a file that only the user can read', async () => {
    const result = await rnv.run(['login', '--url', url, '--email', EMAIL], { input: `${PASSWORD}\n` });
    expectCode(result, 0);
    const { logins } = JSON.parse(await readFile(rnv.settingsFile, 'utf8'));
    expect(logins[0]).to.include({ url, email: EMAIL, workspaceId: platform.client.workspaceId });
    expect(result.stdout + result.stderr)
      .to.not.include(logins[0].key)
      .and.not.include(PASSWORD);
    expect((await stat(rnv.settingsFile)).mode & 0o777).to.equal(0o600);
    await chmod(rnv.settingsFile, 0o644);
    const again = await rnv.run(['login', '--url', url, '--key'], { input: `${logins[0].key}\n` });
    expectCode(again, 0);
    expect((await stat(rnv.settingsFile)).mode & 0o777).to.equal(0o600);
  });

  it('up makes the service, deploys HEAD, and gives a script the address alone', async () => {
    expectCode(await rnv.run(['up'], here()), 2);
    const result = await rnv.run(['up', '--name', 'shop'], here());
    expectCode(result, 0);
    const [address, ...more] = result.stdout.trimEnd().split('\n');
    expect(more).to.deep.equal([]);
    expect((await visit(address ?? '', platform.edgePort)).body).to.equal('one');
    expect(result.stderr)
      .to.match(/^Pushing main \w{7} "First" to shop$/m)
      .and.match(/^ {2}build +[\d.]+ s/m);
    const sha = await app.git('rev-parse', 'HEAD');
    const status = JSON.parse((await rnv.run(['status', '--json'], here())).stdout);
    const { live } = status.services[0];
    expect(live).to.include({ commitSha: sha, status: 'live' });
    const { entries } = await platform.client.expect<{ entries: AuditEntryPresentation[] }>('GET', '/audit');
    const entry = entries.find(({ target }) => target.id === live.id);
    expect(entry, 'the push is in the audit log').to.include({ operation: 'deployment.create', actor: EMAIL });
  });

  it('up deploys what is not committed, and leaves the repository as it was', async () => {
    const before = [await app.git('count-objects'), await app.git('for-each-ref')];
    const { 'server.js': code = '' } = ticker('two');
    await writeFiles(app.folder, { 'server.js': code, 'new-file.txt': 'new' });
    const result = await rnv.run(['up', '--json'], here());
    expectCode(result, 0);
    const { service, deployment } = JSON.parse(result.stdout);
    expect(deployment.status).to.equal('live');
    expect(result.stderr).to.include('with 2 uncommitted files');
    expect((await visit(service.url, platform.edgePort)).body).to.equal('two');
    expect([await app.git('count-objects'), await app.git('for-each-ref')]).to.deep.equal(before);
    expect(await app.git('status', '--porcelain')).to.equal(' M server.js\n?? new-file.txt');
  });

  it('the deployment’s record decides: 20 with its cause if it failed, 22 if it goes on', async () => {
    const broken = { scripts: { build: 'echo no such module >&2; exit 3', start: 'node server.js' } };
    await writeFiles(app.folder, { 'package.json': JSON.stringify(broken) });
    const failed = await rnv.run(['up'], here());
    expectCode(failed, 20);
    expect(failed.stdout).to.equal('');
    expect(failed.stderr)
      .to.match(/build +[\d.]+ s +FAILED/)
      .and.include('code 3')
      .and.match(/Release \w{8} is still live/);
    const [, id = ''] = /--deployment (\w+)/.exec(failed.stderr) ?? [];
    const log = await rnv.run(['logs', '--deployment', id], here());
    expect(log.stdout).to.include('no such module');
    await writeFiles(app.folder, { 'package.json': null });
    expectCode(await rnv.run(['deploy', '--timeout', '0.001s'], here()), 22);
    await eventually('nothing is deployed any more', async () => {
      const { services } = JSON.parse((await rnv.run(['status', '--json'], here())).stdout);
      if (services[0].active) throw new Error(services[0].active.status);
      return true;
    });
  });

  it('rollback needs a yes', async () => {
    expectCode(await rnv.run(['rollback'], here()), 2);
    const result = await rnv.run(['rollback', '--yes'], here());
    expectCode(result, 0);
    expect((await visit(result.stdout.trim(), platform.edgePort)).body).to.equal('two');
  });

  it('domains shows the record that proves a host name', async () => {
    const added = await rnv.run(['domains', 'add', 'shop.example.test'], here());
    expectCode(added, 0);
    expect(added.stdout).to.match(/^shop\.example\.test {2}pending\n\S+ {2}TXT {2}\S+\n$/);
    expect((await rnv.run(['domains'], here())).stdout).to.match(/^shop\.example\.test {2}pending/);
    expectCode(await rnv.run(['domains', 'remove', 'shop.example.test', '-y'], here()), 0);
    expectCode(await rnv.run(['domains', 'remove', 'shop.example.test', '-y'], here()), 5);
  });

  it('volumes are created, made larger and deleted', async () => {
    const added = await rnv.run(['volumes', 'create', 'uploads', '--path', '/data', '--size', '1'], here());
    expectCode(added, 0);
    expect(added.stdout).to.equal('uploads  /data  0.00 of 1 GB  not mounted yet\n');
    expectCode(await rnv.run(['volumes', 'create', 'etc', '--path', '/etc', '--size', '1'], here()), 2);
    expectCode(await rnv.run(['volumes', 'resize', 'uploads', '--size', '1'], here()), 0);
    expect((await rnv.run(['volumes'], here())).stdout).to.match(/^uploads {2}\/data/);
    expectCode(await rnv.run(['volumes', 'delete', 'uploads', '-y'], here()), 0);
    expectCode(await rnv.run(['volumes', 'delete', 'uploads', '-y'], here()), 5);
  });

  it('env takes values by stdin only and never shows one', async () => {
    expectCode(await rnv.run(['env', 'set', 'TOKEN=hidden'], here()), 2);
    const outputs = [
      await rnv.run(['env', 'set', 'TOKEN'], here('hidden')),
      await rnv.run(['env', 'import'], here('# a file\nexport TOKEN="hid\\nden"\nOTHER=hidden\n')),
      await rnv.run(['env', 'unset', 'OTHER'], here()),
      await rnv.run(['env', 'list', '--json'], here()),
    ];
    for (const result of outputs) expectCode(result, 0);
    const { variables } = JSON.parse(outputs[3]?.stdout ?? '');
    expect(variables.map((variable: { key: string }) => variable.key)).to.deep.equal(['TOKEN']);
    expect(JSON.stringify(outputs)).to.not.include('hidden');
    expectCode(await rnv.run(['env', 'unset', 'OTHER'], here()), 5);
  });

  it('env push and pull carry names and values there, and names alone back', async () => {
    await writeFiles(app.folder, { '.env': 'LOCAL=stays\nPUSHED=hidden' });
    const pushed = await rnv.run(['env', 'push', '.env', '--scope', 'production'], here());
    expectCode(pushed, 0);
    expectCode(await rnv.run(['env', 'unset', 'LOCAL'], here()), 0);
    expect((await rnv.run(['env'], here())).stdout).to.match(/^PUSHED +variable +production /m);
    const pulled = await rnv.run(['env', 'pull'], here());
    expectCode(pulled, 0);
    expect(pulled.stdout).to.equal('TOKEN\n');
    const file = join(app.folder, '.env');
    expect(await readFile(file, 'utf8')).to.equal('LOCAL=stays\nPUSHED=hidden\nTOKEN=\n');
    await rm(file);
    expectCode(await rnv.run(['env', 'unset', 'PUSHED'], here()), 0);
  });

  it('ps and scale: how many replicas there are, and how many there should be', async () => {
    expectCode(await rnv.run(['scale'], here()), 2);
    expectCode(await rnv.run(['scale', '2', '--min', '1'], here()), 2);
    expectCode(await rnv.run(['scale', '2'], here()), 0);
    expect((await rnv.run(['ps'], here())).stdout).to.match(/^replicas +2$/m);
    const scaled = JSON.parse((await rnv.run(['scale', '--min', '1', '--max', '3', '--json'], here())).stdout);
    expect(scaled.service.configuration).to.include({ scaling: 'auto', minReplicas: 1, maxReplicas: 3 });
    expect((await rnv.run(['scale', '1'], here())).stderr).to.include('1 replica ');
    const { wanted } = JSON.parse((await rnv.run(['ps', '--json'], here())).stdout);
    expect(wanted).to.include({ scaling: 'manual', replicas: 1 });
  });

  it('deployments lists the ids that other commands take; cancel says if nothing is under way', async () => {
    const { stdout } = await rnv.run(['deployments'], here());
    expect(stdout)
      .to.match(/^\w{8} +live now /m)
      .and.match(/^\w{8} +failed /m);
    expectCode(await rnv.run(['cancel'], here()), 6);
    expectCode(await rnv.run(['restart'], here()), 0);
    expectCode(await rnv.run(['suspend'], here()), 2);
  });

  it('open gives a script the address, or that of the page in the console', async () => {
    expect((await rnv.run(['open'], here())).stdout).to.match(/^http:\/\/shop/);
    const { stdout } = await rnv.run(['open', '--console'], here());
    expect(stdout)
      .to.match(/\/w\/[\w-]+\/s\/[\w-]+\n$/)
      .and.satisfy((text: string) => text.startsWith(url));
  });

  it('run prints what a cron service prints, and how it ended', async () => {
    const files = {
      'job.js': "console.log('counted 3'); setTimeout(() => process.exit(Number(process.env.CODE ?? 0)), 200)",
    };
    const job = await createPlatformRepository(files, 'Count');
    try {
      const configuration = { repository: job.url, startCommand: 'node job.js', schedule: '0 0 1 1 *', maxRetries: 0 };
      await platform.client.expect('POST', '/services', { name: 'job', kind: 'cron', configuration });
      expectCode(await rnv.run(['deploy', '-s', 'job']), 0);
      const good = await rnv.run(['run', '-s', 'job']);
      expectCode(good, 0);
      expect(good.stdout).to.equal('counted 3\n');
      expect(good.stderr).to.match(/Succeeded in [\d.]+ s, exit code 0/);
      expectCode(await rnv.run(['env', 'set', 'CODE', '-s', 'job'], { input: '3' }), 0);
      expectCode(await rnv.run(['deploy', '-s', 'job']), 0);
      const bad = await rnv.run(['run', '-s', 'job']);
      expectCode(bad, 20);
      expect(bad.stdout).to.equal('counted 3\n');
      expect(bad.stderr).to.match(/The run failed with exit code 3/);
      expect((await rnv.run(['runs', '-s', 'job'])).stdout).to.match(/failed +exit code 3.*\n.*succeeded +exit code 0/);
    } finally {
      await job.remove();
    }
  });

  it('run -- runs a command with the live release, prints what it prints, and ends with its exit code', async () => {
    const good = await rnv.run(['run', '--', 'node', '-e', 'console.log(process.argv[1])', '--', '--a b'], here());
    expectCode(good, 0);
    expect(good.stdout).to.equal('--a b\n');
    const bad = await rnv.run([
      'run',
      'shop',
      '--timeout',
      '5m',
      '--limit',
      '1m',
      '--',
      'echo "one  two" >&2; exit 42',
    ]);
    expectCode(bad, 42);
    expect(bad.stdout).to.equal('one  two\n');
    expect(bad.stderr).to.include('The run failed with exit code 42');
    expect((await rnv.run(['runs'], here())).stdout).to.match(/failed +exit code 42 .* echo "one +two"/);
    const late = await rnv.run(['run', '--limit', '1s', '--', 'sleep 1000'], here());
    expectCode(late, 20);
    expect(late.stderr).to.include('did not end within 1 s');
    expectCode(await rnv.run(['run'], here()), 2);
    expectCode(await rnv.run(['run', 'shop', 'npm', 'test']), 2);
    expectCode(await rnv.run(['run', 'nothing', '--', 'true']), 5);
    const detached = await rnv.run(['run', '--detach', '--json', '--', 'true'], here());
    expect(JSON.parse(detached.stdout).run).to.include({ command: 'true', trigger: 'manual' });
  });

  it('db: a database is made on request only, and none is taken for one', async () => {
    expectCode(await rnv.run(['db', 'create', 'mysql'], here()), 2);
    expectCode(await rnv.run(['db', 'backups', 'shop'], here()), 6);
    await platform.client.expect('POST', '/services', { name: 'books', kind: 'postgres' });
    expect((await rnv.run(['db'], here())).stdout).to.match(/^books +PostgreSQL \d+ /);
    expectCode(await rnv.run(['db', 'attach', 'books'], here()), 0);
    const { variables } = JSON.parse((await rnv.run(['env', '--json'], here())).stdout);
    expect(variables.find(({ key: name }: { key: string }) => name === 'DATABASE_URL')).to.include({
      kind: 'reference',
    });
    expectCode(await rnv.run(['db', 'restore', 'books', '-y'], here()), 5);
    expectCode(await rnv.run(['env', 'unset', 'DATABASE_URL'], here()), 0);
  });

  it('completion knows the commands and their options', async () => {
    expect((await rnv.run(['completion', 'bash'])).stdout).to.include('rnv');
    const words = (await rnv.run(['complete', '--', ''])).stdout;
    for (const word of ['up', 'logs', 'logout', 'scale', 'db']) expect(words).to.match(new RegExp(`^${word}\\b`, 'm'));
  });

  it('logs -f reads on after a lost connection: no line is lost or printed twice', async () => {
    const { db } = platform.database;
    // An earlier test scaled the service to one replica. Two would print the same lines.
    await eventually('one replica is left', async () => {
      const shop = db('services').where({ name: 'shop' }).select('id');
      const replicas = await db('replicas').whereIn('service_id', shop).whereNot({ state: 'stopped' });
      if (replicas.length !== 1) throw new Error(JSON.stringify(replicas));
      return true;
    });
    const cable = new Cable(platform.apiPort);
    const env = { RNV_URL: await cable.start(), RNV_KEY: key, RNV_SERVICE: 'shop' };
    const child = rnv.start(['logs', '-f', '--json', '-n', '1', '--source', 'runtime'], { env });
    const ended = resultOf(child);
    let printed = '';
    child.stdout?.on('data', (chunk: Buffer) => {
      printed += chunk.toString();
    });
    const lines = () => printed.split('\n').slice(0, -1);
    const newest = async () => {
      const shop = db('services').where({ name: 'shop' }).select('id');
      return Number((await db('log_lines').whereIn('service_id', shop).max({ id: 'id' }))[0]?.id);
    };
    try {
      for (const round of [1, 2]) {
        const seen = lines().length;
        await eventually(`lines come (round ${round})`, () => check(lines().length > seen + 5, printed.slice(-200)));
        cable.cut();
        const [cut, { refused }] = [await newest(), cable];
        await eventually(`the loss is noticed (round ${round})`, () => cable.refused > refused);
        await eventually(`lines are missed (round ${round})`, async () => (await newest()) > cut + 5);
        cable.mend();
      }
      const seen = lines().length;
      await eventually('lines come again', () => check(lines().length > seen + 20, printed.slice(-200)));
    } finally {
      child.kill('SIGINT');
      cable.stop();
    }
    const { code, stderr } = await ended;
    expect(code).to.equal(130);
    expect(stderr).to.match(/system {3}the connection was lost, reading on from \d+/);
    const ticks = lines()
      .flatMap((line) => /^tick (\d+)$/.exec(JSON.parse(line).message)?.[1] ?? [])
      .map(Number);
    expect(ticks.length).to.be.greaterThan(25);
    expect(ticks).to.deep.equal(ticks.map((_, i) => (ticks[0] ?? 0) + i));
  });

  describe('in a terminal', () => {
    before(function () {
      if (!hasScript) this.skip();
    });

    it('asks, and shows the steps in their place', async () => {
      const result = await rnv.terminal(['rollback'], [['Roll shop back', 'y']], here());
      expectCode(result, 0);
      expect(result.stdout)
        .to.include('\u001b[2K')
        .and.match(/release +[\d.]+ s/)
        .and.match(/Live in [\d.]+ s.* http:/s);
    });

    it('up: the Enter key makes the service; a name that is taken is said before it asks', async () => {
      const hello = await createPlatformRepository(nodeServer('v1'));
      try {
        const named = await rnv.run(['up', '--name', 'shop'], { cwd: hello.folder });
        expectCode(named, 6);
        expect(named.stderr).to.match(/A service shop exists already: link this folder to it/);
        const made = await rnv.terminal(['up', '--detach'], [['Create the service', '\r']], { cwd: hello.folder });
        expectCode(made, 0);
        expect(made.stdout).to.include('Created the service');
      } finally {
        await hello.remove();
      }
    });

    it('login asks for the password without showing it', async () => {
      const home = await Rnv.create();
      try {
        const answers: [string, string][] = [
          ['E-mail address', `${EMAIL}\r`],
          ['Password', `${PASSWORD}\r`],
        ];
        const result = await home.terminal(['login', '--url', url], answers);
        expectCode(result, 0);
        expect(result.stdout).to.include(`as ${EMAIL}`).and.not.include(PASSWORD);
        expect((await stat(home.settingsFile)).mode & 0o777).to.equal(0o600);
        expect((await home.terminal(['whoami'], [])).stdout).to.include(`${EMAIL}, developer of`);
        const [{ key: made }] = JSON.parse(await readFile(home.settingsFile, 'utf8')).logins;
        const out = await home.terminal(['logout'], []);
        expectCode(out, 0);
        expect(out.stdout).to.include('The key was revoked');
        expectCode(await home.run(['whoami']), 3);
        expectCode(await home.run(['status'], { env: { RNV_URL: url, RNV_KEY: made } }), 3);
        expectCode(await home.run(['logout']), 3);
      } finally {
        await home.remove();
      }
    });

    it('Ctrl-C ends with 130, and no is no', async () => {
      expectCode(await rnv.terminal(['rollback'], [['Roll shop back', '\u0003']], here()), 130);
      expectCode(await rnv.terminal(['logs', '-f'], [['tick', '\u0003']], here()), 130);
    });
  });
});

async function check(good: boolean, seen: string): Promise<true> {
  if (!good) throw new Error(seen);
  return true;
}
