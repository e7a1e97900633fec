import { expect } from 'chai';
import { DEFAULT_CONFIGURATION } from '../../../../../shared/services/configuration.js';
import { withoutDaemon } from '../../../../../workers/builders/detection/process-managers.js';
import { projectFiles } from '../../../../../workers/builders/files/project-files.js';
import { planBuild } from '../../../../../workers/builders/plan/build-plan.js';
import { plainProject } from '../../../../support/plain-project.js';

function plan(manifest: object | null, files: Record<string, string> = {}) {
  const all = { ...(manifest === null ? {} : { 'package.json': JSON.stringify(manifest) }), ...files };
  return planBuild(plainProject(projectFiles(Object.keys(all), all)), 'web', { ...DEFAULT_CONFIGURATION });
}

const starts = (manifest: object | null, files: Record<string, string> = {}) =>
  plan(manifest, files).starts.map(({ command }) => command);

describe('The file that starts a project', () => {
  const typescript = { express: '4', typescript: '5' };
  const sources = {
    'src/server.ts': '',
    'tsconfig.json': '{ "compilerOptions": {\n// "outDir": "x",\n"outDir": "./build" } }',
  };

  it('is what TypeScript writes for the entry of the sources, if nothing names it', () => {
    const manifest = { main: 'index.js', scripts: { build: 'tsc' }, dependencies: typescript };
    expect(starts(manifest, sources)).to.deep.equal([
      'node index.js',
      'node build/server.js',
      'node build/src/server.js',
    ]);
    const developed = { ...manifest, scripts: { build: 'tsc', dev: 'ts-node-dev --respawn src/server.ts' } };
    expect(starts(developed, sources).at(-1)).to.equal('ts-node src/server.ts');
  });

  it('is compiled if there is neither a build nor a start', () => {
    const found = plan({ dependencies: typescript }, sources);
    expect(found.build).to.deep.equal(['tsc']);
    expect(found.startCommand).to.equal('node build/server.js');
  });

  it('is run as it is by what the project installs for that', () => {
    const found = plan({ main: 'src/server.ts', dependencies: { ...typescript, tsx: '4' } }, sources);
    expect(found).to.deep.include({ startCommand: 'tsx src/server.ts', build: [] });
  });

  it('is run by bun as it is', () => {
    expect(starts({ module: 'index.ts' }, { 'index.ts': '', 'bun.lock': '' })).to.deep.equal(['bun index.ts']);
    const compiled = { module: 'src/index.js', dependencies: { elysia: '1' } };
    expect(starts(compiled, { 'src/index.ts': '', 'bun.lock': '' })).to.deep.equal(['bun src/index.ts']);
  });

  it('is a server without a package.json, but no script of a page', () => {
    expect(starts(null, { 'server.js': '' })).to.deep.equal(['node server.js']);
    expect(starts(null, { 'index.js': '' })).to.deep.equal(['node index.js']);
    expect(plan(null, { 'index.js': '', 'index.html': '' })).to.include({ type: 'static' });
  });

  it('is no bundler that a page starts with', () => {
    const manifest = { scripts: { build: 'node build.mjs', start: 'node build.mjs --watch' } };
    expect(plan(manifest, { 'build.mjs': '', 'index.html': '' })).to.include({ type: 'static' });
  });
});

describe('A start in the background', () => {
  const kept = (command: string, dependencies: Record<string, string> = { pm2: '6' }) =>
    withoutDaemon(command, {
      manifest: { raw: {}, name: null, main: null, module: null, scripts: {}, dependencies, workspaces: null },
    });

  it('stays in the foreground with the program that PM2 brings for it', () => {
    expect(kept('pm2 start server.js -i max')).to.equal('pm2-runtime start server.js -i max');
    expect(kept('npm run build && pm2 start a.config.js --watch')).to.equal(
      'npm run build && pm2-runtime start a.config.js',
    );
    expect(kept('pm2-runtime start server.js')).to.equal(null);
    expect(kept('node server.js')).to.equal(null);
    expect(kept('egg-scripts start --daemon --title=app')).to.equal('egg-scripts start --title=app');
  });

  it('needs no PM2 for a plain file if the project does not depend on it', () => {
    expect(kept('pm2 start ./dist/server.js', {})).to.equal('node ./dist/server.js');
    expect(kept('pm2 start ecosystem.config.js', {})).to.equal(null);
  });
});

describe('Storybook', () => {
  const packages = { storybook: '9', '@storybook/react-vite': '9', vite: '6', react: '19' };
  const scripts = { storybook: 'storybook dev -p 6006', build: 'vite build' };

  it('is the site of a library of components, and not of an application', () => {
    const library = plan({ scripts, devDependencies: packages }, { '.storybook': '' });
    expect(library.build).to.deep.equal(['storybook build']);
    expect(library.publish?.folders[0]).to.equal('storybook-static');
    const application = plan({ scripts, devDependencies: packages }, { '.storybook': '', 'index.html': '' });
    expect(application.framework?.id).to.equal('vite');
  });
});

describe('A tool of the start that nothing installs', () => {
  it('is installed by the build, unless a package brings it', () => {
    const [command = ''] = plan({ scripts: { start: 'NODE_ENV=production npx tsx app.ts' } }).build;
    expect(command).to.match(
      /^command -v tsx >\/dev\/null \|\| \(npm install --no-save --prefix node_modules\/\.tools tsx &&/,
    );
    expect(plan({ scripts: { start: 'npx tsx app.ts' }, devDependencies: { tsx: '4' } }).build).to.deep.equal([]);
    expect(plan({ scripts: { start: 'cross-env A=b node app.js' } }).build).to.have.length(1);
    expect(plan({ scripts: { start: 'node serve' } }).build).to.have.length(0);
  });
});

describe('A start that only serves files', () => {
  it('is replaced by publishing them, unless its program is installed', () => {
    const scripts = { build: 'node build.js', start: 'npx serve -s -l 5000 ./www' };
    const found = plan({ scripts }, { 'index.js': '' });
    expect(found).to.include({ type: 'static' });
    expect(found.publish).to.include({ singlePage: true });
    expect(found.publish?.folders).to.deep.equal(['www']);
    expect(starts({ scripts, devDependencies: { serve: '14' } })).to.deep.equal(['npm start']);
    expect(plan({ scripts: { start: 'http-server' } }, { 'index.html': '' }).publish?.folders).to.deep.equal(['.']);
  });
});
