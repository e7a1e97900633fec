import { execFile } from 'node:child_process';
import { chmod, mkdir, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { expect } from 'chai';
import { exists } from '../../shared/core/exists.js';
import type { Credentials } from '../../shared/launcher/credentials.js';
import type { Finding } from '../../shared/operator/check-host.js';
import { nodeServer } from '../support/apps.js';
import { ApiClient } from '../support/client.js';
import { createService, deploy, readService } from '../support/deployments.js';
import { rawRequest } from '../support/http.js';
import { DIST } from '../support/platform.js';
import { eventually, freePorts, PlatformProcess, processesWith } from '../support/processes.js';
import { createRepository, type TestRepository } from '../support/repositories.js';
import { SystemdHost } from '../support/systemd-host.js';
import { visitsDuring } from '../support/visitors.js';

const run = promisify(execFile);
const ROOT = join(DIST, '..');

/** Packs this version, and puts it with its packages into `node_modules` of a folder. */
async function installPackage(folder: string): Promise<string[]> {
  const pack = ['pack', '--ignore-scripts', '--json', '--pack-destination', folder];
  const { stdout } = await run('npm', pack, { cwd: ROOT, maxBuffer: 10_000_000 });
  const [packed] = JSON.parse(stdout) as { filename: string; files: { path: string }[] }[];
  const modules = join(folder, 'node_modules');
  await mkdir(join(modules, 'ranvier'), { recursive: true });
  const archive = join(folder, packed?.filename ?? '');
  await run('tar', ['xzf', archive, '-C', join(modules, 'ranvier'), '--strip-components=1']);
  const lock = JSON.parse(await readFile(join(ROOT, 'package-lock.json'), 'utf8')) as {
    packages: Record<string, { dev?: boolean }>;
  };
  for (const [path, { dev = false }] of Object.entries(lock.packages)) {
    if (dev || !/^node_modules\/(@[^/]+\/)?[^/]+$/.test(path)) continue;
    await mkdir(dirname(join(folder, path)), { recursive: true });
    if (await exists(join(ROOT, path))) await run('cp', ['-a', '--reflink=auto', join(ROOT, path), join(folder, path)]);
  }
  return packed?.files.map(({ path }) => path) ?? [];
}

/** Returns an older Node.js of this machine if there is one, because the package must start with it too. */
async function oldNode(): Promise<string> {
  const candidates = ['/usr/local/bin/node', '/usr/bin/node'];
  for (const path of candidates) {
    const found = await run(path, ['--version']).catch(() => null);
    if (found !== null && /^v2[0-3]\./.test(found.stdout)) return path;
  }
  return process.execPath;
}

describe('The package of a release', function () {
  this.timeout(240_000);
  let folder: string;
  let files: string[];

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'ranvier-package-'));
    files = await installPackage(folder);
  });
  after(() => rm(folder, { recursive: true, force: true }));

  it('holds what runs: the built console, the templates, and neither tests nor sources', () => {
    expect(files).to.include.members(['Procfile', 'dist/console/current.json', 'dist/shared/operator/main.js']);
    expect(files.some((path) => path.endsWith('templates/catalog/verdaccio.yaml'))).to.equal(true);
    expect(files.filter((path) => path.startsWith('dist/test') || /\.tsx?$/.test(path))).to.deep.equal([]);
  });

  it('starts the whole platform without a build, checks it, and ends it', async () => {
    const [api = 0, edge = 0] = await freePorts(2);
    const env = {
      ...{ PATH: process.env.PATH ?? '', HOME: folder, DATA_DIR: join(folder, 'data') },
      ...{ PORT: String(api), EDGE_PORT: String(edge) },
    };
    const main = join(folder, 'node_modules/ranvier/dist/shared/operator/main.js');
    const node = await oldNode();
    const platform = new PlatformProcess('ranvier', node, [main, 'start'], env);
    try {
      await platform.ready(async () => platform.output.includes('Ranvier is ready'));
      const console = await fetch(`http://127.0.0.1:${api}/`);
      expect([console.status, await console.text()].join()).to.match(/^200,<!doctype html>/i);
      // The API is ready before the worker's first heartbeat.
      await eventually('the doctor finds nothing missing', async () => {
        const { stdout } = await run(node, [main, 'doctor', '--json'], { env });
        const { findings } = JSON.parse(stdout) as { findings: Finding[] };
        const states = Object.fromEntries(findings.map(({ name, state }) => [name, state]));
        expect(states).to.include({ database: 'ok', API: 'ok', workers: 'ok', [`port ${api}`]: 'ok' });
        return true;
      });
    } finally {
      await platform.stop();
    }
    expect(await fetch(`http://127.0.0.1:${api}/`).catch(() => 'no answer')).to.equal('no answer');
  });

  describe('on a host with systemd', () => {
    const SETTINGS = '/etc/ranvier/ranvier.env';
    const UNITS = ['postgres', 'api', 'edge', 'worker'].map((name) => `ranvier-${name}.service`);
    let host: SystemdHost;
    let repository: TestRepository;
    let client: ApiClient;
    const ranvier = (...args: string[]) =>
      host.run(process.execPath, join(folder, 'node_modules/ranvier/dist/shared/operator/main.js'), ...args);

    before(async function () {
      if (!(await SystemdHost.isPossible())) return this.skip();
      // Users other than root must be able to read the installation.
      await chmod(folder, 0o755);
      repository = await createRepository(nodeServer('stays'));
      host = await SystemdHost.boot([folder, repository.folder]);
    });
    after(async () => {
      await host?.stop();
      await repository?.remove();
    });

    it('is installed as services that run, with an owner', async () => {
      // The installation keeps settings of the operator.
      await host.run('sh', '-c', `mkdir /etc/ranvier && echo ALLOW_LOCAL_REPOSITORIES=true > ${SETTINGS}`);
      const { stdout } = await ranvier('install', '--force');
      expect(stdout).to.match(/sign in, once, within 15 minutes: http/);
      const { stdout: states } = await host.run('systemctl', 'is-active', ...UNITS);
      expect(states.trim().split('\n')).to.deep.equal(UNITS.map(() => 'active'));
      const credentials = await host.run('cat', '/var/lib/ranvier/credentials.json');
      const { baseUrl, workspaceId, apiKey } = JSON.parse(credentials.stdout) as Credentials;
      client = new ApiClient(baseUrl.replace('localhost', host.address), workspaceId, apiKey);
      const { stdout: settings } = await host.run('cat', SETTINGS);
      await ranvier('install', '--force');
      expect((await host.run('cat', SETTINGS)).stdout).to.equal(settings);
    });

    it('has units that systemd finds nothing wrong with', async () => {
      const verified = await host.run('systemd-analyze', 'verify', 'ranvier.target', ...UNITS);
      expect(verified.stderr.split('\n').filter((line) => line.includes('ranvier'))).to.deep.equal([]);
      // The worker isolates others, so it keeps its rights. systemd calls an exposure below 4 "OK".
      for (const unit of UNITS.filter((name) => !name.includes('worker'))) {
        await host.run('systemd-analyze', 'security', '--threshold=40', unit);
      }
    });

    it('is upgraded without one failed request', async () => {
      const service = await createService(client, { name: 'shop', configuration: { repository: repository.url } });
      await deploy(client, service.id);
      const { url } = await readService(client, service.id);
      const get = () => rawRequest(`http://${host.address}/`, { headers: { host: new URL(url).host } });
      const { answers } = await visitsDuring(() => ranvier('upgrade'), get);
      expect(answers).to.deep.equal(['200 stays']);
      expect((await host.run('readlink', '/opt/ranvier/current')).stdout).to.match(/^0\.\S+\+2\n$/);
      await deploy(client, service.id);
      expect(await get()).to.include({ status: 200, body: 'stays' });
    });

    it('is uninstalled with all that it hosts, and keeps the data', async () => {
      await ranvier('uninstall');
      const { stdout } = await host.run('systemctl', 'list-units', '--all', '--no-legend', 'ranvier*');
      expect(stdout).to.equal('');
      await eventually('no process is left', async () => (await processesWith('/opt/ranvier')) === '');
      await host.run('test', '-e', '/var/lib/ranvier/postgres/data/PG_VERSION');
      await ranvier('uninstall', '--purge');
      await host.run('test', '!', '-e', '/var/lib/ranvier');
    });
  });
});
