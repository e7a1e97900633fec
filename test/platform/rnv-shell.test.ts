import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { promisify } from 'node:util';
import { expect } from 'chai';
import { nodeServer } from '../support/apps.js';
import { createService, deploy, type Service } from '../support/deployments.js';
import { ENGINES, type Platform, usePlatform } from '../support/platform.js';
import { Rnv, type RnvOptions } from '../support/rnv.js';

describe('The command line', function () {
  this.timeout(240_000);
  let platform: Platform;
  let rnv: Rnv;
  let service: Service;
  usePlatform({ engine: ENGINES[0] ?? 'postgres' }, async (started) => {
    platform = started;
    rnv = await Rnv.create();
    ({ service } = await platform.serviceOf('shop', nodeServer('serves')));
    await deploy(platform.client, service.id);
  });
  after(() => rnv?.remove());

  const env = () => ({
    RNV_URL: `http://127.0.0.1:${platform.apiPort}`,
    RNV_KEY: platform.client.key,
    RNV_SERVICE: 'shop',
  });
  const run = (args: readonly string[], options: RnvOptions = {}) => rnv.run(args, { ...options, env: env() });

  it('exec passes input, output and error through, each apart, and ends with the exit code', async () => {
    const input = 'line\n'.repeat(100_000);
    expect(await run(['exec', '--', 'wc -c; echo wrong >&2; exit 9'], { input })).to.deep.equal({
      code: 9,
      stdout: `${input.length}\n`,
      stderr: 'wrong\n',
    });
    expect(await run(['exec', 'shop', '--', 'ls', 'server.js'])).to.include({ code: 0, stdout: 'server.js\n' });
    expect(await run(['exec', 'ls'])).to.include({ code: 2 });
  });

  it('shell is a terminal in the replica, and ends with its exit code', async () => {
    const answer = await rnv.terminal(['shell'], [['$ ', 'stty size; exit 4\n']], { env: env() });
    expect(answer.stdout).to.contain('30 100');
    expect(answer.code).to.equal(4);
    expect(await run(['shell'])).to.include({ code: 2 });
  });

  it('connect opens a local port that leads to the service', async () => {
    const child = rnv.start(['connect', 'shop'], { env: env() });
    const [line] = (await once(child.stdout ?? child, 'data')) as [Buffer];
    const answer = await fetch(`http://${line.toString().trim()}/`);
    expect(await answer.text()).to.equal('serves');
    child.kill('SIGINT');
    await once(child, 'exit');
  });

  it('psql, and a shell of the database, reach it with its credentials', async function () {
    if ((await promisify(execFile)('psql', ['--version']).catch(() => null)) === null) this.skip();
    const orders = await createService(platform.client, { name: 'orders', kind: 'postgres', configuration: {} });
    await deploy(platform.client, orders.id);
    expect(await run(['psql', 'orders', '--', '-Atc', 'select 6 * 7'])).to.include({ code: 0, stdout: '42\n' });
    expect(await run(['psql', 'orders', '--', '-c', 'select nothing'])).to.include({ code: 1 });
    const shell = await rnv.terminal(['shell', 'orders'], [['=>', '\\conninfo\n\\q\n']], { env: env() });
    expect(shell.stdout).to.match(/connected to database "\w+" as user "\w+"/);
    expect(shell.code).to.equal(0);
  });

  it('redis-cli reaches a database with its credentials', async function () {
    const hasClient = await promisify(execFile)('redis-cli', ['--version']).catch(() => null);
    if (hasClient === null) this.skip();
    const redis = await createService(platform.client, { name: 'cache', kind: 'redis', configuration: {} });
    await deploy(platform.client, redis.id);
    expect(await run(['redis-cli', 'cache', '--', 'PING'])).to.include({ code: 0, stdout: 'PONG\n' });
    expect(await run(['psql', 'cache'])).to.include({ code: 2 });
    const { entries } = await platform.client.expect<{ entries: { operation: string }[] }>('GET', '/audit');
    expect(entries.map(({ operation }) => operation)).to.include('credentials.reveal');
  });
});
