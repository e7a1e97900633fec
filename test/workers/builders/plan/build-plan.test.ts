import { expect } from 'chai';
import { DEFAULT_CONFIGURATION, type ServiceConfiguration } from '../../../../shared/services/configuration.js';
import type { ServiceKind } from '../../../../shared/services/model.js';
import { projectFiles } from '../../../../workers/builders/files/project-files.js';
import { planBuild } from '../../../../workers/builders/plan/build-plan.js';
import { BuildError } from '../../../../workers/failures/explained-errors.js';
import { plainProject } from '../../../support/plain-project.js';
import { packageJson } from '../../../support/repositories.js';

type Names = Record<string, string>;

function plan(files: Names, settings: Partial<ServiceConfiguration> = {}, kind: ServiceKind = 'web') {
  return planBuild(plainProject(projectFiles(Object.keys(files), files)), kind, {
    ...DEFAULT_CONFIGURATION,
    ...settings,
  });
}

function refusal(files: Names, settings: Partial<ServiceConfiguration> = {}, kind: ServiceKind = 'web'): string {
  try {
    plan(files, settings, kind);
  } catch (error) {
    expect(error).to.be.instanceOf(BuildError);
    return (error as Error).message;
  }
  throw new Error('it was accepted');
}

const START = packageJson({ scripts: { start: 'node x' } });

describe('The plan of a build', () => {
  it('installs Node projects with the package manager of their lock file', () => {
    const install = (files: Names) => plan({ 'package.json': START, ...files }).install;
    expect(install({ 'package-lock.json': '' })).to.deep.equal(['npm ci']);
    expect(install({ 'npm-shrinkwrap.json': '' })).to.deep.equal(['npm ci']);
    expect(install({ 'pnpm-lock.yaml': '' })).to.deep.equal(['pnpm install --frozen-lockfile']);
    expect(install({ 'yarn.lock': '' })).to.deep.equal(['yarn install --frozen-lockfile --ignore-engines']);
    expect(install({ 'yarn.lock': '', '.yarnrc.yml': '' })).to.deep.equal(['yarn install --immutable']);
    expect(install({})).to.deep.equal(['npm install']);
    expect(
      install({ 'package.json': packageJson({ main: 'a.js', packageManager: 'pnpm@9.0.0' }), 'a.js': '' }),
    ).to.deep.equal(['pnpm install --no-frozen-lockfile']);
  });

  it('starts a Node project by setting, Procfile, start script, main and entry file, in this order', () => {
    const files = {
      'package.json': packageJson({ scripts: { start: 'x' }, main: 'main.js' }),
      Procfile: 'release: x\nweb: node web.js\nworker: node worker.js\n',
      'main.js': '',
    };
    expect(plan(files, { startCommand: 'node own.js' }).startCommand).to.equal('node own.js');
    expect(plan(files).startCommand).to.equal('node web.js');
    expect(plan(files, {}, 'worker').startCommand).to.equal('node worker.js');
    expect(plan({ ...files, Procfile: '' }).startCommand).to.equal('npm start');
    const withMain = { 'package.json': packageJson({ main: './main.js' }), 'main.js': '', 'index.js': '' };
    expect(plan(withMain).startCommand).to.equal('node ./main.js');
    expect(plan({ 'package.json': packageJson({ main: 'gone.js' }), 'index.js': '' }).startCommand).to.equal(
      'node index.js',
    );
    expect(plan({ 'package.json': packageJson({ main: 'x.js; rm -rf /' }), 'server.js': '' }).startCommand).to.equal(
      'node server.js',
    );
  });

  it('runs the build script if buildCommand is empty', () => {
    const files = { 'package.json': packageJson({ scripts: { build: 'x', start: 'y' } }) };
    expect(plan(files).build).to.deep.equal(['npm run build']);
    expect(plan(files, { buildCommand: ' make all ' }).build).to.deep.equal(['make all']);
  });

  it('installs Python packages into the image, and nothing if only the standard library is used', () => {
    const installed = plan({ 'requirements.txt': '', 'app.py': '' });
    expect(installed.install).to.deep.equal(['python3 -m pip install --target .python_packages -r requirements.txt']);
    expect(installed.environment.PYTHONPATH).to.equal('.python_packages');
    expect(installed.startCommand).to.equal('python3 app.py');
    expect(plan({ 'main.py': '' }).install).to.deep.equal([]);
    expect(plan({ 'main.py': '', 'pyproject.toml': '[tool.ruff]\n' }).install).to.deep.equal([]);
    const library = '[project]\nname="x"\n[build-system]\nrequires=[]\n';
    expect(plan({ 'main.py': '', 'pyproject.toml': library }).install).to.deep.equal([
      'python3 -m pip install --target .python_packages .',
    ]);
  });

  it('compiles Go to one binary', () => {
    const { build, startCommand, runtime } = plan({ 'go.mod': 'module x', 'main.go': '' });
    expect({ build, startCommand, runtime }).to.deep.equal({
      build: ['go build -o .ranvier/app .'],
      startCommand: './.ranvier/app',
      runtime: 'go',
    });
  });

  it('publishes sites, and builds them only if they have a build script', () => {
    expect(plan({ 'index.html': '' })).to.include({ type: 'static', startCommand: '' });
    expect(plan({ 'package.json': START }, {}, 'static')).to.deep.include({ type: 'static', install: [], build: [] });
    const built = plan({ 'package.json': packageJson({ scripts: { build: 'x' } }) }, { buildMethod: 'static' });
    expect(built).to.deep.include({ type: 'static', install: ['npm install'], build: ['npm run build'] });
    expect(refusal({ 'index.html': '' }, { runtime: 'static' }, 'worker')).to.match(/cannot be a worker/);
  });

  it('lets the settings override what the files suggest', () => {
    const files = { 'package.json': START, 'requirements.txt': '', 'main.py': '' };
    expect(plan(files).runtime).to.equal('node');
    expect(plan(files, { runtime: 'python' }).startCommand).to.equal('python3 main.py');
    expect(plan({ 'run.sh': '' }, { startCommand: './run.sh' })).to.deep.include({ runtime: 'shell', install: [] });
  });

  it('reports what this runtime cannot build, and what to do', () => {
    expect(refusal({ Dockerfile: '' })).to.match(/images and Dockerfiles need OCI containers.*RUNTIME=swarm/);
    expect(refusal({ 'package.json': START }, { buildMethod: 'dockerfile' })).to.match(/RUNTIME=swarm/);
    expect(refusal({}, { sourceType: 'image', image: 'x' })).to.match(/images and Dockerfiles need OCI containers/);
    expect(refusal({ README: '' })).to.match(/no package\.json/);
    expect(refusal({ 'package.json': packageJson({}) })).to.match(/set startCommand.*"start" script/);
    expect(refusal({ 'package.json': packageJson({}) }, {}, 'worker')).to.match(/"worker:" line/);
    expect(refusal({ 'package.json': '{' })).to.match(/package\.json is not valid JSON/);
    expect(refusal({ 'package.json': '[]' })).to.match(/not a JSON object/);
  });
});
