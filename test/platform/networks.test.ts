import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { createServer, request, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { networkInterfaces } from 'node:os';
import { promisify } from 'node:util';
import { expect } from 'chai';
import { namePrefix } from '../../workers/network/network-model.js';
import { tableName } from '../../workers/network/network-rules.js';
import { act, createService, deploy, readLogs, readService, type Service } from '../support/deployments.js';
import { type Platform, startPlatform } from '../support/platform.js';
import { eventually } from '../support/processes.js';
import { outcomesAt, type Places, puppet, TRY } from '../support/puppet.js';
import type { Files } from '../support/repositories.js';

const run = promisify(execFile);
const METADATA = '169.254.169.254';

describe('Networks of builds and replicas', function () {
  this.timeout(300_000);
  let platform: Platform;
  let usable = false;
  let prefix = '';
  let front: Service;
  let back: Service;
  let elsewhere: Service;
  let alone: Service;
  let service: Server;
  let inStaging: Placement;
  let stopped = false;

  before(async () => {
    platform = await startPlatform({ engine: 'postgres', env: { NETWORK: 'auto', STOP_GRACE_SECONDS: '2' } });
    // These commands ask the host, because a network of the platform that stopped working must fail the test.
    usable =
      process.getuid?.() === 0 && (await works('unshare', '--net', 'true')) && (await works('nft', 'list', 'tables'));
    prefix = namePrefix(await platform.sandboxToken());
    service = createServer((_, response) => response.end('of the host'));
    await new Promise<void>((resolve) => service.listen(0, '0.0.0.0', resolve));
    if (!usable) return;
    const { project } = await platform.client.expect<Project>('POST', '/projects', { name: 'shop', color: 'violet' });
    const projectId = project.id;
    const [production] = project.environments;
    const { environment: staging } = await platform.client.expect<{ environment: { id: string } }>(
      'POST',
      `/projects/${projectId}/environments`,
      { name: 'Staging' },
    );
    const inProduction = { projectId, environmentId: production?.id };
    inStaging = { projectId, environmentId: staging.id };
    [front, back, alone, elsewhere] = await Promise.all([
      serve('front', puppet(), inProduction),
      serve('back', puppet(), { ...inProduction, kind: 'private' }),
      serve('alone', puppet(), { ...inProduction, configuration: { privateNetworking: false } }),
      serve('elsewhere', puppet(), inStaging),
    ]);
  });
  beforeEach(function () {
    if (!usable) this.skip();
  });
  after(async () => {
    service?.close();
    if (!stopped) await platform?.stop();
  });

  interface Project {
    project: { id: string; environments: { id: string }[] };
  }

  async function serve(name: string, files: Files, input: Placement = {}): Promise<Service> {
    const made = await prepare(name, files, input);
    await deploy(platform.client, made.id);
    return readService(platform.client, made.id);
  }

  interface Placement {
    kind?: string;
    projectId?: string;
    environmentId?: string | undefined;
    configuration?: object;
  }

  async function prepare(name: string, files: Files, { configuration, ...input }: Placement): Promise<Service> {
    const { url: repository } = await platform.repositoryOf(files);
    return createService(platform.client, { name, ...input, configuration: { repository, ...configuration } });
  }

  async function body(of: Service, path = '/'): Promise<string> {
    return (await platform.visit(of, path)).body;
  }

  async function inside<T>(of: Service, program: string): Promise<T> {
    return JSON.parse(await body(of, `/run?${encodeURIComponent(program)}`)) as T;
  }

  async function frontReachesBack(): Promise<true> {
    const outcome = await inside(front, `return tryOut('back', 8000)`);
    if (outcome !== 'connected') throw new Error(String(outcome));
    return true;
  }

  async function addressOf({ id }: Service): Promise<string> {
    const [row] = await platform.database.db('replicas').where({ service_id: id, desired: 'running', state: 'ready' });
    return row.address;
  }

  async function closedPlaces(): Promise<Places> {
    const own = Object.values(networkInterfaces()).flatMap((all) => all ?? []);
    const host = own.find(({ family, internal }) => family === 'IPv4' && !internal)?.address ?? '127.0.0.1';
    const { port } = service.address() as AddressInfo;
    const gateway = (await addressOf(front)).split('.').slice(0, 2).join('.');
    const [block = ''] = (await readFile(`${platform.dataDir}/network/block`, 'utf8')).split('/');
    expect(block.startsWith(gateway)).to.equal(true);
    const first = block.replace(/\.0$/, '.1');
    const url = new URL(platform.database.url);
    return {
      'the host by its loopback': ['127.0.0.1', port],
      'the host by its own address': [host, port],
      'the host by the gateway': [first, port],
      'the API by the host': [host, platform.apiPort],
      'the API by the gateway': [first, platform.apiPort],
      'the edge by the gateway': [first, platform.edgePort],
      'PostgreSQL by the host': [host, Number(url.port) || 5432],
      'PostgreSQL by loopback': ['127.0.0.1', Number(url.port) || 5432],
      'Redis by the host': [host, 6379],
      'the metadata of a cloud': [METADATA, 80],
      'another environment': [await addressOf(elsewhere), 8000],
      'a service that keeps to itself': [await addressOf(alone), 8000],
      'a private network': ['192.168.1.1', 80],
    };
  }

  it('an application reaches nothing of the host, of clouds and of other environments', async () => {
    const outcomes = await inside<[string, string][]>(front, `return ${outcomesAt(await closedPlaces())}`);
    expect(outcomes).to.have.length(13);
    for (const [what, outcome] of outcomes) {
      expect(outcome, what).to.be.oneOf(['ECONNREFUSED', 'EHOSTUNREACH', 'ENETUNREACH', 'timeout']);
    }
    // The host reaches these places, so they exist.
    expect(await (await fetch(`http://127.0.0.1:${(service.address() as AddressInfo).port}`)).text()).to.equal(
      'of the host',
    );
    expect(await (await fetch(`http://${await addressOf(elsewhere)}:8000`)).text()).to.equal('puppet');
  });

  it('a build reaches nothing of them either', async () => {
    const look = `${TRY} ${outcomesAt(await closedPlaces())}.then((all) => { for (const one of all) console.log('found', ...one); })`;
    const looking = await serve(
      'looking',
      { ...puppet(), 'look.js': look },
      { configuration: { buildCommand: 'node look.js' } },
    );
    const lines = (await readLogs(platform.client, looking.id, '&source=build')).map(({ message }) => message);
    expect(lines.filter((line) => line.startsWith('found '))).to.have.length(13);
    expect(lines.filter((line) => line.startsWith('found ') && line.endsWith(' connected'))).to.deep.equal([]);
    expect(await act(platform.client, looking.id, 'suspend')).to.equal('succeeded');
  });

  it('services of one environment reach each other by name, and not one that keeps to itself', async () => {
    await eventually('front reaches back', frontReachesBack);
    const fetched = await inside(front, `return fetch('http://back:8000/').then((answer) => answer.text())`);
    expect(fetched).to.equal('puppet');
    expect(await inside(front, `return tryOut('alone', 8000)`)).to.be.oneOf(['ENOTFOUND', 'EAI_AGAIN']);
    expect(await inside(front, `return tryOut('elsewhere', 8000)`)).to.be.oneOf(['ENOTFOUND', 'EAI_AGAIN']);
    expect(await inside(alone, `return tryOut('back', 8000)`)).to.be.oneOf(['ENOTFOUND', 'EAI_AGAIN']);
    expect(await inside(alone, `return tryOut('${await addressOf(back)}', 8000)`)).to.equal('EHOSTUNREACH');
  });

  it('a service with a longer slug is found by its own name in its environment, and a worker at its port', async () => {
    const namesake = await serve('back', puppet('server.listen(4000)'), {
      ...inStaging,
      kind: 'worker',
      configuration: { startCommand: 'node server.js' },
    });
    expect(namesake)
      .to.have.property('internalHost')
      .that.match(/^back-./);
    await eventually('its neighbour reaches it', async () => {
      const outcome = await inside(elsewhere, `return tryOut('back', 4000)`);
      if (outcome !== 'connected') throw new Error(String(outcome));
      return true;
    });
    expect(await inside(front, `return tryOut('back', 8000)`)).to.equal('connected');
    expect(await act(platform.client, namesake.id, 'suspend')).to.equal('succeeded');
  });

  it('a neighbour that is replaced is found at its new address', async () => {
    const before = await addressOf(back);
    expect(await act(platform.client, back.id, 'restart')).to.equal('succeeded');
    const after = await addressOf(back);
    expect(after).to.not.equal(before);
    await eventually('front knows the new address only', async () => {
      const known = await inside(
        front,
        `return require('node:dns').promises.lookup('back', { all: true }).then((all) => all.map(({ address }) => address).join())`,
      );
      if (known !== after) throw new Error(`it knows ${known}, not ${after}`);
      return true;
    });
  });

  it('an application that opens connections without end does not fill the table of the host', async () => {
    const tracked = Number(await readFile('/proc/sys/net/netfilter/nf_conntrack_max', 'utf8'));
    const most = Math.min(4096, Math.max(1024, Math.floor(tracked / 64)));
    const from = await addressOf(front);
    const entries = async () =>
      (await readFile('/proc/net/nf_conntrack', 'utf8')).split('\n').filter((line) => line.includes(`src=${from} `))
        .length;
    // Each datagram to another port is a connection of its own.
    const program = `const socket = require('node:dgram').createSocket('udp4');
      socket.on('error', () => {});
      const { address } = await require('node:dns/promises').lookup('back');
      return (async () => {
        for (let n = 0; n < 9000; n++) {
          socket.send('x', 1024 + n, address, () => {});
          if (n % 50 === 0) await new Promise((resolve) => setTimeout(resolve, 60));
        }
        await new Promise((resolve) => setTimeout(resolve, 200));
        socket.close();
        return 'sent';
      })()`;
    expect(await inside<string>(front, program)).to.equal('sent');
    const taken = await entries();
    expect(taken, 'the datagrams are tracked').to.be.greaterThan(100);
    // A few connections were there before, and closed ones do not count.
    expect(taken).to.be.at.most(most + 200);
    expect(await body(elsewhere)).to.equal('puppet');
  });

  it('finds the port of an application that ignores PORT, wherever it listens', async () => {
    const listens = {
      fixed: 'server.listen(3000)',
      loopback: `server.listen(3001, '127.0.0.1')`,
      'loopback on port': `server.listen(process.env.PORT, 'localhost')`,
      six: `server.listen(3002, '::1')`,
      several: `require('node:net').createServer((socket) => socket.on('error', () => {})).listen(2000); server.listen(3003)`,
      low: 'server.listen(80)',
    };
    await Promise.all(
      Object.entries(listens).map(async ([name, listen]) => {
        const one = await serve(name, puppet(listen));
        expect(await body(one), name).to.equal('puppet');
        const said = (await readLogs(platform.client, one.id)).map(({ message }) => message);
        const port = /(3\d{3}|80)\b/.exec(listen)?.[1];
        const found = `The application listens on port ${port}, not on PORT (8000); requests go to port ${port}`;
        expect(
          said.filter((line) => line.startsWith('The application')),
          name,
        ).to.deep.equal(port === undefined ? [] : [found]);
        expect(await act(platform.client, one.id, 'suspend')).to.equal('succeeded');
      }),
    );
  });

  it('streams and upgrades pass through the edge', async () => {
    expect(await body(front, '/stream')).to.equal('one two');
    const echoed = await new Promise<string>((resolve, reject) => {
      const asked = request({
        host: '127.0.0.1',
        port: platform.edgePort,
        headers: { host: new URL(front.url).host, connection: 'Upgrade', upgrade: 'echo' },
      });
      asked.once('upgrade', (_, socket) => {
        socket.once('data', (data) => {
          socket.destroy();
          resolve(String(data));
        });
        socket.write('hello');
      });
      asked.once('error', reject);
      asked.end();
    });
    expect(echoed).to.equal('hello');
  });

  it('only the edge reaches a replica from the host', async () => {
    const url = `http://${await addressOf(front)}:8000/`;
    const program = `fetch(${JSON.stringify(url)}, { signal: AbortSignal.timeout(5000) }).then((answer) => answer.text()).then((text) => process.stdout.write(text), () => undefined)`;
    const user = { uid: 61_234, gid: 61_234, cwd: '/', env: {} };
    expect((await run(process.execPath, ['-e', program], user)).stdout).to.equal('');
    expect((await run(process.execPath, ['-e', program])).stdout).to.equal('puppet');
  });

  it('replicas go on while no worker lives, and the next one adopts them with their networks', async () => {
    const identity = await addressOf(front);
    const [worker] = platform.workers;
    worker?.kill('SIGKILL');
    await eventually('it has ended', () => worker?.ended);
    expect(await body(front)).to.equal('puppet');
    // A busy kernel may need a while to find the neighbour's link.
    await eventually('front reaches back', frontReachesBack);
    await run('nft', ['flush', 'table', 'inet', tableName(await platform.sandboxToken())]);
    await platform.startWorker();
    await eventually('the rules are set again', async () => {
      const outcome = await inside<string>(front, `return tryOut('127.0.0.1', ${platform.apiPort})`);
      return outcome !== 'connected' && frontReachesBack();
    });
    expect(await addressOf(front)).to.equal(identity);
    expect(await act(platform.client, front.id, 'restart')).to.equal('succeeded');
    expect(await body(front)).to.equal('puppet');
  });

  it('the next start removes what a kill of everything left behind', async () => {
    await killWorkers();
    const left = await platform.networks();
    expect(left.length).to.be.greaterThan(3);
    await run('ip', ['netns', 'add', `${prefix}stray1`]);
    const { db } = platform.database;
    for (const { pid } of await db('replicas').whereNotNull('pid').select('pid')) {
      await run('pkill', ['-KILL', '-P', String(pid)]).catch(() => undefined);
      process.kill(pid, 'SIGKILL');
    }
    await platform.startWorker();
    await eventually('what was there before is gone, and the services answer', async () => {
      const now = await platform.networks();
      const old = [...left, `${prefix}stray1`].filter((name) => now.includes(name));
      if (old.length > 0) throw new Error(`left: ${old.join(', ')}`);
      return (await body(front)) === 'puppet' && (await body(elsewhere)) === 'puppet';
    });
  });

  it('a change of NETWORK leaves what runs as it is, and removes a namespace with its replica', async () => {
    const before = await addressOf(front);
    const count = (await platform.networks()).length;
    await killWorkers();
    await platform.startWorker({ NETWORK: 'shared' });
    expect(await addressOf(front)).to.equal(before);
    await eventually('front reaches back', frontReachesBack);
    expect(await inside(front, `return tryOut('127.0.0.1', ${platform.apiPort})`)).to.equal('ECONNREFUSED');
    expect(await act(platform.client, front.id, 'restart')).to.equal('succeeded');
    expect(await addressOf(front)).to.equal('127.0.0.1');
    expect(await body(front)).to.equal('puppet');
    await eventually('its namespace is gone', async () => (await platform.networks()).length === count - 1);
    await killWorkers();
    await platform.startWorker();
    expect(await act(platform.client, front.id, 'restart')).to.equal('succeeded');
    await eventually('it has one again', async () => (await platform.networks()).length === count);
    expect(await addressOf(front)).to.match(/^10\./);
  });

  it('nothing is left when the platform has ended', async () => {
    const table = tableName(await platform.sandboxToken());
    expect((await run('nft', ['list', 'tables'])).stdout).to.contain(table);
    await platform.stop();
    stopped = true;
    expect(await platform.networks()).to.deep.equal([]);
    expect((await run('nft', ['list', 'tables'])).stdout).to.not.contain(table);
  });

  async function killWorkers(): Promise<void> {
    for (const worker of platform.workers) {
      worker.kill('SIGKILL');
      await eventually('it has ended', () => worker.ended);
    }
  }
});

async function works(file: string, ...args: string[]): Promise<boolean> {
  return run(file, args).then(
    () => true,
    () => false,
  );
}
