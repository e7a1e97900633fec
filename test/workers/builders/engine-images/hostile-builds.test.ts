import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect } from 'chai';
import { assertBuildkit } from '../../../../workers/builders/engine-images/buildkit-check.js';
import { connectEngine, EngineError } from '../../../../workers/docker/docker-engine.js';
import { BuildError } from '../../../../workers/failures/explained-errors.js';
import { NO_DOCKER } from '../../../support/docker.js';
import { eventually } from '../../../support/processes.js';
import { hasGit } from '../../../support/repositories.js';
import { BuildFixture, type Wanted } from './support.js';

const REASON = NO_DOCKER || (hasGit ? '' : 'git is not installed');
const SECRET = 'only-for-the-first-tenant';

describe(`Hostile builds of container images${REASON === '' ? '' : `: ${REASON}`}`, function () {
  this.timeout(240_000);
  let fixture: BuildFixture;

  before(async function () {
    if (REASON !== '') this.skip();
    fixture = await BuildFixture.open();
  });
  after(async () => {
    await fixture?.close();
  });

  const dockerfile = (...lines: string[]): Wanted => ({ files: { Dockerfile: lines.join('\n') } });
  const ofService = (serviceId: string, ...lines: string[]): Wanted => ({
    ...dockerfile('FROM local/tiny:latest', ...lines),
    request: { serviceId },
  });

  it('cannot use the id of an image as a name, whole or in part', async () => {
    const { Id } = await fixture.node.docker.getImage('local/tiny:latest').inspect();
    const id = Id.replace('sha256:', '');
    const attempts = [
      ...[id.slice(0, 2), id, Id].map((name) => `FROM ${name}\n`),
      `FROM local/tiny:latest\nCOPY --from=${id.slice(0, 5)} /bin /all\n`,
    ];
    // At the same time, because each waits for a registry that cannot be reached.
    const failures = await Promise.all(attempts.map((text) => fixture.failure(dockerfile(text))));
    for (const [i, failed] of failures.entries()) expect(failed, attempts[i]).to.be.instanceOf(BuildError);
  });

  it('share no cache of their commands with another service, however the cache is named', async () => {
    const mount = 'RUN --mount=type=cache,target=/root/.npm';
    await fixture.build(ofService('first', `${mount} echo ${SECRET} >/root/.npm/kept`));
    await fixture.build(ofService('first', `RUN --mount=type=cache,id=shared,target=/c echo ${SECRET} >/c/kept`));
    const again = await fixture.build(ofService('first', `${mount} cat /root/.npm/kept`, 'ENV A=1'));
    expect(again.lines, 'the service itself finds its cache').to.include(SECRET);

    const own = fixture.cacheNamespace('first');
    const looks = [
      `${mount} cat /root/.npm/kept || true`,
      'RUN --mount="type=cache,id=shared,target=/c" cat /c/kept || true',
      'ARG ID=shared\nRUN --mount=type=cache,id=$ID,target=/c cat /c/kept || true',
      `RUN --mount=type=cache,id=${own}/shared,target=/c cat /c/kept || true`,
      'RUN --mount=type=cache,\\\nid=shared,target=/c \\\n  cat /c/kept || true',
      'RUN --mount=type=cache,id=shared,target=/c ["/bin/sh", "-c", "cat /c/kept || true"]',
      `ARG BUILDKIT_CACHE_MOUNT_NS=${own}\nRUN --mount=type=cache,id=shared,target=/c cat /c/kept || true`,
    ];
    const built = await fixture.build({
      ...ofService('second', ...looks),
      request: { serviceId: 'second', environment: { BUILDKIT_CACHE_MOUNT_NS: own } },
    });
    expect(built.lines.filter((line) => line === SECRET)).to.deep.equal([]);
    const escaped = dockerfile(
      '# escape=`',
      'FROM local/tiny:latest',
      'RUN --mount=type=cache,`',
      'id=shared,target=/c `',
      ' cat /c/kept || true',
    );
    expect((await fixture.build(escaped)).lines.filter((line) => line === SECRET)).to.deep.equal([]);
  });

  it('share no layer of their commands with another service: not what a secret opened, nor what a proxy answered', async () => {
    const secret = 'RUN --mount=type=secret,id=TOKEN cat /run/secrets/TOKEN >/fetched';
    const withSecret = (serviceId: string, TOKEN: string): Wanted => ({
      ...ofService(serviceId, secret),
      request: { serviceId, environment: { TOKEN } },
    });
    const fetched = async (wanted: Wanted) => fixture.run((await fixture.build(wanted)).reference, 'cat /fetched');
    expect(await fetched(withSecret('victim', SECRET))).to.equal(SECRET);
    expect(await fetched(withSecret('thief', 'none'))).to.equal('none');
    const again = await fixture.build(withSecret('victim', SECRET));
    expect(again.output, 'the service itself finds its layer').to.include(`CACHED [2/2] ${secret}`);

    const honest = await answering('honest');
    const poison = await answering('poison');
    const tool = `RUN wget -q -O /fetched ${honest.url}/tool`;
    const poisoner = { serviceId: 'poisoner', environment: { http_proxy: poison.url } };
    expect(await fetched({ ...ofService('poisoner', tool), request: poisoner })).to.equal('poison');
    expect(await fetched(ofService('victim', tool))).to.equal('honest');
    for (const { server } of [honest, poison]) server.close();
  });

  async function answering(word: string) {
    const server = createServer((_, response) => response.end(word)).listen(0, fixture.machines.hostAddress);
    await once(server, 'listening');
    return { server, url: `http://${fixture.machines.hostAddress}:${(server.address() as AddressInfo).port}` };
  }

  it("use only the engine's own frontend, in whichever form they name another one", async () => {
    const asked: string[] = [];
    const registry = createServer((request, response) => {
      asked.push(request.url ?? '');
      response.writeHead(404).end();
    }).listen(0, fixture.machines.hostAddress);
    await new Promise((resolve) => registry.once('listening', resolve));
    const frontend = `${fixture.machines.hostAddress}:${(registry.address() as AddressInfo).port}/evil/frontend:1`;
    const plain = 'FROM local/tiny:latest\n';
    const refused = [
      `# syntax=${frontend}\n${plain}`,
      `#!/bin/sh\n# syntax = ${frontend}\n${plain}`,
      `\ufeff#syntax=${frontend}\n${plain}`,
    ];
    for (const text of refused) {
      expect((await fixture.failure(dockerfile(text))).message, text).to.match(/# syntax=.* remove the line$/s);
    }
    // The engine refuses these lines as unknown instructions, because it ignores directives.
    await fixture.failure(dockerfile(`//syntax=${frontend}\n${plain}`));
    await fixture.failure(dockerfile(JSON.stringify({ syntax: frontend })));
    const environment = { BUILDKIT_SYNTAX: frontend };
    await fixture.build({ ...dockerfile('ARG BUILDKIT_SYNTAX', plain), request: { environment } });
    await fixture.build({
      files: { Procfile: 'web: sleep 1' },
      baseImages: { auto: 'local/tiny:latest' },
      request: { environment },
    });
    const usual = await fixture.build(dockerfile('# syntax=docker/dockerfile:1', plain));
    expect(usual.output).to.match(/"# syntax=" line is left out/);
    registry.close();
    expect(asked).to.deep.equal([]);
  });

  it("cannot name the platform's own images", async () => {
    const { reference } = await fixture.build(ofService('kept', `RUN echo ${SECRET} >/secret`));
    const tag = reference.replace(/^ranvier\//, '');
    const attempts = [
      `FROM ${reference}`,
      `FROM docker.io/${reference}`,
      `FROM --platform=linux/amd64 index.docker.io/${reference} AS x`,
      `ARG BASE=${reference}\nFROM \${BASE}`,
      `ARG WHO=ranvier\nFROM $WHO/${tag}`,
      `ARG NONE\nFROM \${NONE:-ranvier}/${tag}`,
      `FROM ran\\\nvier/${tag}`,
      `FROM local/tiny:latest\nCOPY --from=${reference} /secret /secret`,
      `FROM local/tiny:latest\nRUN --mount=type=bind,from=${reference},target=/m cat /m/secret`,
      `FROM local/tiny:latest\nRUN --mount="type=cache,from=${reference},target=/m" cat /m/secret`,
      `FROM local/tiny:latest\nONBUILD COPY --from=${reference} /secret /secret`,
    ];
    for (const text of attempts) {
      const failed = await fixture.failure({ ...dockerfile(text), request: { environment: { NONE: '' } } });
      expect(failed.message, text).to.match(/an image that this installation has built/);
      expect(failed.lines).not.to.include(SECRET);
    }
    const given = { ...dockerfile('ARG BASE', 'FROM $BASE'), request: { environment: { BASE: reference } } };
    expect((await fixture.failure(given)).message).to.match(/an image that this installation has built/);
  });

  it("get neither the host's network nor its privileges", async () => {
    for (const flag of ['--network=host', '--security=insecure']) {
      const failed = await fixture.failure(dockerfile('FROM local/tiny:latest', `RUN ${flag} cat /proc/net/dev`));
      expect(failed, flag).to.be.instanceOf(BuildError);
      expect(failed.message, flag).to.match(/which no build gets|unknown flag/i);
    }
  });

  it('have bounded ignore patterns, and end at their time limit while patterns are matched', async () => {
    const files = { Dockerfile: 'FROM local/tiny:latest\nCOPY . /x\n' };
    const many = await fixture.failure({ files: { ...files, '.dockerignore': 'a\n'.repeat(2000) } });
    expect(many.message).to.equal('.dockerignore has more than 1000 patterns; combine some');
    const long = await fixture.failure({ files: { ...files, '.dockerignore': '*a'.repeat(1000) } });
    expect(long.message).to.match(/^\.dockerignore has a pattern of more than 1024 characters/);
    const large = await fixture.failure({ files: { ...files, '.dockerignore': 'x'.repeat(900_000) } });
    expect(large.message).to.equal('.dockerignore is larger than 64 KiB; shorten it');
    const deep = { [`${'a/'.repeat(900)}file`]: 'x' };
    const slow = { '.dockerignore': Array.from({ length: 60 }, (_, n) => `${'**/*a*/'.repeat(140)}b${n}`).join('\n') };
    const configuration = { timeoutSeconds: 5 };
    const late = await fixture.failure({ files: { ...files, ...deep, ...slow }, configuration });
    expect(late.message).to.match(/did not finish within 5 s/);
    const reads = async () => (await fixture.processes()).includes('reader-process.js');
    await eventually('nothing reads the files any more', async () => !(await reads()));
  });

  it('need an engine with BuildKit, which is checked at the start', async () => {
    await assertBuildkit(fixture.engine);
    const old = createServer((_, response) => {
      response.writeHead(200, { 'content-type': 'application/json' });
      response.end('{"stream":"Step 1/2 : FROM scratch\\n"}\n{"error":"unknown instruction: NOTHING"}\n');
    }).listen(0, '127.0.0.1');
    await new Promise((resolve) => old.once('listening', resolve));
    const { port } = old.address() as AddressInfo;
    const engine = connectEngine({ docker: { host: `tcp://127.0.0.1:${port}`, registryUrl: null } });
    const refusal = await assertBuildkit(engine).catch((error: unknown) => error);
    old.closeAllConnections();
    old.close();
    expect(refusal).to.be.instanceOf(EngineError);
    expect((refusal as Error).message).to.match(/^RUNTIME=swarm needs an engine that builds with BuildKit/);
  });
});
