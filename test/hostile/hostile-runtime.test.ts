import { execFile, spawn } from 'node:child_process';
import { createServer } from 'node:http';
import { promisify } from 'node:util';
import { expect } from 'chai';
import { nodeServer } from '../support/apps.js';
import { visit } from '../support/client.js';
import { act, deploy, readService, type Service } from '../support/deployments.js';
import { type Platform, startPlatform } from '../support/platform.js';
import { eventually } from '../support/processes.js';
import { Victim } from '../support/victim.js';

const run = promisify(execFile);
/** Ports below those that the kernel gives to clients, and few enough for one process to try all. */
const FIRST_PORT = 30_000 + (process.pid % 65) * 40;
const LAST_PORT = FIRST_PORT + 39;
const PERSON = 61_234;
const METADATA = '169.254.169.254';

/** Runs the JavaScript of a request, and answers with its result; `/die` ends it. */
const PUPPET = {
  ...nodeServer('puppet'),
  'server.js': `
    const kept = [];
    /** Resolves to 'listening', or to the code of the error. */
    const listen = (port, host, answer) => new Promise((resolve) => {
      const server = require('node:http').createServer((request, response) => response.end(answer));
      server.once('error', (error) => resolve(error.code));
      server.listen({ port, host }, () => { kept.push(server); resolve('listening'); });
    });
    const connect = (port, host) => new Promise((resolve) => {
      const socket = require('node:net').connect({ port, host });
      socket.setTimeout(5000, () => { socket.destroy(); resolve('timeout'); });
      socket.once('connect', () => { socket.destroy(); resolve('connected'); });
      socket.once('error', (error) => resolve(error.code));
    });
    const shell = (command) => new Promise((resolve) => require('node:child_process').exec(command, (error, out, err) => resolve(out + err)));
    const Run = (async () => {}).constructor;
    require('node:http').createServer(async (request, response) => {
      const url = new URL(request.url, 'http://x');
      if (url.pathname === '/die') process.exit(3);
      if (url.pathname !== '/run') return response.end('puppet');
      const work = new Run('listen', 'connect', 'shell', 'kept', decodeURIComponent(url.search.slice(1)));
      response.end(JSON.stringify(await work(listen, connect, shell, kept).catch((error) => String(error))));
    }).listen(process.env.PORT, '127.0.0.1');
  `,
};

describe('Hostile neighbours in the network of one host', function () {
  this.timeout(240_000);
  let platform: Platform;
  let victim: Victim;
  let stranger: Service;
  let neighbour: Service;
  let contained = false;
  let hasUsers = false;
  let portsGuarded = false;
  let firewall = false;
  let stopped = false;

  before(async () => {
    platform = await startPlatform({
      engine: 'postgres',
      // The platform guards ports of the host only where applications share its network.
      env: { NETWORK: 'shared', RUNTIME_PORTS: `${FIRST_PORT}-${LAST_PORT}`, STOP_GRACE_SECONDS: '2' },
    });
    const level = await eventually('the worker says how it contains what it runs', () =>
      /"sandbox":"(\w+)"/.exec(platform.workers[0]?.output ?? ''),
    );
    contained = level[1] !== 'none';
    hasUsers = level[1] === 'root';
    // These commands ask the host, because a guard of the platform that stopped working must fail the test.
    portsGuarded =
      hasUsers && (await works('perl', '-e', '1')) && (await works('grep', '-q', ' cgroup2 ', '/proc/self/mounts'));
    firewall = hasUsers && (await works('nft', 'list', 'tables'));
    [victim, stranger, neighbour] = await Promise.all([
      Victim.deploy(platform),
      puppet('stranger'),
      puppet('neighbour'),
    ]);
  });
  after(async () => {
    if (!stopped) await platform?.stop();
  });

  async function puppet(name: string): Promise<Service> {
    const { service } = await platform.serviceOf(name, PUPPET);
    await deploy(platform.client, service.id);
    return service;
  }

  async function inside<T>(service: Service, program: string): Promise<T> {
    const { body } = await visit(service.url, platform.edgePort, `/run?${encodeURIComponent(program)}`);
    return JSON.parse(body) as T;
  }

  async function portOf({ id }: Service): Promise<number> {
    const [row] = await platform.database
      .db('replicas')
      .where({ service_id: id, desired: 'running' })
      .whereNotNull('port');
    return Number(row.port);
  }

  async function restartsOf({ id }: Service): Promise<number> {
    const [row] = await platform.database.db('replicas').where({ service_id: id, desired: 'running' });
    return Number(row.restarts);
  }

  it('an application cannot listen on the port of another, whatever the address', async function () {
    if (!portsGuarded) this.skip();
    const port = await portOf(neighbour);
    const addresses = ['127.0.0.1', '127.0.0.2', '0.0.0.0', '::', '::1', '::ffff:127.0.0.1'];
    await victim.duringAttack(async () => {
      const program = `return Promise.all(${JSON.stringify(addresses)}.map((host) => listen(${port}, host, 'stolen')))`;
      const outcomes = await inside<string[]>(stranger, program);
      expect(outcomes).to.have.length(addresses.length).and.not.include('listening');
    });
    expect(await inside(stranger, `return listen(0, '127.0.0.1', 'any port')`)).to.equal('listening');
  });

  it('one process cannot take the ports that others will need', async function () {
    if (!portsGuarded) this.skip();
    const program = `
      const ports = Array.from({ length: ${LAST_PORT - FIRST_PORT + 1} }, (_, i) => ${FIRST_PORT} + i);
      return (await Promise.all(ports.map((port) => listen(port, '0.0.0.0', 'stolen')))).filter((outcome) => outcome === 'listening').length`;
    await victim.duringAttack(async () => {
      expect(await inside(stranger, program)).to.equal(0);
      // Without a free port, this deployment would fail.
      const late = await puppet('late');
      expect((await visit(late.url, platform.edgePort)).body).to.equal('puppet');
    });
  });

  it('the visitors of an application that died never reach a process that waits for its port', async function () {
    if (!hasUsers) this.skip();
    const port = await portOf(neighbour);
    const before = await restartsOf(neighbour);
    const lurk = `
      setInterval(() => { for (const host of ['127.0.0.1', '0.0.0.0', '::']) void listen(${port}, host, 'stolen'); }, 1);
      return 'lurking'`;
    expect(await inside(stranger, lurk)).to.equal('lurking');
    const bodies = new Set<string>();
    await victim.duringAttack(async () => {
      await visit(neighbour.url, platform.edgePort, '/die').catch(() => undefined);
      await eventually('it is ready again, and nobody else has answered for it', async () => {
        // The end is recorded before the service's health changes, so the restarts are read first.
        const restarted = (await restartsOf(neighbour)) > before;
        const { status, body } = await visit(neighbour.url, platform.edgePort);
        if (status === 200) bodies.add(body);
        if (body === 'stolen') return true;
        if (!restarted || status !== 200) return false;
        return (await readService(platform.client, neighbour.id)).healthStatus === 'ready';
      });
    });
    expect([...bodies].filter((body) => body !== 'puppet')).to.deep.equal([]);
    expect(await act(platform.client, stranger.id, 'restart')).to.equal('succeeded');
  });

  it('a process of another user of the host that takes a freed port gets no visitors, and the port is left to it', async function () {
    if (!hasUsers) this.skip();
    const port = await portOf(neighbour);
    // The kernel refuses the port only to hosted processes, and this process is none.
    const thief = spawn(
      process.execPath,
      [
        '-e',
        `const take = () => require('node:http').createServer((q, r) => r.end('stolen')).on('error', () => setTimeout(take, 1)).listen(${port}, '127.0.0.1', () => console.log('taken')); take()`,
      ],
      { stdio: ['ignore', 'pipe', 'ignore'], uid: PERSON, gid: PERSON, cwd: '/' },
    );
    let taken = false;
    thief.stdout.on('data', () => {
      taken = true;
    });
    try {
      await eventually('the application dies', async () => {
        const { status } = await visit(neighbour.url, platform.edgePort, '/die').catch(() => ({ status: 0 }));
        return taken || (status !== 200 && status !== 503);
      });
      await eventually('the thief has the port', () => taken);
      const bodies: string[] = [];
      await eventually('the application answers from another port', async () => {
        const { body } = await visit(neighbour.url, platform.edgePort);
        bodies.push(body);
        return body === 'puppet' && (await portOf(neighbour)) !== port;
      });
      for (let i = 0; i < 5; i++) expect((await visit(neighbour.url, platform.edgePort)).body).to.equal('puppet');
      // Without packet rules, the port is watched only at intervals.
      if (firewall) expect(bodies).to.not.include('stolen');
    } finally {
      thief.kill('SIGKILL');
    }
  });

  it('hosted ports take connections of the edge and of their own application, and of nobody else', async function () {
    if (!firewall) this.skip();
    const port = await portOf(victim.service);
    const own = await portOf(stranger);
    const program = (target: number) =>
      `return Promise.all(['127.0.0.1', '127.0.0.2'].map((host) => connect(${target}, host)))`;
    expect(await inside(stranger, program(port))).to.deep.equal(['ECONNREFUSED', 'ECONNREFUSED']);
    expect((await inside<string[]>(stranger, program(own)))[0]).to.equal('connected');
    const browser = await fetchAs(PERSON, `http://localhost:${port}/`);
    expect(browser).to.equal('');
    expect(await fetchAs(0, `http://localhost:${port}/`)).to.equal('victim');
  });

  it('the address where a cloud hands out its credentials is closed to applications and builds', async function () {
    if (!firewall) this.skip();
    const added = await run('ip', ['address', 'add', `${METADATA}/32`, 'dev', 'lo']).then(
      () => true,
      () => false,
    );
    const server = createServer((_, response) => response.end('credentials of the host'));
    await new Promise<void>((resolve) => server.listen(0, METADATA, resolve));
    const address = server.address();
    const port = typeof address === 'object' && address !== null ? address.port : 0;
    try {
      expect(await fetchAs(0, `http://${METADATA}:${port}/`)).to.equal('credentials of the host');
      expect(await inside(stranger, `return connect(${port}, '${METADATA}')`)).to.equal('ECONNREFUSED');
      expect(await inside(stranger, `return connect(${port}, '::ffff:${METADATA}')`)).to.equal('ECONNREFUSED');
    } finally {
      server.close();
      if (added) await run('ip', ['address', 'delete', `${METADATA}/32`, 'dev', 'lo']);
    }
  });

  it('an application can make no user namespace and no socket into the hypervisor', async function () {
    if (!contained) this.skip();
    const attempts = [
      'unshare --user true && echo made',
      'unshare --user --map-root-user true && echo made',
      // clone3, clone with CLONE_NEWUSER, socket(AF_VSOCK), socket(AF_ALG), by their numbers on x86-64.
      ...(process.arch === 'x64'
        ? [
            `perl -e 'my $a = pack "Q11", 0x10000000, (0) x 10; my $p = syscall(435, $a, 88); exit if $p == 0; print "made\\n" if $p > 0'`,
            `perl -e 'my $p = syscall(56, 0x10000011, 0, 0, 0, 0); exit if $p == 0; print "made\\n" if $p > 0'`,
            `perl -e 'for (40, 38) { print "made\\n" if syscall(41, $_, 1, 0) >= 0 }'`,
          ]
        : []),
    ];
    for (const attempt of attempts) {
      const said = await inside<string>(stranger, `return shell(${JSON.stringify(attempt)})`);
      expect(said, attempt).to.not.contain('made');
    }
    // The filter allows what every program does.
    expect(await inside<string>(stranger, `return shell('echo $(id -u) | cat')`)).to.match(/^\d+\n$/);
  });

  it('the rules are there once after a worker was killed, and gone when the platform has ended', async function () {
    if (!firewall) this.skip();
    const table = `ranvier_${await platform.sandboxToken()}`;
    const [worker] = platform.workers;
    worker?.kill('SIGKILL');
    await eventually('it has ended', () => worker?.ended);
    expect(await tables()).to.include(table);
    await run('nft', ['flush', 'table', 'inet', table]);
    await platform.startWorker();
    await eventually('the rules are set again', async () =>
      (await run('nft', ['list', 'table', 'inet', table])).stdout.includes(`${await portOf(victim.service)} . `),
    );
    expect((await tables()).filter((name) => name === table)).to.have.length(1);
    await platform.stop();
    stopped = true;
    expect(await tables()).to.not.include(table);
  });
});

async function works(file: string, ...args: string[]): Promise<boolean> {
  return run(file, args).then(
    () => true,
    () => false,
  );
}

async function fetchAs(uid: number, url: string): Promise<string> {
  const program = `fetch(${JSON.stringify(url)}).then((answer) => answer.text()).then((text) => process.stdout.write(text), () => undefined)`;
  const { stdout } = await run(process.execPath, ['-e', program], { uid, gid: uid, cwd: '/', env: {} });
  return stdout;
}

async function tables(): Promise<string[]> {
  const { stdout } = await run('nft', ['list', 'tables']);
  return stdout.split('\n').map((line) => line.split(' ').at(-1) ?? '');
}
