import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:net';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect } from 'chai';
import { planOf } from '../../shared/services/plan-catalog.js';
import { markedProcesses } from '../../workers/sandbox/process-table.js';
import { nodeServer, staticSite } from '../support/apps.js';
import { visit } from '../support/client.js';
import {
  act,
  createService,
  type Deployment,
  deploy,
  ended,
  queueDeploy,
  readLogs,
  readService,
  type Service,
} from '../support/deployments.js';
import { type Platform, startPlatform } from '../support/platform.js';
import { eventually } from '../support/processes.js';
import type { Files } from '../support/repositories.js';
import { visitsDuring } from '../support/visitors.js';

const run = promisify(execFile);
const LIMIT_MS = 600_000;
const MARK = 'only-the-platform-knows';

/** Answers `/run?<command>` with the output of the command, and harms itself on request. */
const SPY = {
  ...nodeServer('spy'),
  'server.js': `
    const { exec } = require('node:child_process');
    const harm = {
      '/hog': () => { const kept = []; for (;;) kept.push(Buffer.alloc(16 << 20, 1)); },
      // A shell that cannot fork ends; those that could spin on, until the limit is reached and stays reached.
      '/fork': () => exec('f() { f & f & while :; do :; done; }; f'),
      '/print': () => { for (let i = 0; i < 200; i++) console.log('flood ' + 'x'.repeat(1 << 20)); },
    };
    require('node:http').createServer((request, response) => {
      const url = new URL(request.url, 'http://x');
      if (harm[url.pathname]) { response.end('begun'); return setTimeout(harm[url.pathname], 50); }
      if (url.pathname !== '/run') return response.end('spy');
      exec(decodeURIComponent(url.search.slice(1)), { timeout: 20000, maxBuffer: 1 << 26 }, (error, stdout, stderr) => response.end(stdout + stderr));
    }).listen(process.env.PORT, () => console.log('listening'));
    let count = 0;
    setInterval(() => console.log('tick ' + ++count), 20);
  `,
};

describe('Hostile builds and applications', function () {
  this.timeout(LIMIT_MS);
  let platform: Platform;
  let contained = false;
  let limited = false;
  let spy: Service;
  let neighbour: Service;
  let socket: Server;
  const runSocket = `/run/ranvier-test-${process.pid}.sock`;

  before(async () => {
    platform = await startPlatform({
      engine: 'postgres',
      env: { STOP_GRACE_SECONDS: '2', SECRET_OF_THE_PLATFORM: MARK },
    });
    const level = await eventually('the worker says how it contains what it runs', () =>
      /"sandbox":"(\w+)"/.exec(platform.workers[0]?.output ?? ''),
    );
    contained = level[1] !== 'none';
    limited = level[1] === 'root';
    for (const name of ['secrets.key', 'credentials.json', 'postgres/password']) {
      const path = join(platform.dataDir, name);
      await mkdir(join(path, '..'), { recursive: true });
      await writeFile(path, MARK, { mode: 0o600 });
    }
    socket = createServer((connection) => connection.end(MARK)).listen(runSocket);
    [spy, neighbour] = await Promise.all([
      serviceOf('spy', SPY, { replicas: 2 }),
      serviceOf('neighbour', { ...SPY, 'own-file': MARK }),
    ]);
    await Promise.all([deploy(platform.client, spy.id), deploy(platform.client, neighbour.id)]);
  });
  after(async () => {
    socket?.close();
    await platform?.stop();
    await rm(runSocket, { force: true });
  });

  async function serviceOf(name: string, files: Files, configuration: object = {}, kind = 'web'): Promise<Service> {
    return (await platform.serviceOf(name, files, configuration, kind)).service;
  }

  function serviceFrom(name: string, { url: repository }: { url: string }, configuration: object = {}, kind = 'web') {
    return createService(platform.client, { name, kind, configuration: { repository, ...configuration } });
  }

  async function fails({ id }: Service): Promise<Deployment> {
    const queued = await queueDeploy(platform.client, id);
    const deployment = await ended(platform.client, id, queued.id);
    expect(deployment.status).to.equal('failed');
    return deployment;
  }

  async function get(service: Service, path: string): Promise<string> {
    return (await visit(service.url, platform.edgePort, path)).body;
  }

  function inside(service: Service, command: string): Promise<string> {
    return get(service, `/run?${encodeURIComponent(command)}`);
  }

  async function neighbourFailures(harm: () => Promise<void>): Promise<string[]> {
    const { answers } = await visitsDuring(harm, () => visit(neighbour.url, platform.edgePort), 1);
    return answers.filter((answer) => !answer.startsWith('200 '));
  }

  async function restarts(): Promise<{ sum: number; details: string }> {
    const rows = await platform.database
      .db('replicas')
      .where({ service_id: spy.id, desired: 'running' })
      .select('restarts', 'exit_detail');
    return {
      sum: rows.reduce((all, row) => all + row.restarts, 0),
      details: rows.map((row) => row.exit_detail).join(),
    };
  }

  async function spyAnswers(): Promise<void> {
    await eventually('both replicas answer again', async () => {
      const { healthStatus } = await readService(platform.client, spy.id);
      return healthStatus === 'ready' && (await get(spy, '/')) === 'spy';
    });
  }

  async function processesOf({ id }: Service): Promise<Map<string, number>> {
    const replicas = await platform.database.db('replicas').where({ service_id: id }).pluck('id');
    const counts = new Map<string, number>();
    for (const marker of (await markedProcesses(`${await platform.sandboxToken()}:`)).values()) {
      if (replicas.some((replica) => marker.includes(replica))) counts.set(marker, (counts.get(marker) ?? 0) + 1);
    }
    return counts;
  }

  async function stateOf(service: Service): Promise<string> {
    const { db } = platform.database;
    const columns = ['state', 'desired', 'pid', 'restarts', 'exit_detail'];
    const replicas = await db('replicas').where({ service_id: service.id }).select(columns);
    const operations = await db('operations')
      .where({ service_id: service.id })
      .orderBy('created_at')
      .select('kind', 'status', 'error');
    const lines = (await readLogs(platform.client, service.id)).slice(-10).map(({ message }) => message);
    const processes = Object.fromEntries(await processesOf(service));
    return JSON.stringify({ replicas, operations, processes, lines });
  }

  function searches(): string {
    const pids = platform.processes.map(({ child }) => child.pid);
    const folders = ['images', 'replicas', 'mirrors', 'builds', 'postgres'];
    return [
      ...pids.map((pid) => `cat /proc/${pid}/environ /proc/${pid}/cmdline`),
      `for f in /proc/[0-9]*/environ /proc/[0-9]*/root/proc/[0-9]*/environ; do tr '\\0' '\\n' <$f | grep -E "SECRETS_KEY|DATABASE_URL|${MARK}"; done`,
      ...folders.map((folder) => `ls -A ${join(platform.dataDir, folder)} && echo seen ${folder}`),
      `find ${platform.dataDir} -mindepth 2 -maxdepth 2`,
      ...['secrets.key', 'credentials.json', 'postgres/password'].map((name) => `cat ${join(platform.dataDir, name)}`),
      `cat ${platform.dataDir}/replicas/*/files/own-file ${platform.dataDir}/images/*/own-file`,
      `ls ${runSocket} /run/docker.sock /var/run/docker.sock && echo seen sockets`,
      `find / -xdev -type s -not -path '/proc/*' 2>/dev/null | sed 's/^/seen /'`,
      `grep -rlsI ${MARK} /tmp /var/tmp /dev/shm /run /mnt 2>/dev/null | grep -vE 'own-file|look.sh' | sed 's/^/seen /'`,
      ...pids.map((pid) => `kill -9 ${pid} && echo seen ${pid}`),
      'cat /etc/shadow',
    ].join('\n');
  }

  it('see neither environment, files, sockets nor processes of the platform and of other services', async function () {
    if (!contained) this.skip();
    const look = searches();
    const found = await inside(spy, `exec 2>/dev/null\n${look}`);
    expect(found).to.equal('');
    const build = await serviceOf(
      'looking build',
      { ...nodeServer('x'), 'look.sh': `exec 2>/dev/null\n${look}` },
      {
        buildCommand: 'echo begins; sh look.sh | sed "s/^/found /"; echo over',
      },
    );
    await deploy(platform.client, build.id);
    const lines = (await readLogs(platform.client, build.id, '&source=build')).map(({ message }) => message);
    expect(lines).to.include('over');
    // A build has its own service's cache, and nothing else of the data folder.
    const cache = `found ${join(platform.dataDir, 'caches', build.id)}`;
    expect(lines.filter((line) => line.startsWith('found '))).to.deep.equal([cache]);
    expect(platform.processes.every((process) => !process.ended)).to.equal(true);
  });

  it('what a replica writes is seen by no other replica and by no later release', async function () {
    if (!contained) this.skip();
    const write = 'echo changed >>server.js; echo mine >left-behind; rm Procfile; hostname; readlink /proc/self/ns/mnt';
    const writer = (await inside(spy, write)).split('\n').at(-2) ?? '';
    expect(writer).to.match(/^mnt:/);
    const look = 'readlink /proc/self/ns/mnt; ls left-behind Procfile; tail -n 1 server.js';
    await eventually('the other replica answers', async () => {
      const seen = await inside(spy, look);
      if (seen.startsWith(writer)) return false;
      expect(seen)
        .to.contain('Procfile')
        .and.match(/cannot access '?left-behind/)
        .and.not.contain('changed');
      return true;
    });
    expect(await act(platform.client, spy.id, 'restart')).to.equal('succeeded');
    for (let i = 0; i < 6; i++)
      expect(await inside(spy, look))
        .to.contain('Procfile')
        .and.not.contain('changed');
  });

  it('/hog in an application ends that replica, which comes back, and harms nobody else', async function () {
    if (!contained) this.skip();
    const before = await restarts();
    const failures = await neighbourFailures(async () => {
      expect(await get(spy, '/hog')).to.equal('begun');
      await eventually('the replica was started again', async () => (await restarts()).sum > before.sum);
      // Without control groups, Node.js runs out of memory and ends itself.
      if (limited) expect((await restarts()).details).to.match(/memory/);
      await spyAnswers();
    });
    expect(failures).to.deep.equal([]);
  });

  it('/fork in an application burns within its limit, and a restart leaves nothing of it', async function () {
    if (!contained) this.skip();
    const [{ configuration }] = await platform.database.db('services').where({ id: spy.id }).select('configuration');
    const { pids } = planOf(configuration.plan);
    const failures = await neighbourFailures(async () => {
      expect(await get(spy, '/fork')).to.equal('begun');
      // The bomb must burn, or the test proves nothing. Half of the limit is far more than the application needs.
      const [marker] = await eventually('the bomb fills its sandbox', async () =>
        [...(await processesOf(spy))].find(([, processes]) => processes > pids / 2),
      );
      // Without a limit, it would double within milliseconds. One look may find fewer, because processes end and begin.
      for (let i = 0; i < 5; i++) {
        expect((await processesOf(spy)).get(marker), await stateOf(spy)).to.be.within(pids / 4, pids);
      }
      const outcome = await act(platform.client, spy.id, 'restart');
      expect(outcome, await stateOf(spy)).to.equal('succeeded');
      expect([...(await processesOf(spy)).keys()], await stateOf(spy)).to.not.include(marker);
      await spyAnswers();
    });
    expect(failures).to.deep.equal([]);
  });

  it('an application that floods its output fills neither log nor disk, and no line of another is lost', async () => {
    const flooding = await serviceOf('flooding', SPY);
    await deploy(platform.client, flooding.id);
    const { db } = platform.database;
    const ticksOf = async () =>
      (await readLogs(platform.client, neighbour.id, '&source=runtime'))
        .map(({ message }) => /^tick (\d+)$/.exec(message)?.[1])
        .flatMap((number) => (number === undefined ? [] : [Number(number)]));
    const before = (await ticksOf()).length;
    const [replica] = await db('replicas').where({ service_id: flooding.id, desired: 'running' });
    const output = join(platform.dataDir, 'replicas', replica.id, 'app.log');
    let largest = 0;
    const failures = await neighbourFailures(async () => {
      await get(flooding, '/print');
      await eventually('the flood is over', async () => {
        const { blocks, size } = await stat(output);
        largest = Math.max(largest, blocks * 512);
        return size > 200 * 1024 * 1024;
      });
      await eventually(
        'what was left out is said',
        async () => (await readLogs(platform.client, flooding.id, '&source=runtime&search=left%20out')).length > 0,
      );
    });
    expect(failures).to.deep.equal([]);
    const [stored] = await db('log_lines')
      .where({ service_id: flooding.id })
      .sum({ bytes: db.raw('length(message)') });
    expect(Number(stored?.bytes)).to.be.lessThan(100 * 1024 * 1024);
    expect(largest).to.be.lessThan(300 * 1024 * 1024);
    await eventually('the disk space is given back', async () => (await stat(output)).blocks * 512 < 80 * 1024 * 1024);
    const ticks = await ticksOf();
    expect(ticks.length).to.be.greaterThan(before);
    expect(ticks).to.deep.equal(ticks.map((_, index) => index + 1));
  });

  it('what hides from its application, and what ignores TERM, is gone when the service stops', async () => {
    const seconds = [98_761, 98_762, 98_763];
    const stubborn = `
      const { spawn } = require('node:child_process');
      process.on('SIGTERM', () => {});
      spawn('setsid', ['sh', '-c', 'trap "" TERM HUP; sleep ${seconds[0]} & sleep ${seconds[1]}'], { detached: true, stdio: 'ignore' }).unref();
      spawn('sh', ['-c', '(nohup env -i setsid sleep ${seconds[2]} >/dev/null 2>&1 &)'], { detached: true, stdio: 'ignore' });
      require('node:http').createServer((q, r) => r.end('stubborn')).listen(process.env.PORT);
    `;
    const service = await serviceOf('stubborn', { ...nodeServer('x'), 'server.js': stubborn });
    await deploy(platform.client, service.id);
    await eventually('all of them run', async () => {
      const seen = await sleepers(seconds);
      if (seen.length !== seconds.length) throw new Error(`only these: ${seen.join(', ')}; ${await stateOf(service)}`);
      return true;
    });
    const outcome = await act(platform.client, service.id, 'suspend').catch(async (error: Error) => {
      throw new Error(`${error.message}; left: ${await sleepers(seconds)}; ${await stateOf(service)}`);
    });
    expect(outcome, await stateOf(service)).to.equal('succeeded');
    expect(await sleepers(seconds), await stateOf(service)).to.deep.equal([]);
  });

  it('links that lead out are refused, whether they were committed or made by the build', async () => {
    const committed = await platform.repositoryOf({ 'index.html': 'x' });
    await symlink('/etc/passwd', join(committed.folder, 'passwd.html'));
    await committed.commit('a link', {});
    const site = await serviceFrom('linked site', committed, {}, 'static');
    expect((await fails(site)).error)
      .to.contain('passwd.html')
      .and.contain('leads out');
    const build = await serviceOf(
      'linking build',
      {
        ...staticSite('x'),
        'build.js': `const fs = require('node:fs'); fs.mkdirSync('dist'); fs.symlinkSync('/etc', 'dist/etc'); fs.writeFileSync('dist/index.html', 'x')`,
      },
      {},
      'static',
    );
    expect((await fails(build)).error)
      .to.contain('etc')
      .and.contain('leads out');
    const rooted = await platform.repositoryOf({ 'index.html': 'x' });
    await symlink('/etc', join(rooted.folder, 'public'));
    await rooted.commit('a link', {});
    for (const configuration of [{ rootDirectory: 'public' }, { publishDirectory: 'public' }]) {
      const linked = await serviceFrom(`linked ${Object.keys(configuration)}`, rooted, configuration, 'static');
      expect((await fails(linked)).error).to.contain('public');
      expect((await visit(linked.url, platform.edgePort, '/passwd')).body).to.not.contain('root:');
    }
  });

  it('a commit of more files than there can be is refused, also where it lists few', async () => {
    const many = await platform.repositoryOf({ f: 'x' });
    const blob = await many.git('rev-parse', 'HEAD:f');
    const lines = Array.from({ length: 250_000 }, (_, i) => `M 100644 ${blob} d${i % 500}/f${i}`).join('\n');
    const script = join(many.folder, '.git', 'many');
    await writeFile(
      script,
      `commit refs/heads/main\ncommitter T <t@example.test> 0 +0000\ndata 4\nmany\nfrom refs/heads/main^0\n${lines}\n`,
    );
    await run('sh', ['-c', 'git -c "safe.directory=*" -C "$1" fast-import --quiet <"$2"', 'sh', many.folder, script]);
    const service = await serviceFrom('many files', many);
    expect((await fails(service)).error).to.contain('more than 200000 files');

    const bomb = await platform.repositoryOf({ f: 'x' });
    let tree = await bomb.git('rev-parse', 'HEAD^{tree}');
    for (let depth = 0; depth < 9; depth++) {
      const listing = join(bomb.folder, '.git', 'listing');
      await writeFile(listing, Array.from({ length: 10 }, (_, i) => `040000 tree ${tree}\td${i}\n`).join(''));
      const { stdout } = await run('sh', [
        '-c',
        'git -c "safe.directory=*" -C "$1" mktree <"$2"',
        'sh',
        bomb.folder,
        listing,
      ]);
      tree = stdout.trim();
    }
    const sha = await bomb.git('commit-tree', '-m', 'bomb', tree);
    await bomb.git('update-ref', 'refs/heads/main', sha);
    const nested = await serviceFrom('nested bomb', bomb);
    expect((await fails(nested)).error).to.contain('more than 200000 files');
  });

  it('names of branches and repositories run nothing', async () => {
    const mark = join(platform.dataDir, '..', `ranvier-injected-${process.pid}`);
    const repository = await platform.repositoryOf(nodeServer('x'));
    for (const branch of [
      `--upload-pack=touch ${mark}`,
      `$(touch ${mark})`,
      `main;touch ${mark}`,
      '-x',
      'a..b',
      '--',
    ]) {
      const service = { name: 'x', kind: 'web', configuration: { repository: repository.url, branch } };
      expect((await platform.client.call('POST', '/services', service)).status, branch).to.equal(400);
      const made = await serviceFrom('branches', repository);
      expect((await platform.client.call('POST', `/services/${made.id}/deploys`, { branch })).status, branch).to.equal(
        400,
      );
    }
    for (const address of [
      `ext::sh -c "touch ${mark}"`,
      `ext::sh%20-c%20touch%20${mark}`,
      `--upload-pack=touch ${mark}`,
      `ssh://-oProxyCommand=touch%20${mark}/x`,
      `file://${repository.folder};touch ${mark}`,
      `fd::17/foo`,
    ]) {
      const body = { name: 'addresses', kind: 'web', configuration: { repository: address }, deploy: true };
      const answer = await platform.client.call<{ error: { details: { path: string }[] } }>('POST', '/services', body);
      expect(answer.status, address).to.equal(400);
      expect(answer.body.error.details.map(({ path }) => path)).to.deep.equal(['/configuration/repository']);
    }
    expect(existsSync(mark)).to.equal(false);
  });
});

async function sleepers(seconds: number[]): Promise<string[]> {
  const found: string[] = [];
  for (const pid of (await readdir('/proc')).filter((name) => /^\d+$/.test(name))) {
    const command = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '');
    const [, argument = ''] = /(?:^|\/)sleep\0(\d+)\0$/.exec(command) ?? [];
    if (seconds.includes(Number(argument))) found.push(`${pid} ${argument}`);
  }
  return found;
}
