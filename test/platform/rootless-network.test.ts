import { execFile } from 'node:child_process';
import { readdir, readFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { networkInterfaces } from 'node:os';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect } from 'chai';
import { onlineWorkers } from '../../shared/workers/store.js';
import { markedProcesses } from '../../workers/sandbox/process-table.js';
import { isRoot } from '../../workers/sandbox/service-users.js';
import { visit } from '../support/client.js';
import { act, createService, deploy, readLogs, readService, type Service } from '../support/deployments.js';
import { type Platform, startPlatform } from '../support/platform.js';
import { commandOf, ORDINARY_USER } from '../support/platform-user.js';
import { eventually } from '../support/processes.js';
import { outcomesAt, type Places, puppet, TRY } from '../support/puppet.js';
import { createRepository, type Files, type TestRepository } from '../support/repositories.js';

const run = promisify(execFile);
const USER = isRoot() ? ORDINARY_USER : null;

describe('Networks of a platform that is not root', function () {
  this.timeout(300_000);
  let missing: string | null = null;
  let platform: Platform;
  let place: { projectId: string; environmentId: string };
  let front: Service;
  let back: Service;
  let alone: Service;
  let service: Server;
  let stopped = false;
  const repositories: TestRepository[] = [];

  before(async () => {
    missing = await missingFor(USER);
    if (missing !== null) return;
    service = createServer((_, response) => response.end('of the host'));
    await new Promise<void>((resolve) => service.listen(0, '0.0.0.0', resolve));
    const { port } = service.address() as AddressInfo;
    platform = await startPlatform({
      engine: 'postgres',
      user: USER,
      env: { NETWORK: 'auto', STOP_GRACE_SECONDS: '2', npm_config_registry: `http://127.0.0.1:${port}/` },
    });
    const { project } = await platform.client.expect<{ project: { id: string; environments: { id: string }[] } }>(
      'POST',
      '/projects',
      { name: 'shop', color: 'violet' },
    );
    place = { projectId: project.id, environmentId: project.environments[0]?.id ?? '' };
    [front, back, alone] = await Promise.all([
      serve('front', puppet('server.listen(3000)'), {}),
      serve('back', puppet(`server.listen(process.env.PORT, '127.0.0.1')`), {}),
      serve('alone', puppet(), { privateNetworking: false }),
    ]);
  });
  beforeEach(function () {
    if (missing === null) return;
    if (this.currentTest) this.currentTest.title += ` (needs ${missing})`;
    this.skip();
  });
  after(async () => {
    service?.close();
    if (!stopped) await platform?.stop();
    for (const repository of repositories) await repository.remove();
  });

  async function serve(name: string, files: Files, configuration: object): Promise<Service> {
    const repository = await createRepository(files, 'First commit', USER);
    repositories.push(repository);
    const made = await createService(platform.client, {
      name,
      ...place,
      configuration: { repository: repository.url, ...configuration },
    });
    await deploy(platform.client, made.id);
    return readService(platform.client, made.id);
  }

  async function body(of: Service, path = '/'): Promise<string> {
    return (await visit(of.url, platform.edgePort, path)).body;
  }

  async function inside<T>(of: Service, program: string): Promise<T> {
    return JSON.parse(await body(of, `/run?${encodeURIComponent(program)}`)) as T;
  }

  async function reach({ id }: Service): Promise<{ address: string; port: number; pid: number }> {
    const [row] = await platform.database.db('replicas').where({ service_id: id, desired: 'running', state: 'ready' });
    return row;
  }

  async function closedPlaces(): Promise<Places> {
    const all = Object.values(networkInterfaces()).flatMap((addresses) => addresses ?? []);
    const host = all.find(({ family, internal }) => family === 'IPv4' && !internal)?.address ?? '127.0.0.1';
    const { port } = service.address() as AddressInfo;
    const database = Number(new URL(platform.database.url).port) || 5432;
    const other = await reach(alone);
    return {
      'the host by its address': [host, port],
      'the API by the address of the host': [host, platform.apiPort],
      'the API by the way to the loopback of the host': ['10.0.2.2', platform.apiPort],
      'PostgreSQL by the way to the loopback of the host': ['10.0.2.2', database],
      'PostgreSQL by its own loopback': ['127.0.0.1', database],
      'the namespace that stands for the host': ['10.0.2.100', 10_002],
      'a service that keeps to itself, by its own address': [other.address.replace(/^127/, '10'), 8000],
      'a service that keeps to itself, as the host reaches it': [other.address, other.port],
      'the metadata of a cloud': ['169.254.169.254', 80],
      'a private network': ['192.168.1.1', 80],
    };
  }

  it('are found out at start', async () => {
    expect(platform.workers[0]?.output).to.contain('"network":"rootless"');
    const [worker] = await onlineWorkers(platform.database.db);
    expect(worker?.network_isolation).to.equal(true);
  });

  it('let an application ignore PORT, and a release of it run beside the one before', async () => {
    expect(await body(front)).to.equal('puppet');
    await deploy(platform.client, front.id);
    expect(await body(front)).to.equal('puppet');
    const said = (await readLogs(platform.client, front.id)).filter(({ message }) => /^The application/.test(message));
    const expected = 'The application listens on port 3000, not on PORT (8000); requests go to port 3000';
    expect(said.map(({ message }) => message)).to.deep.equal([expected, expected]);
    expect(await body(back), 'one that listens on loopback only').to.equal('puppet');
  });

  it('find the ports of applications that listen in odd places', async () => {
    const listens = {
      six: `server.listen(3002, '::1')`,
      several: `require('node:net').createServer((socket) => socket.on('error', () => {})).listen(2000); server.listen(3003)`,
    };
    await Promise.all(
      Object.entries(listens).map(async ([name, listen]) => {
        const one = await serve(name, puppet(listen), {});
        expect(await body(one), name).to.equal('puppet');
        expect(await act(platform.client, one.id, 'suspend')).to.equal('succeeded');
      }),
    );
  });

  it('close to an application the host, clouds and services that keep to themselves', async () => {
    const outcomes = await inside<[string, string][]>(front, `return ${outcomesAt(await closedPlaces())}`);
    expect(outcomes).to.have.length(10);
    for (const [what, outcome] of outcomes) {
      expect(outcome, what).to.be.oneOf(['ECONNREFUSED', 'EHOSTUNREACH', 'ENETUNREACH', 'timeout']);
    }
    const { port } = service.address() as AddressInfo;
    expect(await inside<string>(front, `return tryOut('127.0.0.1', ${port})`)).to.equal('ECONNREFUSED');
    // The host reaches these places, so they exist.
    const { address, port: outside } = await reach(alone);
    expect(await (await fetch(`http://${address}:${outside}`)).text()).to.equal('puppet');
  });

  it('close them to a build, which reaches the registry on the loopback of the host', async () => {
    const { port } = service.address() as AddressInfo;
    const look = `${TRY} (async () => {
      for (const one of await ${outcomesAt(await closedPlaces())}) console.log('found', ...one);
      console.log(await (await fetch('http://127.0.0.1:${port}')).text());
    })()`;
    const looking = await serve('looking', { ...puppet(), 'look.js': look }, { buildCommand: 'node look.js' });
    const lines = (await readLogs(platform.client, looking.id, '&source=build')).map(({ message }) => message);
    expect(lines).to.include('of the host');
    expect(lines.filter((line) => line.startsWith('found ')).length).to.equal(10);
    expect(lines.filter((line) => line.startsWith('found ') && line.endsWith(' connected'))).to.deep.equal([]);
    expect(await act(platform.client, looking.id, 'suspend')).to.equal('succeeded');
  });

  it('cannot be changed from inside', async () => {
    const attempts = `const { execFileSync } = require('node:child_process');
      return ['ip link set lo down', 'nft list ruleset', 'ip netns list', 'nsenter -t 1 -n true', 'nsenter -t 1 -U true']
        .map((command) => { try { execFileSync('/bin/sh', ['-c', command + ' && echo done'], { stdio: 'pipe' }); return command; } catch { return ''; } })
        .filter((command) => command !== '' && command !== 'ip netns list').join()`;
    expect(await inside(front, attempts)).to.equal('');
  });

  it('let services of one environment reach each other by name, and not one that keeps to itself', async () => {
    await eventually('front reaches back', async () => {
      return (await inside(front, `return fetch('http://back:8000').then((answer) => answer.text())`)) === 'puppet';
    });
    expect(await inside(back, `return tryOut('front', 3000)`)).to.equal('connected');
    expect(await inside(front, `return tryOut('alone', 8000)`)).to.be.oneOf(['ENOTFOUND', 'EAI_AGAIN']);
    expect(await inside(alone, `return tryOut('back', 8000)`)).to.be.oneOf(['ENOTFOUND', 'EAI_AGAIN']);
  });

  it('go on while no worker lives, and the next one adopts them and what leads to them', async () => {
    const before = await reach(front);
    await killWorkers();
    expect(await body(front)).to.equal('puppet');
    expect(await inside(front, `return tryOut('back', 8000)`)).to.equal('connected');
    const { holder, uplink } = await state();
    process.kill(uplink.pid, 'SIGKILL');
    await platform.startWorker();
    expect(await body(front)).to.equal('puppet');
    expect(await reach(front)).to.include({ address: before.address, port: before.port, pid: before.pid });
    expect((await state()).holder.pid).to.equal(holder.pid);
    expect(await act(platform.client, front.id, 'restart')).to.equal('succeeded');
    expect(await body(front)).to.equal('puppet');
  });

  it('are made anew after everything was killed', async () => {
    const { holder } = await state();
    const before = await reach(front);
    await killWorkers();
    for (const pid of [...(await ofNetwork()), ...(await ofSandboxes())]) kill(pid);
    await platform.startWorker();
    await eventually('the services answer', async () => {
      return (await body(front)) === 'puppet' && (await inside(front, `return tryOut('back', 8000)`)) === 'connected';
    });
    expect((await state()).holder.pid).to.not.equal(holder.pid);
    expect((await reach(front)).address).to.not.equal(before.address);
  });

  it('leave nothing when the platform has ended', async () => {
    const mirror = (await reach(front)).address.split('.').slice(0, 2).join('.');
    expect((await ofNetwork()).length).to.be.greaterThan(1);
    // The data folder must still be there, because its removal could hide what is left.
    for (const { id } of [front, back, alone]) await act(platform.client, id, 'suspend');
    for (const worker of platform.workers) await worker.stop();
    expect(await ofSandboxes()).to.deep.equal([]);
    await eventually('the processes of the network have ended', async () => (await ofNetwork()).length === 0);
    const left = await readdir(`${platform.dataDir}/network`);
    expect(left.filter((name) => /rootless|uplink|alive/.test(name))).to.deep.equal([]);
    const { stdout } = await run('ss', ['-Hltn', 'src', `${mirror}.0.0/16`]);
    expect(stdout).to.equal('');
    await platform.stop();
    stopped = true;
  });

  async function killWorkers(): Promise<void> {
    for (const worker of platform.workers) {
      worker.kill('SIGKILL');
      await eventually('it has ended', () => worker.ended);
    }
  }

  async function state(): Promise<{ holder: { pid: number }; uplink: { pid: number } }> {
    return JSON.parse(await readFile(`${platform.dataDir}/network/rootless.json`, 'utf8'));
  }

  async function ofNetwork(): Promise<number[]> {
    return [...(await markedProcesses(`network:${await platform.sandboxToken()}`)).keys()];
  }

  async function ofSandboxes(): Promise<number[]> {
    return [...(await markedProcesses(await platform.sandboxToken())).keys()];
  }
});

/** Returns what the host lacks for a rootless network, without asking the platform; null if nothing is missing. */
async function missingFor(user: number | null): Promise<string | null> {
  if (process.platform !== 'linux') return 'Linux';
  const needs: [what: string, command: string][] = [
    ['slirp4netns', 'slirp4netns --version'],
    ['nft', 'nft --version'],
    ['ip', 'ip -V'],
    ['user namespaces', 'unshare --user --map-root-user --net --mount true'],
    ['a /dev/net/tun that every user may open', 'exec 3<>/dev/net/tun'],
    ['a checkout that every user can read', `test -r ${fileURLToPath(import.meta.url)}`],
  ];
  for (const [what, command] of needs) {
    const [file, args] = commandOf(user, '/bin/sh', ['-c', command]);
    const works = await run(file, args, { cwd: '/' }).then(
      () => true,
      () => false,
    );
    if (!works) return what;
  }
  return null;
}

function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {}
}
