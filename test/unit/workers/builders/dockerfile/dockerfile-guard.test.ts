import { expect } from 'chai';
import {
  declaredArguments,
  guardDockerfile,
  namedImages,
  stagesOf,
} from '../../../../../workers/builders/dockerfile/dockerfile-guard.js';
import { ownProcessorMs } from '../../../../support/processor-time.js';

const SERVICE = '01a20098-29f0-7198-b4cb-6e5d4e20444f';
const guard = (text: string, buildArgs = {}, ownPrefix: string | null = null) =>
  guardDockerfile(text, { buildArgs, ownPrefix });

describe('A Dockerfile', () => {
  it('cannot name images of this installation, in here-documents neither', () => {
    const allowed = ['FROM node:22', 'FROM x/ranvier:1', 'FROM a\nRUN echo ranvier/notes', 'FROM ranvierx/y:1'];
    for (const text of allowed) expect(() => guard(text), text).not.to.throw();
    const refused = [
      ...[`FROM ranvier/${SERVICE}:tag`, `FROM RANVIER/${SERVICE}:tag`, 'from ranvier/app'],
      ...['FROM "ranvier/app"', 'FROM\tranvier/app', 'FROM --platform=$BUILDPLATFORM ranvier/app'],
      ...['FROM a\nCOPY --chown=1 --from=ranvier/app:1 / /', 'FROM a\nADD --FROM=ranvier/app:1 / /'],
      "FROM a\nRUN --mount=type=bind,'from=ranvier/app:1',target=/x ls",
      `FROM a\nRUN <<END\nENV X=ranvier/${SERVICE}:1\nEND`,
      '# escape=`\nFROM ran`\r\nvier/app',
      '# escape=`\n# check=skip=all\nFROM ran`\n# between\n\nvier/app',
      'FROM a\nONBUILD ONBUILD COPY --from=registry-1.docker.io/ranvier/app / /',
      'ARG A=ran\nARG B="$A"vier\nFROM $B/app',
    ];
    for (const text of refused) expect(() => guard(text), text).to.throw(/this installation has built/);
    expect(() => guard(`ARG A\nFROM $${'{A:+ranvier}'}/app`, { A: 'x' })).to.throw(/this installation has built/);
    const registry = 'registry.test:5000/team/ranvier';
    expect(() => guard(`FROM ${registry}/app@sha256:${'0'.repeat(64)}`, {}, registry)).to.throw(/has built/);
    expect(() => guard('FROM registry.test:5000/team/app', {}, registry)).not.to.throw();
  });

  it('cannot hide an image in what engines read differently', () => {
    const image = `\${P}/${SERVICE}:tag`;
    const refused = [
      `FROM\\\n  ranvier/${SERVICE}:tag`,
      `ARG\\\n  P=ranvier\nFROM ${image}`,
      `FROM a\nARG P=ranvier\nRUN echo \\\\\nFROM ${image}`,
      `FROM a\nARG P=ranvier\nRUN <<#E\nx \\\n#E\nFROM ${image}`,
      `ARG P=ranvier\nFROM\v${image}`,
      `ARG P=ranvier\n\u0085FROM ${image}`,
      `ARG P=ranvier\nFROM a\nRUN true \\\n# x\nARG P=other\nFROM ${image}`,
      `ARG A=x\nFROM ran\${A:+}vier/app`,
      `ARG A\nFROM \${A:-\${B:-ranvier}}/app`,
      `FROM a\nENV P ranvier\nRUN --mount=type=bind,from=$P/app,target=/x ls`,
    ];
    for (const text of refused) expect(() => guard(text), text).to.throw(/this installation has built/);
    expect(() => guard(`ARG P=xranvier\nFROM \${P#x}/app`)).to.throw(/use only \$NAME/);
    const allowed = [
      `ARG V=22\nARG BASE=node:$V\nFROM $BASE AS made\nFROM \${R:-docker.io/}library/nginx:\${N:-1}`,
      `ARG V=\${V:-22}\nFROM node:$V\n${'ENV PATH=/x:$PATH LD=$LD:$PATH\n'.repeat(40)}`,
      `FROM a\nRUN x --from=$(date) && y --from=\${V%.*}`,
      `# ranvier/${SERVICE}:tag\nFROM a`,
      'FROM a\nRUN echo "\\\\n" \\\n  && ls\nCOPY --from=0 / /',
    ];
    for (const text of allowed) expect(() => guard(text), text).not.to.throw();
  });

  it('is read by the engine without another frontend, and with its own escape character', () => {
    const [first, second] = guard('# escape=`\nFROM a\n').text.split('\n');
    expect([first, second]).to.deep.equal(['# escape=`', '# The engine builds this with its own frontend.']);
    for (const syntax of ['docker/dockerfile:1', 'docker.io/docker/dockerfile:1.7-labs', 'docker/dockerfile']) {
      const { text, notes } = guard(`# syntax=${syntax}\nFROM a\n`);
      expect(text).to.match(/^# The engine builds this/);
      expect(notes).to.have.length(1);
    }
    for (const syntax of [
      'evil/dockerfile',
      'docker/dockerfile-upstream:1',
      'x/docker/dockerfile:1',
      'docker/dockerfile:1 x',
    ]) {
      expect(() => guard(`# Syntax = ${syntax}\nFROM a\n`), syntax).to.throw(/remove the line$/);
    }
  });

  it('gets the variables that it declares', () => {
    const text = 'ARG A=1 B\nFROM x\narg C\n  ARG \\\n  D="a b"\nRUN echo ARG E\nONBUILD ARG F\n';
    expect([...declaredArguments(text)])
      .to.include.members(['A', 'B', 'C', 'D', 'F'])
      .and.not.include('E');
  });

  it('names images from elsewhere, and perhaps a stage that is not there', () => {
    const text =
      'ARG V=22\nFROM node:$V AS made\nFROM alpine\nCOPY --from=made / /\nCOPY --from=0 / /\nCOPY --from=mode / /';
    expect(namedImages(text, {})).to.deep.equal([
      { image: 'node:22', isLikeStage: false },
      { image: 'alpine', isLikeStage: false },
      { image: 'mode', isLikeStage: true },
    ]);
  });

  it('has stages with names', () => {
    const text = 'FROM node:22 AS Base\nRUN echo FROM x AS y\nfrom base as test\nFROM alpine\nFROM x AS\n';
    expect(stagesOf(text)).to.deep.equal(['base', 'test']);
  });

  it('is checked in linear time', () => {
    const size = 1024 * 1024;
    const texts = [
      '\n',
      '\\\n',
      'ARG A=$A ',
      '# a=b\n',
      '${',
      'FROM ',
      '--from=',
      "'",
      'ranvier/',
      '\t',
      'ARG A=1\n',
      '\r',
      'ONBUILD ',
      'ARG A=$A$A\n',
    ];
    for (const piece of texts) {
      const text = `FROM a\n${piece.repeat(size / piece.length)}`;
      const began = ownProcessorMs();
      try {
        guard(text);
      } catch {}
      expect(ownProcessorMs() - began, JSON.stringify(piece)).to.be.lessThan(10_000);
    }
  });
});
