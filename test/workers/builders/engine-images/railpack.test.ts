import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { ConfigError } from '../../../../shared/core/config.js';
import { createLogger } from '../../../../shared/core/log.js';
import { findRailpack, type Railpack } from '../../../../workers/builders/engine-images/railpack.js';
import { BuildError } from '../../../../workers/failures/explained-errors.js';
import { NO_DOCKER } from '../../../support/docker.js';
import { eventually } from '../../../support/processes.js';
import { type RailpackStandIn, startRailpack } from '../../../support/railpack.js';
import { type Files, hasGit } from '../../../support/repositories.js';
import { BuildFixture, TINY_IMAGE, type Wanted } from './support.js';

const REASON = NO_DOCKER || (hasGit ? '' : 'git is not installed');

describe(`Builds with a stand-in for Railpack, which cannot be installed for these tests${REASON === '' ? '' : `: ${REASON}`}`, function () {
  this.timeout(240_000);
  let fixture: BuildFixture;
  let standIn: RailpackStandIn;
  let railpack: Railpack;

  before(async function () {
    if (REASON !== '') this.skip();
    fixture = await BuildFixture.open();
    if (fixture.sandbox.level !== 'root') this.skip();
    await fixture.node.derive('local/made:latest', ['CMD ["/bin/sh", "-c", "echo made"]'], TINY_IMAGE);
    const names = [TINY_IMAGE, 'ranvier/other:1'];
    standIn = await startRailpack(fixture.folder, fixture.node, 'local/made:latest', names);
    railpack = { program: join(standIn.bin, 'railpack'), buildkitHost: standIn.buildkitHost };
  });
  after(async () => {
    standIn?.stop();
    await fixture?.close();
  });

  const ruby: Files = { 'web/Gemfile': 'x', 'web/app.rb': 'x' };
  const inWeb = { rootDirectory: 'web' };
  const wanted = (more: Wanted): Wanted => ({ railpack, files: ruby, configuration: inWeb, ...more });

  it('gives Railpack the project and its variables by name, and stores the image', async () => {
    const built = await fixture.build(
      wanted({
        configuration: { ...inWeb, buildCommand: 'rake "build"', startCommand: "-x 'y'" },
        request: { serviceId: 'app', environment: { TOKEN: "the 'value'", PATH: '/nowhere' } },
        buildEnvironment: { HTTPS_PROXY: 'http://proxy', NODE_EXTRA_CA_CERTS: '/etc/none.pem' },
      }),
    );
    const argv = JSON.parse(built.lines.find((line) => line.startsWith('argv '))?.slice('argv '.length) ?? '[]');
    const name = argv[2];
    expect(name).to.match(/^ranvier\/app:railpack-test/);
    expect(argv).to.deep.equal([
      ...[
        'build',
        '--name',
        name,
        '--progress',
        'plain',
        '--cache-key',
        fixture.cacheNamespace('app'),
        '--error-missing-start',
      ],
      ...['--build-cmd=rake "build"', "--start-cmd=-x 'y'"],
      ...['--env', 'HTTPS_PROXY', '--env', 'CI', '--env', 'TOKEN', '.'],
    ]);
    expect(built.lines).to.include.members([
      'Builds with Railpack',
      '$ railpack build',
      'sees ["Gemfile","app.rb"] true',
      'docker.sock false false',
      `env TOKEN ${JSON.stringify("the 'value'")}`,
      'env HTTPS_PROXY "http://proxy"',
      'platform [null,null,null]',
      'buildkit says done: Solve',
      'disk usage 7',
    ]);
    expect(built.manifest).to.deep.include({ type: 'process', runtime: 'railpack', startCommand: '' });
    expect(built.reference).to.equal(`ranvier/app:${built.digest.slice(0, 24)}`);
    expect(await fixture.run(built.reference)).to.equal('made');
    const { Config: config } = await fixture.node.docker.getImage(built.reference).inspect();
    expect(config.Labels).to.deep.equal({ 'ranvier.image': 'ours' });
    expect(standIn.connections.size, 'connections to BuildKit').to.equal(0);
  });

  it("ignores the names in the image's archive, which could be those of other images", async () => {
    const { Id: before } = await fixture.node.docker.getImage(TINY_IMAGE).inspect();
    await fixture.build(wanted({ request: { serviceId: 'names' } }));
    expect((await fixture.node.docker.getImage(TINY_IMAGE).inspect()).Id).to.equal(before);
    const names = (await fixture.node.docker.listImages()).flatMap((image) => image.RepoTags ?? []);
    expect(names.filter((name) => /other|railpack-/.test(name))).to.deep.equal([]);
  });

  it('keeps downloads for the next build of the service, and builds without any cache if clearCache is set', async () => {
    const build = (clearCache: boolean) => fixture.build(wanted({ request: { serviceId: 'cached', clearCache } }));
    expect((await build(false)).lines).to.include('kept 0');
    expect((await build(false)).lines).to.include('kept 1');
    const cleared = await build(true);
    expect(cleared.lines).to.include.members(['kept 0', 'platform [null,null,"*"]']);
    expect(cleared.output).to.contain('"--no-cache"');
  });

  it('builds services, and neither sites of files nor Dockerfiles', async () => {
    const site = await fixture.failure(wanted({ files: { 'web/index.html': 'x' } }));
    expect(site.message).to.equal('this is a site');
    const dockerfile = { Dockerfile: 'FROM local/tiny:latest\nCMD ["true"]\n' };
    const built = await fixture.build({ railpack, files: dockerfile });
    expect(built.manifest.runtime).to.equal('docker');
    const files = { Procfile: 'web: a\nworker: b\n' };
    const worker = await fixture.build({ railpack, files, request: { kind: 'worker' } });
    expect(worker.output).to.contain('"--start-cmd=b"');
    const { lines } = await fixture.failure({
      files: { Procfile: 'web: true' },
      baseImages: { auto: '127.0.0.1:1/no' },
    });
    expect(lines).to.include('Detected: no framework, started with "true" (startCommand changes this)');
  });

  it('reports what failed, and why', async () => {
    const failure = (file: string) => fixture.failure(wanted({ files: { ...ruby, [`web/${file}`]: 'x' } }));
    const broken = await failure('broken');
    expect(broken).to.be.instanceOf(BuildError);
    expect(broken.message).to.equal(
      '"railpack build" exited with code 1: failed to solve: process "sh -c npm run build" did not complete successfully: exit code: 1',
    );
    expect(broken.lines).to.include('#8 0.312 Error: the cause');
    for (const file of ['forgets', 'steals']) {
      expect((await failure(file)).message, file).to.equal(
        'the build ended without an image; the end of its output may say why',
      );
    }
    for (const file of ['babbles', 'empties']) {
      expect((await failure(file)).message, file).to.match(/^the image that was built cannot be loaded: ./);
    }
    const nowhere = { program: railpack.program, buildkitHost: 'tcp://127.0.0.1:1' };
    const down = await fixture.failure(wanted({ railpack: nowhere }));
    expect(down, 'a fault of the platform').not.to.be.instanceOf(BuildError);
    expect(down.message).to.match(/^BUILDKIT_HOST=tcp:\/\/127\.0\.0\.1:1: BuildKit does not answer \(.*ECONNREFUSED/);
  });

  it('is ended with all its processes if the build is cancelled or reaches its time limit', async () => {
    const files = { ...ruby, 'web/hangs': 'x' };
    const nothingRuns = async () =>
      !(await fixture.processes()).includes('sleep 98711') && standIn.connections.size === 0;
    const controller = new AbortController();
    const reason = new Error('cancelled');
    const onLog = async (line: string) => {
      if (line !== 'begun') return;
      expect(await fixture.processes()).to.contain('sleep 98711');
      controller.abort(reason);
    };
    expect(await fixture.failure(wanted({ files, signal: controller.signal, onLog }))).to.equal(reason);
    await eventually('nothing of the build runs', nothingRuns);
    const late = await fixture.failure(wanted({ files, configuration: { ...inWeb, timeoutSeconds: 5 } }));
    expect(late.message).to.match(/did not finish within 5 s \(timeoutSeconds counts for the whole build\)$/);
    await eventually('nothing of the build runs', nothingRuns);
  });
});

describe('The decision whether Railpack builds', () => {
  const log = createLogger('test', 'silent');
  let folder: string;

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'ranvier-railpack-'));
    await writeFile(join(folder, 'railpack'), '#!/bin/sh\n', { mode: 0o755 });
  });
  after(() => rm(folder, { recursive: true, force: true }));

  const find = (buildkitHost: string | null, level: 'root' | 'none' = 'root', searchPath = `:/none:${folder}`) =>
    findRailpack({ railpack: { buildkitHost, searchPath } }, { level }, log).catch((error: unknown) => error);

  it('needs its program and BUILDKIT_HOST', async () => {
    expect(await find(null)).to.equal(null);
    expect(await find(null, 'none', '')).to.equal(null);
    const found = await find('tcp://127.0.0.1:1234');
    expect(found).to.deep.include({ buildkitHost: 'tcp://127.0.0.1:1234' });
  });

  it('is a ConfigError if BUILDKIT_HOST is set and Railpack or its sandbox is missing', async () => {
    const missing = await find('tcp://127.0.0.1:1234', 'root', '/none');
    expect(missing).to.be.instanceOf(ConfigError);
    expect((missing as Error).message).to.match(/BUILDKIT_HOST is set, and no program "railpack" .* unset it/);
    const weak = await find('tcp://127.0.0.1:1234', 'none');
    expect((weak as Error).message).to.match(/needs OCI containers as root .* run it as root on Linux, or unset it/);
  });
});
