import { expect } from 'chai';
import { DEFAULT_CONFIGURATION, type ServiceConfiguration } from '../../../../shared/services/configuration.js';
import {
  type DockerfileInput,
  writeCacheCleaner,
  writeDockerfile,
} from '../../../../workers/builders/engine-images/dockerfile-writer.js';
import { projectFiles } from '../../../../workers/builders/files/project-files.js';
import { planBuild } from '../../../../workers/builders/plan/build-plan.js';
import { BuildError } from '../../../../workers/failures/explained-errors.js';
import { plainProject } from '../../../support/plain-project.js';
import { packageJson } from '../../../support/repositories.js';

const BASE_IMAGES = { node: 'own/node', python: 'own/python', go: 'own/go', auto: 'own/plain' };

function input(
  files: Record<string, string>,
  settings: Partial<ServiceConfiguration> = {},
  { project = '', ...further }: Partial<DockerfileInput> & { project?: string } = {},
): DockerfileInput {
  const configuration = { ...DEFAULT_CONFIGURATION, ...settings };
  const repository = plainProject(projectFiles(Object.keys(files), files));
  const plan = planBuild({ ...repository, folder: project }, 'web', configuration, { containers: true });
  return {
    plan,
    tools: [],
    baseImages: BASE_IMAGES,
    variables: ['CI', 'TOKEN', 'https_proxy'],
    certificates: false,
    cacheName: null,
    port: 8000,
    labels: { 'ranvier.cache': 'h' },
    ...further,
  };
}

function lines(dockerfile: DockerfileInput, ...words: string[]): string[] {
  const all = writeDockerfile(dockerfile).split('\n');
  return words.length === 0 ? all : all.filter((line) => words.includes(line.split(' ')[0] ?? ''));
}

const APP = { 'package.json': packageJson({ scripts: { start: 'x', build: 'y' } }), 'package-lock.json': '{}' };

describe('Dockerfiles of build plans', () => {
  it('installs from the manifests before the rest is copied, in a separate stage', () => {
    expect(lines(input(APP), 'FROM', 'COPY', 'RUN', 'USER', 'CMD', 'WORKDIR', 'EXPOSE')).to.deep.equal([
      'FROM own/node AS build',
      'WORKDIR /app',
      'COPY ["app/package.json","app/package-lock.json","./"]',
      'RUN ["/bin/sh","-c","export NODE_ENV=development; npm ci"]',
      'COPY ["app/", "/app/"]',
      'RUN ["/bin/sh","-c","npm run build"]',
      'FROM own/node',
      lines(input(APP), 'RUN').at(-1),
      'COPY --from=build --chown=10001:10001 ["/app/", "/app/"]',
      'WORKDIR /app',
      'USER 10001:10001',
      'EXPOSE 8000',
      'CMD ["/bin/sh","-c","npm start"]',
    ]);
  });

  it('copies everything first if the installation may need it', () => {
    const needy: Record<string, string>[] = [
      { 'package.json': packageJson({ workspaces: ['a'], scripts: { start: 'x' } }) },
      { 'package.json': packageJson({ scripts: { start: 'x', postinstall: 'node fix.js' } }) },
      { 'package.json': packageJson({ scripts: { start: 'x' }, dependencies: { own: 'file:./own' } }) },
      { 'package.json': packageJson({ scripts: { start: 'x' }, dependencies: { own: '../own' } }) },
      { 'package.json': packageJson({ scripts: { start: 'x' } }), patches: '' },
      { 'requirements.txt': '-r base.txt\n', 'main.py': '' },
      { 'requirements.txt': './wheel.whl\n', 'main.py': '' },
      { 'requirements.txt': 'own @ file:///app/own\n', 'main.py': '' },
      { 'pyproject.toml': '[project]\nname = "x"\n[build-system]\n', 'main.py': '' },
      { 'pyproject.toml': '[project]\nname = "x"\n[tool.uv.sources]\nown = { path = "own" }\n', 'main.py': '' },
      { 'go.mod': 'module x\nrequire y v1.0.0\nreplace y => ../y\n' },
    ];
    for (const files of needy) {
      expect(lines(input(files), 'COPY')[0], JSON.stringify(files)).to.equal('COPY ["app/", "/app/"]');
    }
    expect(lines(input({ 'requirements.txt': 'flask==3.0\n', 'main.py': '' }), 'COPY')[0]).to.equal(
      'COPY ["app/requirements.txt","./"]',
    );
    expect(
      lines(input({ 'pyproject.toml': '[project]\nname = "x"\n', 'uv.lock': '', 'main.py': '' }), 'COPY')[0],
    ).to.equal('COPY ["app/pyproject.toml","app/uv.lock","./"]');
    expect(lines(input({ 'go.mod': 'module x\nrequire y v1.0.0', 'go.sum': '' }), 'COPY')[0]).to.equal(
      'COPY ["app/go.mod","app/go.sum","./"]',
    );
  });

  it('declares variables in the build stage only, and never those that builders know already', () => {
    const [build = '', final = ''] = writeDockerfile(input(APP)).split('\n\n');
    expect(build).to.contain('\nARG CI TOKEN\n');
    expect(final).not.to.contain('ARG');
  });

  it('keeps caches of package managers if the builder can, and can empty them', () => {
    const cached = input(APP, {}, { cacheName: 'ranvier-s' });
    const mount = '--mount=type=cache,id=ranvier-s-npm,target=/opt/ranvier/caches/npm,sharing=locked ["/bin/sh","-c","';
    expect(lines(cached, 'RUN')[0]).to.equal(`RUN ${mount}export NODE_ENV=development; npm ci"]`);
    expect(writeCacheCleaner(cached)).to.match(/^FROM own\/node\nRUN --mount=type=cache,id=ranvier-s-npm,.*rm -rf/);
    expect(writeCacheCleaner(input(APP))).to.equal(null);
  });

  it('installs the tools that the project names, for both stages, Node.js last', () => {
    const files = { 'package.json': packageJson({ scripts: { start: 'x' }, packageManager: 'pnpm@9.1.0' }) };
    const tools = [
      { name: 'node', version: '24.1.0' },
      { name: 'pnpm', version: '9.1.0' },
    ] as const;
    const dockerfile = input({ ...files, 'pnpm-lock.yaml': '' }, {}, { tools });
    expect(lines(dockerfile, 'RUN')[0]).to.match(
      /--global --prefix \/opt\/ranvier\/tools \\"pnpm@9\.1\.0\\" && .*node-linux-\$ARCH@24\.1\.0.* ln -sf .*tools\/bin\/node"\]$/,
    );
    expect(lines(dockerfile, 'COPY')).to.include('COPY --from=build ["/opt/ranvier/tools/", "/opt/ranvier/tools/"]');
    const variables = lines(dockerfile, 'ENV');
    expect(variables).to.have.length(2);
    for (const line of variables) expect(line).to.contain('PATH="/app/node_modules/.bin:/opt/ranvier/tools/bin:$PATH"');
  });

  it('runs compiled programs on the plain image', () => {
    expect(lines(input({ 'go.mod': 'module x' }), 'FROM')).to.deep.equal(['FROM own/go AS build', 'FROM own/plain']);
    expect(lines(input({ Procfile: 'web: ./run' }), 'FROM')).to.deep.equal([
      'FROM own/plain AS build',
      'FROM own/plain',
    ]);
  });

  it('escapes commands, folders and values, so that none is read as an instruction', () => {
    const startCommand = 'echo "a" \\\nUSER root\n<<EOF $HOME';
    const dockerfile = input(APP, { startCommand, buildCommand: 'x\nFROM evil' }, { project: 'a $b "c" [d]' });
    const all = lines(dockerfile);
    expect(all.filter((line) => /^(FROM|USER)/.test(line))).to.have.length(3);
    expect(all).to.include(`CMD ${JSON.stringify(['/bin/sh', '-c', startCommand])}`);
    expect(all).to.include('WORKDIR /app/a \\$b \\"c\\" [d]');
    expect(all).to.include(
      `COPY ${JSON.stringify(['app/a \\$b "c" \\[d\\]/package.json', 'app/a \\$b "c" \\[d\\]/package-lock.json', './'])}`,
    );
    expect(() => writeDockerfile(input(APP, {}, { project: 'a\nUSER root' }))).to.throw(BuildError, /rootDirectory/);
    expect(() => writeDockerfile(input(APP, {}, { baseImages: {} }))).to.throw(BuildError, /BASE_IMAGES/);
  });
});
