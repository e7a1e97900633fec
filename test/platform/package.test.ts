import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { expect } from 'chai';
import type { Finding } from '../../shared/operator/check-host.js';
import { DIST } from '../support/platform.js';
import { eventually, freePorts, PlatformProcess } from '../support/processes.js';

const run = promisify(execFile);
const ROOT = join(DIST, '..');

/** Packs this version and puts it into `node_modules` of a folder, with the packages that npm would install for it. */
async function installPackage(folder: string): Promise<string[]> {
  const pack = ['pack', '--ignore-scripts', '--json', '--pack-destination', folder];
  const { stdout } = await run('npm', pack, { cwd: ROOT, maxBuffer: 10_000_000 });
  const [packed] = JSON.parse(stdout) as { filename: string; files: { path: string }[] }[];
  const modules = join(folder, 'node_modules');
  await mkdir(join(modules, 'ranvier'), { recursive: true });
  await run('tar', [
    'xzf',
    join(folder, packed?.filename ?? ''),
    '-C',
    join(modules, 'ranvier'),
    '--strip-components=1',
  ]);
  const lock = JSON.parse(await readFile(join(ROOT, 'package-lock.json'), 'utf8')) as {
    packages: Record<string, { dev?: boolean }>;
  };
  for (const [path, { dev = false }] of Object.entries(lock.packages)) {
    if (dev || !/^node_modules\/(@[^/]+\/)?[^/]+$/.test(path)) continue;
    await mkdir(dirname(join(folder, path)), { recursive: true });
    await symlink(join(ROOT, path), join(folder, path));
  }
  return packed?.files.map(({ path }) => path) ?? [];
}

/** Returns an older Node.js of the machine if there is one, because the package has to start with it too. */
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
      // The API is ready before the first heartbeat of the worker.
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
});
