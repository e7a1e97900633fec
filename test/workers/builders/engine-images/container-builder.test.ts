import { buffer } from 'node:stream/consumers';
import { expect } from 'chai';
import { DEFAULT_CONFIGURATION } from '../../../../shared/services/configuration.js';
import { packContext } from '../../../../workers/builders/engine-images/build-context.js';
import { readEvents } from '../../../../workers/docker/engine-events.js';
import type { RegistryAccount } from '../../../../workers/docker/registry-accounts.js';
import { BuildError, SourceError } from '../../../../workers/failures/explained-errors.js';
import { NO_DOCKER } from '../../../support/docker.js';
import { NO_REGISTRY, startRegistry, type TestRegistry } from '../../../support/docker-registry.js';
import { startNpmRegistry, type TestNpmRegistry } from '../../../support/npm-registry.js';
import { eventually } from '../../../support/processes.js';
import { type Files, hasGit, packageJson } from '../../../support/repositories.js';
import { BuildFixture, TINY_IMAGE } from './support.js';

const REASON = NO_DOCKER || (hasGit ? '' : 'git is not installed');

describe(`Builds of container images${REASON === '' ? '' : `: ${REASON}`}`, function () {
  this.timeout(240_000);
  let fixture: BuildFixture;
  let packages: TestNpmRegistry;
  let npm: Record<string, string>;

  before(async function () {
    if (REASON !== '') this.skip();
    fixture = await BuildFixture.open();
    await fixture.importNpm();
    packages = await startNpmRegistry(fixture.folder, fixture.machines.hostAddress);
    npm = { npm_config_registry: packages.url, NODE_EXTRA_CA_CERTS: packages.certificates };
  });
  after(async () => {
    await packages?.stop();
    await fixture?.close();
  });

  const greeting = (text: string): Files => ({
    'package.json': packageJson({ scripts: { start: 'node server.js' }, dependencies: { greet: '1.0.0' } }),
    'server.js': `require('fs').writeFileSync('own', '');\nconsole.log(require('greet')(), ${JSON.stringify(text)}, process.getuid(), process.cwd(), 'writes');\n`,
  });

  it('builds a Node application with its packages, and finds them installed the next time', async () => {
    const wanted = { buildEnvironment: npm, request: { serviceId: 'app' } };
    const first = await fixture.build({ ...wanted, files: greeting('one') });
    expect(first.manifest).to.deep.include({ type: 'process', runtime: 'node', startCommand: 'npm start' });
    expect(first.reference).to.equal(`ranvier/app:${first.digest.slice(0, 24)}`);
    expect(await fixture.run(first.reference)).to.match(/hello from greet one 10001 \/app writes$/);
    expect(packages.downloads()).to.equal(1);

    const second = await fixture.build({ ...wanted, files: greeting('two') });
    expect(second.output).to.match(/^CACHED .*npm install/m);
    expect(await fixture.run(second.reference)).to.match(/hello from greet two/);
    expect(packages.downloads()).to.equal(1);

    const request = { ...wanted.request, clearCache: true };
    const third = await fixture.build({ ...wanted, request, files: greeting('three') });
    expect(third.output).not.to.match(/^CACHED .*npm install/m);
    expect(await fixture.run(third.reference)).to.match(/hello from greet three/);
    expect(packages.downloads()).to.equal(2);
  });

  it("keeps the service's variables and the platform's certificates out of the image", async () => {
    const files: Files = {
      'package.json': packageJson({
        scripts: {
          build: `node -e "const e = process.env; console.log('sees', e.TOKEN, require('fs').existsSync(e.NODE_EXTRA_CA_CERTS))"`,
          start: 'node -p 1',
        },
      }),
    };
    const environment = { TOKEN: 'value of\nthe "token"' };
    const built = await fixture.build({ files, buildEnvironment: npm, request: { environment } });
    expect(built.output)
      .to.match(/^sees value of$/m)
      .and.match(/^the "token" true$/m);
    const image = fixture.node.docker.getImage(built.reference);
    const told = JSON.stringify([await image.history(), await image.inspect()]);
    expect(told).not.to.contain('the \\"token').and.not.contain('value of');
    expect(await fixture.run(built.reference, 'env; ls -a /opt/ranvier /app')).not.to.match(/TOKEN|certificates|pem/);
  });

  it('builds the Dockerfile of the repository, in its context and without ignored files', async () => {
    const files: Files = {
      'deploy/web.Dockerfile': [
        'FROM local/tiny:latest',
        'ARG SHOWN',
        'COPY . /context',
        'RUN echo "shown: $SHOWN hidden: $HIDDEN" && ls -R /context',
        'ENV STARTED=own',
        'CMD ["/bin/sh", "-c", "echo $STARTED; cat /context/link"]',
      ].join('\n'),
      'web/.dockerignore': '# notes\n*.md\n!keep.md\nsecret\n',
      'web/keep.md': 'x',
      'web/left-out.md': 'x',
      'web/secret/key': 'x',
      'web/deep/also.md': 'x',
      'web/link': { link: 'deep/also.md' },
      'web/lead-out': { link: '/etc/shadow' },
      'elsewhere.txt': 'x',
    };
    const configuration = {
      buildMethod: 'dockerfile' as const,
      dockerContext: 'web',
      dockerfilePath: 'deploy/web.Dockerfile',
    };
    const request = { environment: { SHOWN: 'yes', HIDDEN: 'no' } };
    const built = await fixture.build({ files, configuration, request });
    expect(built.manifest).to.deep.include({ type: 'process', runtime: 'docker', startCommand: '' });
    expect(built.lines).to.include('shown: yes hidden: ');
    for (const name of ['keep.md', 'also.md', 'link', 'lead-out']) expect(built.lines).to.include(name);
    for (const name of ['left-out.md', 'secret', 'key', 'elsewhere.txt']) expect(built.lines).not.to.include(name);
    expect(await fixture.run(built.reference)).to.equal('own\nx');
    expect(await fixture.run(built.reference, 'ls -l /context/lead-out')).to.contain('-> /etc/shadow');
    const own = { ...configuration, startCommand: 'node own.js' };
    expect((await fixture.build({ files, configuration: own })).manifest.startCommand).to.equal('node own.js');
  });

  it('refuses more variables than an engine accepts, and files that a build cannot have', async () => {
    const environment = Object.fromEntries(Array.from({ length: 20 }, (_, n) => [`V${n}`, 'x'.repeat(60_000)]));
    const many = await fixture.failure({ files: { Procfile: 'web: x' }, request: { environment } });
    expect(many.message).to.match(/variables have \d+ KiB as build arguments/);
    const context = packContext({ folders: [{ at: '', path: '/dev' }], files: {} });
    const packed = buffer(context).catch((error: unknown) => error);
    expect(await packed).to.be.instanceOf(BuildError);
  });

  it("lets a Dockerfile mount the service's variables as secrets, which are in no layer", async () => {
    const mount = '--mount=type=secret,id=';
    const files = {
      Dockerfile: [
        'FROM local/tiny:latest',
        `RUN ${mount}TOKEN test "$(cat /run/secrets/TOKEN)" = mounted && echo "it is there"`,
        `RUN ${mount}NONE ls /run/secrets/NONE || true`,
        'CMD ["/bin/sh", "-c", "ls /run/secrets"]',
      ].join('\n'),
    };
    const built = await fixture.build({ files, request: { environment: { TOKEN: 'mounted' } } });
    expect(built.lines).to.include('it is there');
    const required = { files: { Dockerfile: `FROM local/tiny:latest\nRUN ${mount}NONE,required=true true\n` } };
    expect((await fixture.failure(required)).message).to.equal(
      'the Dockerfile needs the secret "NONE", and the service has no such variable; add it, or remove the mount',
    );
  });

  it('builds the stage that the configuration names', async () => {
    const files = {
      Dockerfile: 'FROM local/tiny:latest AS one\nCMD ["echo", "one"]\nFROM one AS two\nCMD ["echo", "two"]\n',
    };
    const at = (dockerfileTarget: string) => ({
      files,
      configuration: { buildMethod: 'dockerfile' as const, dockerfileTarget },
    });
    expect(await fixture.run((await fixture.build(at('One'))).reference)).to.equal('one');
    expect(await fixture.run((await fixture.build(at(''))).reference)).to.equal('two');
    expect((await fixture.failure(at('three'))).message).to.equal(
      'dockerfileTarget "three" is no stage of the Dockerfile, which has: one, two',
    );
  });

  it('builds a Dockerfile of the configuration, with files of the repository', async () => {
    const dockerfileText = 'FROM local/tiny:latest\nCOPY a.txt /own.txt\nCMD ["cat", "/own.txt"]\n';
    const configuration = { buildMethod: 'dockerfile' as const, dockerfileText };
    const built = await fixture.build({ files: { 'a.txt': 'copied', Dockerfile: 'FROM nothing' }, configuration });
    expect(await fixture.run(built.reference)).to.equal('copied');
  });

  it('uses a Dockerfile if no other file tells what the project is', async () => {
    const { manifest } = await fixture.build({ files: { Dockerfile: 'FROM local/tiny:latest\nCMD ["true"]\n' } });
    expect(manifest.runtime).to.equal('docker');
  });

  it('reports which command failed, its code and its output', async () => {
    const files: Files = { Procfile: 'web: x', 'broken.js': "throw new Error('the cause');\n" };
    const configuration = { buildCommand: 'echo begun && node broken.js' };
    const failed = await fixture.failure({ files, configuration });
    expect(failed).to.be.instanceOf(BuildError);
    expect(failed.message).to.equal('"echo begun && node broken.js" exited with code 1: Error: the cause');
    expect(failed.lines).to.include('begun');
  });

  it('reports which image or file is missing', async () => {
    const dockerfile = (text: string) => ({ files: { Dockerfile: text } });
    const missing = await fixture.failure(dockerfile('FROM 127.0.0.1:1/no/such:image\n'));
    expect(missing).to.be.instanceOf(BuildError);
    expect(missing.message).to.match(/^an image that the Dockerfile names cannot be pulled: .*127\.0\.0\.1:1/s);
    const wrong = await fixture.failure({ ...dockerfile('FROM local/tiny:latest\nFRUM x\n') });
    expect(wrong.message).to.match(/^the build failed: .*unknown instruction: FRUM/is);
    const base = { files: { Procfile: 'web: x' }, baseImages: { auto: '127.0.0.1:1/base:1' } };
    expect((await fixture.failure(base)).message).to.match(/^an image that BASE_IMAGES names cannot be pulled/);
    const configuration = { buildMethod: 'dockerfile' as const };
    const at = (settings: object) =>
      fixture.failure({ files: { a: 'x', out: { link: '/etc' } }, configuration: { ...configuration, ...settings } });
    expect((await at({})).message).to.equal(
      'dockerfilePath "Dockerfile" is no file of the repository; the folder has: a, out',
    );
    expect((await at({ dockerContext: 'b' })).message).to.match(/^dockerContext "b" does not exist/);
    expect((await at({ dockerContext: 'out' })).message).to.match(/^dockerContext "out" leads out/);
    expect((await at({ dockerfilePath: 'out/passwd' })).message).to.match(/^dockerfilePath "out\/passwd" leads out/);
    const syntax = await fixture.failure(
      dockerfile('# syntax=127.0.0.1:1/docker/dockerfile:1\nFROM local/tiny:latest\n'),
    );
    expect(syntax.message).to.match(/# syntax=.* remove the line$/s);
  });

  it('ends a cancelled build in the engine too', async () => {
    const mark = 'sleep 98701';
    const files = { Dockerfile: `FROM local/tiny:latest\nRUN echo begun && ${mark}\n` };
    const controller = new AbortController();
    const reason = new Error('cancelled');
    const building = fixture.failure({
      files,
      signal: controller.signal,
      onLog: async (line) => {
        if (line !== 'begun') return;
        expect(await fixture.processes()).to.contain(mark);
        controller.abort(reason);
      },
    });
    expect(await building).to.equal(reason);
    await eventually('nothing of the build runs', async () => !(await fixture.processes()).includes(mark));
  });

  it('ends a build at its time limit', async () => {
    const files = { Dockerfile: 'FROM local/tiny:latest\nRUN sleep 98703\n' };
    // The limit must come while the command runs, so it leaves a busy machine time for the checkout.
    const failed = await fixture.failure({ files, configuration: { timeoutSeconds: 20 } });
    expect(failed.message).to.equal('the build did not finish within 20 s (timeoutSeconds counts for the whole build)');
    await eventually('nothing of the build runs', async () => !(await fixture.processes()).includes('sleep 98703'));
  });

  it("refuses an image that is larger than the plan's storage", async () => {
    const { Id } = await fixture.node.docker.getImage('local/tiny:latest').inspect();
    const signal = new AbortController().signal;
    const kept = fixture.images().keep(Id, 'large', { signal, limitBytes: 1024, log: async () => {} });
    const refusal = await kept.catch((error: unknown) => error);
    expect(refusal).to.be.instanceOf(BuildError);
    expect((refusal as Error).message).to.match(/the image has .* GB, more than the .* GB that the plan allows/);
  });

  it('sweeps its own images that are no longer wanted, and no others', async () => {
    const { docker } = fixture.node;
    await fixture.node.derive('foreign/app:1', ['LABEL x=y'], TINY_IMAGE);
    await fixture.node.derive('foreign/labelled:1', ['LABEL ranvier.image=ours'], TINY_IMAGE);
    await fixture.node.derive('ranvier/elsewhere:1', ['LABEL ranvier.image=theirs'], TINY_IMAGE);
    const build = (text: string) =>
      fixture.build({
        files: { Dockerfile: `FROM local/tiny:latest\nENV N=${text}\n` },
        request: { serviceId: 'swept' },
      });
    const [kept, gone, used, fresh] = [await build('1'), await build('2'), await build('3'), await build('4')];
    const container = await docker.createContainer({ Image: used.reference, Cmd: ['true'] });
    const images = fixture.images();
    expect(await images.sweep(() => false), 'images that were built a moment ago').to.equal(0);

    const old = fixture.images(undefined, 'ours', () => Date.now() + 2 * 60 * 60_000);
    const wanted = [kept.digest, fresh.digest];
    expect(await old.sweep((digest) => wanted.includes(digest))).to.be.greaterThan(0);
    const there = await Promise.all([kept, gone, used, fresh].map((image) => images.has(image)));
    expect(there).to.deep.equal([true, false, true, true]);
    const names = (await docker.listImages()).flatMap((image) => image.RepoTags ?? []);
    expect(names).to.include.members([
      'foreign/app:1',
      'foreign/labelled:1',
      'ranvier/elsewhere:1',
      'local/tiny:latest',
    ]);
    await container.remove();
  });

  describe(`with registries${NO_REGISTRY === '' ? '' : `: ${NO_REGISTRY}`}`, () => {
    let registry: TestRegistry;
    let guarded: TestRegistry;
    const account = { username: 'user', password: 'right-password', serveraddress: '127.0.0.1:5001' };

    before(async function () {
      if (NO_REGISTRY !== '') this.skip();
      registry = await startRegistry(fixture.node, fixture.folder, 5000);
      guarded = await startRegistry(fixture.node, fixture.folder, 5001, { users: true });
      const { docker } = fixture.node;
      await fixture.node.derive(
        '127.0.0.1:5001/team/app:1',
        ['ENV VERSION=1', 'CMD ["/bin/sh", "-c", "echo version $VERSION"]'],
        TINY_IMAGE,
      );
      const stream = await docker.getImage('127.0.0.1:5001/team/app:1').push({ authconfig: account });
      const events = readEvents(stream as AsyncIterable<Buffer>);
      for await (const event of events) expect(event.error).to.equal(undefined);
      await docker.getImage('127.0.0.1:5001/team/app:1').remove();
    });
    after(async () => {
      await registry?.stop();
      await guarded?.stop();
    });

    it('pushes images and names them by the digest that the registry returns', async () => {
      const registryUrl = 'http://127.0.0.1:5000/prefix';
      const files = { Dockerfile: 'FROM local/tiny:latest\nCMD ["/bin/sh", "-c", "echo pushed"]\n' };
      const built = await fixture.build({ files, registryUrl, request: { serviceId: 'pushed' } });
      expect(built.reference).to.equal(`127.0.0.1:5000/prefix/ranvier/pushed@sha256:${built.digest}`);
      expect(await registry.repositories()).to.deep.equal(['prefix/ranvier/pushed']);
      const images = fixture.images(registryUrl);
      expect(await images.has(built)).to.equal(true);
      const { Id } = await fixture.node.docker.getImage(built.reference).inspect();
      await fixture.node.docker.getImage(Id).remove({ force: true });
      expect(await images.has(built), 'a node can pull it').to.equal(true);
      const other = {
        ...built,
        manifest: { ...built.manifest, reference: built.reference.replace(/.{8}$/, '00000000') },
      };
      expect(await images.has(other)).to.equal(false);
      const refused = await fixture.failure({ files, registryUrl: 'http://127.0.0.1:5001' });
      expect(refused.message).to.match(
        /^the image cannot be pushed to the registry of this installation \(REGISTRY_URL\)/,
      );
    });

    it('runs an image unchanged, pinned to the digest of its tag at that moment', async () => {
      const configuration = {
        ...DEFAULT_CONFIGURATION,
        sourceType: 'image' as const,
        image: '127.0.0.1:5001/team/app:1',
        registryId: 'r',
      };
      const resolve = (given: RegistryAccount | null, image = configuration.image) =>
        fixture.origins(given).resolve({
          workspaceId: 'w',
          configuration: { ...configuration, image },
          sha: '',
          signal: new AbortController().signal,
        });
      const origin = await resolve(account);
      expect(origin.sha).to.match(/^[0-9a-f]{64}$/);
      expect(origin.message).to.equal('127.0.0.1:5001/team/app:1');
      const refused = await resolve({ ...account, password: 'wrong-password' }).catch((error: Error) => error);
      expect(refused).to.be.instanceOf(SourceError);
      expect((refused as Error).message).to.match(/is refused to "user" at 127\.0\.0\.1:5001/);
      const missing = await resolve(account, '127.0.0.1:5001/team/none:1').catch((error: Error) => error);
      expect((missing as Error).message).to.match(/127\.0\.0\.1:5001\/team\/none:1 does not exist/);

      const short = fixture.origins(account).resolve({
        workspaceId: 'w',
        configuration,
        sha: 'a'.repeat(40),
        signal: new AbortController().signal,
      });
      expect(await short.catch((error: Error) => error.message)).to.match(/is no digest of an image/);

      const request = { commitSha: origin.sha, serviceId: 'adopted' };
      const built = await fixture.build({ configuration, request, account });
      expect(built.manifest).to.deep.include({ type: 'process', runtime: 'image', startCommand: '' });
      expect(await fixture.run(built.reference)).to.equal('version 1');
      const inspected = await fixture.node.docker.getImage(built.reference).inspect();
      expect(inspected.Config.Labels).to.deep.equal({ 'ranvier.image': 'ours' });
      const names = (await fixture.node.docker.listImages()).flatMap((image) => [
        ...(image.RepoTags ?? []),
        ...(image.RepoDigests ?? []),
      ]);
      expect(names.filter((name) => /team\/app|source-/.test(name))).to.deep.equal([]);

      const wrong = { ...account, password: 'wrong-password' };
      const failed = await fixture.failure({ configuration, request, account: wrong });
      expect(failed.message).to.match(/is refused to "user" at 127\.0\.0\.1:5001/);
      const nobody = await fixture.failure({ configuration: { ...configuration, registryId: '' }, request });
      expect(nobody.message).to.match(/needs credentials: name a registry of the workspace in registryId/);
    });

    it("pulls a Dockerfile's base image with the workspace's account, and gives it to no other registry", async () => {
      const files = { Dockerfile: 'FROM 127.0.0.1:5001/team/app:1\nRUN echo "based on $VERSION"\n' };
      const configuration = { registryId: 'r' };
      const built = await fixture.build({ files, configuration, account });
      expect(built.lines).to.include('based on 1');
      await fixture.node.docker
        .getImage('127.0.0.1:5001/team/app:1')
        .remove({ force: true })
        .catch(() => {});
      await fixture.node.docker.pruneBuilder();
      const other = { ...account, serveraddress: '127.0.0.1:5009' };
      const failed = await fixture.failure({ files, configuration, account: other });
      expect(failed.message).to.match(/^an image that the Dockerfile names cannot be pulled/);
    });
  });
});
