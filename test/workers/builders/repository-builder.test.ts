import { execFile, spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { lstat, mkdir, mkdtemp, readdir, readFile, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect } from 'chai';
import { createLogger } from '../../../shared/core/log.js';
import { DEFAULT_CONFIGURATION, type ServiceConfiguration } from '../../../shared/services/configuration.js';
import { removeCaches } from '../../../workers/builders/build-folder.js';
import type { BuildContext, Builder, BuildRequest } from '../../../workers/builders/builder.js';
import { createRepositoryBuilder } from '../../../workers/builders/repository-builder.js';
import { FolderImageStore } from '../../../workers/builders/result/folder-image-store.js';
import { buildMemoryMb } from '../../../workers/builders/steps/build-commands.js';
import { createToolchains } from '../../../workers/builders/toolchains/toolchain-store.js';
import { BuildError } from '../../../workers/failures/explained-errors.js';
import { createSandbox } from '../../../workers/sandbox/create-sandbox.js';
import type { Sandbox } from '../../../workers/sandbox/sandbox.js';
import { GitSource } from '../../../workers/sources/git-source.js';
import { nodeServer, pythonServer } from '../../support/apps.js';
import { BUILD_ENVIRONMENT, hasRegistry } from '../../support/npm-registry.js';
import {
  builtSite,
  createRepository,
  type Files,
  hasGit,
  npmServer,
  packageJson,
  type TestRepository,
} from '../../support/repositories.js';

const run = promisify(execFile);
const log = createLogger('test', 'silent');
const hasPython = spawnSync('/usr/bin/python3', ['-m', 'pip', '--version']).status === 0;

describe(`Builds of repositories${hasGit ? '' : ': git is not installed'}`, function () {
  this.timeout(240_000);
  let root: string;
  let dataDir: string;
  let sandbox: Sandbox;
  let images: FolderImageStore;
  let builder: Builder;
  let number = 0;
  const repositories: TestRepository[] = [];

  before(async function () {
    if (!hasGit) this.skip();
    root = await mkdtemp(join(tmpdir(), 'ranvier-builds-'));
    dataDir = join(root, 'data');
    await mkdir(dataDir, { mode: 0o711 });
    sandbox = await createSandbox({ log, dataDir });
    images = new FolderImageStore({ dataDir, log });
    const config = { dataDir, allowLocalRepositories: true, buildEnvironment: BUILD_ENVIRONMENT };
    const source = new GitSource({ config, log });
    const toolchains = createToolchains({ dataDir, buildEnvironment: BUILD_ENVIRONMENT, log });
    builder = createRepositoryBuilder({ config, log, sandbox, source, images, toolchains });
  });
  afterEach(async () => {
    const left = existsSync(join(dataDir, 'builds')) ? await readdir(join(dataDir, 'builds')) : [];
    expect(left, 'folders of builds that have ended').to.deep.equal([]);
  });
  after(async () => {
    for (const repository of repositories) await repository.remove();
    if (root) await rm(root, { recursive: true, force: true });
  });

  interface Wanted {
    files: Files;
    configuration?: Partial<ServiceConfiguration>;
    request?: Partial<BuildRequest>;
    signal?: AbortSignal;
    onLog?: (line: string) => void;
  }

  async function build({ files, configuration = {}, request = {}, signal, onLog }: Wanted) {
    const repository = await createRepository(files);
    repositories.push(repository);
    const lines: string[] = [];
    const context: BuildContext = {
      signal: signal ?? new AbortController().signal,
      log: async (line) => {
        lines.push(line);
        onLog?.(line);
      },
    };
    number += 1;
    const image = await builder.build(
      {
        id: `test${process.pid}-${number}`,
        workspaceId: 'w',
        serviceId: `service-${number}`,
        environmentId: null,
        userNumber: 7000 + number,
        kind: 'web',
        configuration: { ...DEFAULT_CONFIGURATION, ...configuration },
        repository: repository.url,
        commitSha: await repository.git('rev-parse', 'HEAD'),
        clearCache: false,
        environment: {},
        ...request,
      },
      context,
    );
    return { ...image, folder: images.pathOf(image.digest), lines, output: lines.join('\n') };
  }

  async function runIn({ folder, manifest }: Awaited<ReturnType<typeof build>>, command: string): Promise<string[]> {
    const directory = await mkdtemp(join(dataDir, 'run-'));
    const lines: string[] = [];
    await sandbox.run(
      {
        id: `run-${number}`,
        command: manifest.startCommand.replace(/[^;]*$/, ` ${command}`),
        directory,
        image: folder,
        cwd: manifest.workingDirectory,
        env: manifest.environment,
        userNumber: 7000 + number,
        limits: { memoryMb: 512, cpu: 1, pids: 128 },
      },
      {
        signal: new AbortController().signal,
        timeoutMs: 30_000,
        graceMs: 0,
        onLine: (line) => void lines.push(line),
      },
    );
    await rm(directory, { recursive: true, force: true });
    return lines;
  }

  async function failure(wanted: Wanted): Promise<string> {
    try {
      await build(wanted);
    } catch (error) {
      expect(error, String(error)).to.be.instanceOf(BuildError);
      return (error as Error).message;
    }
    throw new Error('the build succeeded');
  }

  const script = (command: string): Files => ({
    'package.json': packageJson({ scripts: { build: command, start: 'node x' } }),
  });

  it(`builds a Node application with a dependency from the registry${hasRegistry ? '' : ': no registry can be reached'}`, async function () {
    if (!hasRegistry) this.skip();
    const files = await npmServer();
    const built = await build({ files });
    const { manifest, folder, output } = built;
    const { startCommand, ...rest } = manifest;
    // The start command runs the script of `npm start` without npm.
    expect(startCommand).to.match(/^export PATH="\$PWD\/node_modules\/\.bin:\$PATH"; .*'exec node /s);
    expect(rest).to.deep.equal({
      type: 'process',
      runtime: 'node',
      shownCommand: 'npm start',
      workingDirectory: '',
      publishDirectory: '',
      environment: {},
    });
    expect(existsSync(join(folder, 'node_modules/ms/package.json'))).to.equal(true);
    expect(existsSync(join(folder, '.git'))).to.equal(false);
    expect(await runIn(built, `node -p "require('ms')('2 days')"`)).to.deep.equal(['172800000']);
    expect(output)
      .to.match(/^\$ npm ci$/m)
      .and.match(/^"npm ci" took [\d.]+ s$/m);
    const cache = join(dataDir, 'caches', `service-${number}`, 'npm');
    expect((await readdir(cache)).length).to.be.greaterThan(0);
  });

  it(`copies the dependencies of the last build if nothing that decides them changed${hasRegistry ? '' : ': no registry can be reached'}`, async function () {
    if (!hasRegistry) this.skip();
    const files = await npmServer();
    const request = { serviceId: 'copies', userNumber: 6998 };
    const installs = ({ lines }: { lines: string[] }) => lines.includes('$ npm ci');
    const first = await build({ files, request });
    expect(installs(first)).to.equal(true);
    const changed = { ...files, 'page.html': 'new', 'node_modules/stray.js': 'committed' };
    const second = await build({ files: changed, request });
    expect(installs(second), second.output).to.equal(false);
    expect(await runIn(second, `node -p "require('ms')('2 days')"`)).to.deep.equal(['172800000']);
    expect(await readdir(join(second.folder, 'node_modules'))).to.have.members(
      await readdir(join(first.folder, 'node_modules')),
    );
    const owners = await run('find', [second.folder, '!', '-uid', String(process.getuid?.())]);
    expect(owners.stdout).to.equal('');
    // Another service, other variables and clearCache cause a new installation.
    const [other, variables, clear] = [
      await build({ files: changed }),
      await build({ files: changed, request: { ...request, environment: { npm_config_omit: 'dev' } } }),
      await build({ files: changed, request: { ...request, clearCache: true } }),
    ];
    expect([other, variables, clear].map(installs)).to.deep.equal([true, true, true]);
    const scripts = { start: 'node server.js', postinstall: 'true' };
    const scripted = { ...changed, 'package.json': packageJson({ scripts, dependencies: { ms: '2.1.3' } }) };
    for (let i = 0; i < 2; i++) expect(installs(await build({ files: scripted, request }))).to.equal(true);
    await build({ files: changed, request });
    await rm(clear.folder, { recursive: true });
    expect(installs(await build({ files: changed, request })), 'after its image was removed').to.equal(true);
  });

  it(`keeps a copy of the dependencies before a build step changes them${hasRegistry ? '' : ': no registry can be reached'}`, async function () {
    if (!hasRegistry) this.skip();
    const script =
      "const m = require('ms'); fs.writeFileSync('node_modules/stray.js', ''); fs.appendFileSync('node_modules/ms/index.js', '//')";
    const scripts = { build: `ls node_modules && node -e "${script}"`, start: 'node server.js' };
    const files = { ...(await npmServer()), 'package.json': packageJson({ scripts, dependencies: { ms: '2.1.3' } }) };
    const request = { serviceId: '01900000-0000-7000-8000-000000000001', userNumber: 6997 };
    const installs = ({ lines }: { lines: string[] }) => lines.includes('$ npm ci');
    expect(installs(await build({ files, request }))).to.equal(true);
    const second = await build({ files: { ...files, 'page.html': 'new' }, request });
    expect(installs(second), second.output).to.equal(false);
    expect(
      second.lines.filter((line) => line === 'stray.js'),
      'what the first build wrote',
    ).to.deep.equal([]);
    expect(await readFile(join(second.folder, 'node_modules/ms/index.js'), 'utf8')).to.match(/[^/]\/\/$/);
    const kept = join(dataDir, 'dependencies', `${request.serviceId}.copy`);
    const owners = await run('find', [kept, '!', '-uid', String(process.getuid?.())]);
    expect(owners.stdout).to.equal('');
    expect((await stat(kept)).mode & 0o777).to.equal(0o700);
    expect(installs(await build({ files, request: { ...request, clearCache: true } }))).to.equal(true);
    expect(await removeCaches(dataDir, async (ids) => new Set(ids.filter((id) => id === request.serviceId)))).to.equal(
      1,
    );
    expect(await readdir(join(dataDir, 'dependencies'))).to.not.include(`${request.serviceId}.copy`);
  });

  it('installs development dependencies with any NODE_ENV of the service', async () => {
    const files: Files = {
      'package.json': packageJson({ scripts: { build: 'tool', start: 'x' }, devDependencies: { tool: 'file:./tool' } }),
      'tool/package.json': JSON.stringify({ name: 'tool', version: '1.0.0', bin: './tool.js' }),
      'tool/tool.js': { script: "#!/usr/bin/env node\nconsole.log('NODE_ENV is', process.env.NODE_ENV);\n" },
    };
    const { output } = await build({ files, request: { environment: { NODE_ENV: 'production' } } });
    expect(output).to.contain('NODE_ENV is production');
  });

  it('builds a site with its build script and stores only the published folder', async () => {
    const { manifest, folder, output, sizeBytes } = await build({
      files: builtSite('hello'),
      request: { kind: 'static' },
    });
    expect(manifest).to.include({ type: 'static', publishDirectory: '', startCommand: '' });
    expect(await readdir(folder)).to.deep.equal(['index.html']);
    expect(sizeBytes).to.equal('<h1>hello</h1>'.length);
    expect(output).to.contain('wrote dist/index.html');
  });

  it('keeps the release line of a Procfile, with the programs of its dependencies in the PATH', async () => {
    const Procfile = 'web: node x\nrelease: node migrate.js\n';
    const { manifest } = await build({ files: { ...script('true'), Procfile } });
    expect(manifest.releaseCommand).to.match(/^export PATH="\$PWD\/node_modules\/\.bin:\$PATH"; node migrate\.js$/);
    expect((await build({ files: { 'index.html': 'x', Procfile: 'release: x' } })).manifest).to.not.have.property(
      'releaseCommand',
    );
  });

  it('publishes a site without a build script unchanged', async () => {
    const { folder, manifest } = await build({
      files: { 'index.html': 'x', 'css/a.css': 'y' },
      request: { kind: 'static' },
    });
    expect(manifest.type).to.equal('static');
    expect((await readdir(folder)).sort()).to.deep.equal(['css', 'index.html']);
  });

  it("reports the folder's content if the published folder is missing, is empty or leads out", async () => {
    const kind = 'static';
    const files = { 'package.json': packageJson({ scripts: { build: 'mkdir out' } }) };
    expect(await failure({ files, request: { kind } })).to.match(
      /^publishDirectory "dist" does not exist after the build; the folder has: .*out\/, package/,
    );
    expect(await failure({ files, configuration: { publishDirectory: 'out' }, request: { kind } })).to.match(
      /is empty/,
    );
    const out: Files = { 'package.json': packageJson({ scripts: { build: 'ln -s /etc dist' } }) };
    expect(await failure({ files: out, request: { kind } })).to.match(/leads out/);
  });

  it(`builds Python applications, with packages beside them${hasPython ? '' : ': python3 with pip is not installed'}`, async function () {
    if (!hasPython) this.skip();
    const plain = await build({ files: pythonServer('hi') });
    expect(plain.manifest).to.include({ runtime: 'python', startCommand: 'python3 main.py' });
    const wheel = await makeWheel(root);
    const repository = await createRepository({
      ...pythonServer('hi'),
      'requirements.txt': './greet-1.0-py3-none-any.whl\n',
    });
    repositories.push(repository);
    await writeFile(join(repository.folder, 'greet-1.0-py3-none-any.whl'), await readFile(wheel));
    await repository.commit('Add a wheel', {});
    const commitSha = await repository.git('rev-parse', 'HEAD');
    const built = await build({
      files: {},
      request: { repository: repository.url, commitSha },
      configuration: { buildCommand: 'greet' },
    });
    expect(built.lines).to.include('greeted');
    expect(await runIn(built, 'greet')).to.deep.equal(['greeted']);
  });

  it('names a tool that is missing on the host', async () => {
    const files = { 'package.json': packageJson({ scripts: { start: 'x' } }), 'yarn.lock': '' };
    const request = { environment: { PATH: '/nowhere' } };
    expect(await failure({ files, request })).to.match(/node is not installed on this host; install Node\.js/);
  });

  it('works in rootDirectory and leaves out files that the path filters match', async () => {
    const files: Files = {
      ...nodeServer('x'),
      'README.md': 'x',
      'apps/web/server.js': 'x',
      'apps/web/notes/a.txt': 'x',
    };
    const { folder, manifest, output } = await build({
      files,
      configuration: {
        rootDirectory: 'apps/web',
        startCommand: 'node server.js',
        buildCommand: 'pwd; touch made',
        includePaths: ['apps/web'],
        ignorePaths: ['*.txt'],
      },
    });
    expect(manifest.workingDirectory).to.equal('apps/web');
    expect(await readdir(folder)).to.deep.equal(['apps']);
    expect((await readdir(join(folder, 'apps/web'))).sort()).to.deep.equal(['made', 'server.js']);
    expect(output)
      .to.match(/4 files are left out/)
      .and.match(/\/apps\/web$/m);
    expect(await failure({ files, configuration: { rootDirectory: 'nope' } })).to.match(
      /rootDirectory "nope" does not exist; the folder has: Procfile, README\.md, apps\/, server\.js/,
    );
    const linked: Files = { ...nodeServer('x'), out: { link: '/etc' } };
    expect(await failure({ files: linked, configuration: { rootDirectory: 'out' } })).to.match(/leads out/);
  });

  it('reports the command, its code and the end of its output', async () => {
    expect(await failure({ files: script('node -e "throw new Error(\'the cause\')"') })).to.equal(
      '"npm run build" exited with code 1: Error: the cause',
    );
    const missing = { ...DEFAULT_CONFIGURATION, buildCommand: 'no-such-tool --now' };
    expect(await failure({ files: script('true'), configuration: missing })).to.match(
      /^"no-such-tool --now" exited with code 127: .*no-such-tool: not found/,
    );
    const broken = { ...script('true'), 'package-lock.json': '{' };
    expect(await failure({ files: broken })).to.match(/^"npm ci" exited with code 1: npm /);
  });

  it('keeps what frameworks cache for the next build of the service, and clearCache empties it', async () => {
    const kept = '.next/cache/count node_modules/.cache/count';
    const files: Files = {
      'package.json': packageJson({
        scripts: { build: `for f in ${kept}; do echo x >>$f; wc -l <$f; done; echo heap $NODE_OPTIONS`, start: 'x' },
        dependencies: { next: 'file:./next' },
      }),
      'next/package.json': JSON.stringify({ name: 'next', version: '1.0.0' }),
    };
    const request = { serviceId: 'service-kept', userNumber: 7999 };
    const configuration = DEFAULT_CONFIGURATION;
    const counts = ({ lines }: { lines: string[] }) => lines.filter((line) => /^\d+$/.test(line.trim())).map(Number);
    const first = await build({ files, request });
    expect(counts(first)).to.deep.equal([1, 1]);
    expect(first.output).to.contain(`heap --max-old-space-size=${0.75 * buildMemoryMb({ configuration })}`);
    expect(existsSync(join(first.folder, '.next/cache'))).to.equal(false);
    expect(counts(await build({ files, request }))).to.deep.equal([2, 2]);
    expect(counts(await build({ files, request: { ...request, clearCache: true } }))).to.deep.equal([1, 1]);
  });

  it('ends a build that hangs', async () => {
    const files = script('echo begun; sleep 86231 & sleep 86231');
    expect(await failure({ files, configuration: { timeoutSeconds: 15 } })).to.match(
      /^"npm (run build|install)" did not finish within 15 s/,
    );
    expect(await processes('sleep 86231')).to.equal('');
  });

  it('keeps up with a flood of output and shows its end', async () => {
    const { lines } = await build({ files: script('seq 1 200000; echo the end') });
    expect(lines.length).to.be.lessThan(25_000);
    expect(lines).to.include('the end');
    expect(lines.some((line) => /\d+ more lines are left out/.test(line))).to.equal(true);
  });

  it('ends a build that uses too much memory, and reports it', async function () {
    if (sandbox.level !== 'root') this.skip();
    const files: Files = {
      ...script('node eat.js'),
      'eat.js': 'const all = []; for (;;) all.push(Buffer.alloc(16 * 1024 * 1024, 1));\n',
    };
    // The memory of the smallest plan depends on the host's memory.
    const least = buildMemoryMb({ configuration: DEFAULT_CONFIGURATION });
    expect(await failure({ files })).to.match(
      new RegExp(
        `^"npm run build" was killed for using more than ${least} MB of memory\\. A build on the plan \\w+ may use ${2 * least} MB\\.`,
      ),
    );
  });

  it("lets a build write only in its own folders, and hides the platform's files from it", async function () {
    if (sandbox.level !== 'root') this.skip();
    const mark = join(root, 'outside');
    const command = [
      `touch ${mark}`,
      'touch /etc/x',
      'touch /usr/x',
      `ls ${dataDir}`,
      'ls /root',
      'cat /proc/1/environ | tr "\\0" "\\n"',
      'env',
      'id -u',
      'true',
    ].join('; ');
    process.env.RANVIER_TEST_SECRET = 'platform-secret';
    try {
      const { output } = await build({ files: script(command), request: { environment: { OWN: 'own-value' } } });
      expect(output).to.contain('OWN=own-value').and.contain('CI=true');
      expect(output).not.to.contain('platform-secret');
      expect(output).not.to.match(/^(DATABASE_URL|SECRETS_KEY|SSH_AUTH_SOCK)=/m);
      expect(output).not.to.match(/^0$/m);
      expect(existsSync(mark)).to.equal(false);
      expect(existsSync('/etc/x') || existsSync('/usr/x')).to.equal(false);
      expect(output).not.to.match(/^mirrors$/m);
    } finally {
      delete process.env.RANVIER_TEST_SECRET;
    }
  });

  it('refuses links that lead out and special files, and makes links to itself relative', async () => {
    expect(await failure({ files: { ...nodeServer('x'), evil: { link: '/etc/passwd' } } })).to.match(
      /symbolic link "evil" → "\/etc\/passwd" leads out/,
    );
    expect(await failure({ files: { ...nodeServer('x'), 'a/evil': { link: '../../x' } } })).to.match(/"a\/evil"/);
    const winding: Files = {
      ...nodeServer('x'),
      'deep/a/b/up': { link: '../../..' },
      evil: { link: 'deep/a/b/up/../x' },
    };
    expect(await failure({ files: winding })).to.match(/"evil"/);
    expect(await failure({ files: script('mkfifo pipe') })).to.match(/"pipe" is a socket, pipe or device/);
    const { folder } = await build({ files: script('echo hi >a; mkdir -p d; ln -s "$PWD/a" d/b; ln -s nowhere c') });
    expect(await readFile(join(folder, 'd/b'), 'utf8')).to.equal('hi\n');
    expect((await lstat(join(folder, 'c'))).isSymbolicLink()).to.equal(true);
  });

  it('reads no file through a link of the repository', async () => {
    const secret = join(root, 'secret');
    await writeFile(secret, 'web: echo stolen');
    const message = await failure({ files: { Procfile: { link: secret } } });
    expect(message).to.match(/no application was found/);
  });

  it('makes images that only the platform can change', async () => {
    const command =
      'echo x >open; chmod 666 open; echo x >tool; chmod 4777 tool; mkdir -m 777 d; echo y >hard; ln hard d/hard';
    const { folder } = await build({ files: script(command) });
    const mode = async (path: string) => ((await stat(join(folder, path))).mode & 0o7777).toString(8);
    expect([await mode('open'), await mode('tool'), await mode('d'), await mode('.')]).to.deep.equal([
      '644',
      '755',
      '755',
      '755',
    ]);
    expect((await stat(join(folder, 'hard'))).nlink).to.equal(1);
    if (process.getuid?.() === 0) {
      const { stdout } = await run('find', [folder, '!', '-user', '0']);
      expect(stdout).to.equal('');
    }
  });

  it('stores equal content once, under one digest', async () => {
    const before = existsSync(join(dataDir, 'images')) ? (await readdir(join(dataDir, 'images'))).length : 0;
    const files: Files = { 'index.html': 'same', 'a/b': { script: 'x' }, l: { link: 'a/b' } };
    const [one, two] = [await build({ files }), await build({ files })];
    expect(two.digest).to.equal(one.digest);
    expect((await readdir(join(dataDir, 'images'))).length).to.equal(before + 1);
    const others: Files[] = [
      { ...files, 'index.html': 'Same' },
      { ...files, 'a/b': 'x' },
      { ...files, l: { link: 'a' } },
      { ...files, 'a/c': '' },
    ];
    const digests = new Set([one.digest]);
    for (const other of others) digests.add((await build({ files: other })).digest);
    expect(digests.size).to.equal(5);
  });

  it("refuses an image that is larger than the plan's storage", async () => {
    const files = script('for i in 1 2 3; do truncate -s 500M zeros$i; done');
    expect(await failure({ files })).to.match(/larger than the 1 GB that the plan allows/);
    expect(await failure({ files: script('truncate -s 1100M zeros') })).to.match(
      /"npm run build" wrote a file of more than 1024 MB, the storage of the plan/,
    );
  });

  it('ends all processes of a build that is cancelled', async () => {
    const controller = new AbortController();
    const reason = new Error('cancelled');
    const building = build({
      files: script('echo begun; (setsid sleep 986 &) ; sleep 986'),
      signal: controller.signal,
      onLog: (line) => {
        if (line === 'begun') controller.abort(reason);
      },
    });
    expect(await building.catch((error: unknown) => error)).to.equal(reason);
    expect(await processes('sleep 986')).to.equal('');
  });

  it('keeps a cache between builds until clearCache is set', async () => {
    const files = script(
      'test -e "$npm_config_cache/mark" && echo found || echo fresh; touch "$npm_config_cache/mark"',
    );
    const request = { serviceId: 'cached', userNumber: 6999 };
    expect((await build({ files, request })).lines).to.include('fresh');
    expect((await build({ files, request })).lines).to.include('found');
    expect((await build({ files, request: { ...request, clearCache: true } })).lines).to.include('fresh');
  });

  it('sweeps unwanted images and what a killed worker left, and nothing else', async () => {
    const [wanted, unwanted, young] = [
      await build({ files: { 'index.html': 'wanted' } }),
      await build({ files: { 'index.html': 'unwanted' } }),
      await build({ files: { 'index.html': 'young' } }),
    ];
    const old = new Date(Date.now() - 2 * 60 * 60_000);
    for (const { folder } of [wanted, unwanted]) await utimes(folder, old, old);
    const dead = join(dataDir, 'builds/dead-1');
    await mkdir(dead, { recursive: true });
    await writeFile(join(dead, 'owner'), JSON.stringify({ pid: 999_999_999, startedAt: '1' }));
    const half = join(dataDir, `images/removed-${'0'.repeat(64)}`);
    await mkdir(half);
    expect(await images.sweep((digest) => digest === wanted.digest)).to.equal(1);
    expect([await images.has(wanted), await images.has(unwanted), await images.has(young)]).to.deep.equal([
      true,
      false,
      true,
    ]);
    expect(existsSync(half)).to.equal(false);
    const caches = join(dataDir, 'caches');
    const [stale = '', fresh = ''] = await readdir(caches);
    await utimes(join(caches, stale), 0, 0);
    expect(await builder.sweep()).to.equal(1);
    expect([dead, join(caches, stale), join(caches, fresh)].map(existsSync)).to.deep.equal([false, false, true]);
  });
});

async function processes(pattern: string): Promise<string> {
  const { stdout } = await run('sh', ['-c', 'ps -eo args | grep -F -- "$1" | grep -v grep || true', 'sh', pattern]);
  return stdout;
}

async function makeWheel(folder: string): Promise<string> {
  const path = join(folder, 'greet-1.0-py3-none-any.whl');
  const program = `import sys, zipfile
with zipfile.ZipFile(sys.argv[1], "w") as wheel:
    wheel.writestr("greet.py", "def main():\\n    print('greeted')\\n")
    info = "greet-1.0.dist-info/"
    wheel.writestr(info + "METADATA", "Metadata-Version: 2.1\\nName: greet\\nVersion: 1.0\\n")
    wheel.writestr(info + "WHEEL", "Wheel-Version: 1.0\\nGenerator: test\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n")
    wheel.writestr(info + "entry_points.txt", "[console_scripts]\\ngreet = greet:main\\n")
    wheel.writestr(info + "RECORD", "")
`;
  await run('/usr/bin/python3', ['-c', program, path]);
  return path;
}
