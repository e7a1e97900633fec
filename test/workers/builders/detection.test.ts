import { mkdir, mkdtemp, realpath, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { DEFAULT_CONFIGURATION, type ServiceConfiguration } from '../../../shared/services/configuration.js';
import type { ServiceKind } from '../../../shared/services/model.js';
import type { Start } from '../../../workers/builders/detection/application.js';
import { projectOf } from '../../../workers/builders/files/project-files.js';
import { readFiles } from '../../../workers/builders/reader/read-files.js';
import { BuildError } from '../../../workers/failures/explained-errors.js';
import { ownProcessorMs } from '../../support/processor-time.js';
import { type Files, packageJson, writeFiles } from '../../support/repositories.js';

const { signal } = new AbortController();

describe('Detection in a repository', function () {
  this.timeout(240_000);
  let base: string;
  let number = 0;

  before(async () => {
    base = await realpath(await mkdtemp(join(tmpdir(), 'ranvier-detection-')));
  });
  after(() => rm(base, { recursive: true, force: true }));

  async function repository(files: Files): Promise<string> {
    number += 1;
    const app = join(base, String(number));
    await mkdir(app);
    await writeFiles(app, files);
    return app;
  }

  async function plan(files: Files, settings: Partial<ServiceConfiguration> = {}, kind: ServiceKind = 'web') {
    const app = await repository(files);
    const configuration = { ...DEFAULT_CONFIGURATION, ...settings };
    return (await readFiles('planProcess', { app, ...projectOf(configuration, kind) }, { signal })).plan;
  }

  async function refusal(files: Files, settings: Partial<ServiceConfiguration> = {}): Promise<string> {
    try {
      await plan(files, settings);
    } catch (error) {
      expect(error, String(error)).to.be.instanceOf(BuildError);
      return (error as Error).message;
    }
    throw new Error('it was accepted');
  }

  const next = packageJson({
    name: 'web',
    scripts: { build: 'next build', dev: 'next dev' },
    dependencies: { next: '^15.1.0', ui: '*' },
  });
  const library = packageJson({
    name: 'ui',
    scripts: { build: 'tsc' },
    devDependencies: { next: '15' },
    dependencies: { base: '*' },
  });
  const packages = {
    'packages/ui/package.json': library,
    'packages/base/package.json': packageJson({ name: 'base', scripts: { build: 'tsc' } }),
  };
  const root = (fields: object = {}) => packageJson({ name: 'root', workspaces: ['apps/*', 'packages/*'], ...fields });

  it('takes the framework and its version from the package that names it', async () => {
    const found = await plan({ 'package.json': next, 'config.json': '{}', '_config.yml': 'x' });
    expect(found.framework).to.deep.equal({ id: 'next', name: 'Next.js', version: '15.1.0' });
    expect(found.explanation).to.deep.equal([]);
  });

  it('installs at the root of a workspace, builds what the application needs first, and starts in its folder', async () => {
    const files = { 'package.json': root(), 'package-lock.json': '', 'apps/web/package.json': next, ...packages };
    const only = await plan(files);
    expect(only.folders).to.deep.equal({ install: '', build: '', project: 'apps/web' });
    expect(only.install).to.deep.equal(['npm ci']);
    expect(only.build).to.deep.equal([
      'cd packages/base && npm run build',
      'cd packages/ui && npm run build',
      'cd apps/web && npm run build',
    ]);
    expect(only.startCommand).to.equal('next start');
    expect(only.searchPath).to.include('../../node_modules/.bin');
    expect(only.explanation[0]).to.match(/^Builds apps\/web, the only application.*rootDirectory/);
    const named = await plan(files, { rootDirectory: 'apps/web' });
    expect({ ...named, explanation: [] }).to.deep.equal({ ...only, explanation: [] });
    const own = await plan(files, { rootDirectory: 'apps/web', buildCommand: 'make' });
    expect(own).to.deep.include({ build: ['make'], folders: { install: '', build: 'apps/web', project: 'apps/web' } });
  });

  it('lets the tool of a workspace build in its order', async () => {
    const turbo = {
      'package.json': root({ devDependencies: { turbo: '2' } }),
      'turbo.json': '{"tasks":{"build":{}}}',
      'apps/web/package.json': next,
    };
    expect((await plan(turbo)).build).to.deep.equal(['turbo run build --filter=web...']);
    const other = { ...turbo, 'turbo.json': '{"tasks":{"dev":{"dependsOn":["build"]}}}' };
    expect((await plan(other)).build).to.deep.equal(['cd apps/web && npm run build']);
    const pnpm = {
      'package.json': packageJson({}),
      'pnpm-workspace.yaml': 'packages:\n  - "apps/**"\n  - "!apps/old"\n',
      'apps/web/package.json': next,
      'apps/old/package.json': next,
    };
    const found = await plan({ ...pnpm, 'pnpm-lock.yaml': '' });
    expect(found.build).to.deep.equal(['pnpm --filter web... run build']);
    const lerna = {
      'package.json': packageJson({}),
      'lerna.json': '{"packages":["apps/*"]}',
      'apps/web/package.json': next,
    };
    expect((await plan(lerna)).folders.project).to.equal('apps/web');
    const nx = {
      'package.json': packageJson({ devDependencies: { nx: '20' }, dependencies: { express: '4' } }),
      'nx.json': '{}',
      'apps/api/project.json':
        '{"name":"api","projectType":"application","targets":{"build":{"executor":"@nx/esbuild:esbuild","options":{"outputPath":"dist/apps/api"}}}}',
      'apps/api-e2e/project.json': '{"name":"api-e2e","projectType":"application"}',
    };
    const api = await plan(nx);
    expect(api.build).to.deep.equal(['cd apps/api && nx run api:build']);
    expect(api.startCommand).to.equal('node ../../dist/apps/api/main.js');
  });

  it('lists several applications, and names the setting that chooses', async () => {
    const vite = packageJson({ name: 'admin', scripts: { build: 'vite build' }, devDependencies: { vite: '6' } });
    const files = { 'one/package.json': next, 'two/package.json': vite, 'two/index.html': '' };
    const message = /several applications: one \(Next\.js\), two \(Vite\); set rootDirectory/;
    expect(await refusal(files)).to.match(message);
    expect(await refusal({ 'package.json': packageJson({ scripts: { prepare: 'x' } }), ...files })).to.match(message);
    const own = root({ scripts: { start: 'node server.js' }, dependencies: { express: '4' } });
    expect((await plan({ 'package.json': own, 'server.js': '', ...files })).startCommand).to.equal('npm start');
  });

  describe('of several applications, chooses', () => {
    const app = (framework: string, name?: string) =>
      packageJson({ name, scripts: { build: `${framework} build` }, dependencies: { [framework]: '1' } });
    const server = packageJson({ scripts: { start: 'node x.js' }, dependencies: { express: '4' } });
    const shop = { 'apps/cart/package.json': app('next', 'cart'), 'apps/shop/package.json': app('next', '@a/shop') };
    const workspace = (scripts: object = {}) => ({ 'package.json': root({ scripts }) });
    const cases: [name: string, files: Files, kind: ServiceKind, folder: string, why: RegExp][] = [
      [
        'the one that the start script names',
        { ...workspace({ start: 'npm start --workspace apps/shop', dev: 'npm run dev -w cart' }), ...shop },
        'web',
        'apps/shop',
        /the application that the start script names \(it also has apps\/cart \(Next\.js\)\); set rootDirectory/,
      ],
      [
        'the one that another script names',
        { ...workspace({ start: 'turbo start', dev: 'turbo dev --filter=@a/shop...' }), ...shop },
        'web',
        'apps/shop',
        /that the dev script names/,
      ],
      [
        'the default project of Nx',
        { ...workspace(), 'nx.json': '{"defaultProject":"@a/shop"}', ...shop },
        'web',
        'apps/shop',
        /that nx\.json names/,
      ],
      [
        'the one with the likeliest name',
        { ...workspace(), ...shop, 'apps/web/package.json': app('next') },
        'web',
        'apps/web',
        /the main one of 3 applications by its name/,
      ],
      [
        'the pages of two folders without a workspace',
        { 'backend/package.json': server, 'frontend/package.json': app('next') },
        'web',
        'frontend',
        /by its name/,
      ],
      [
        'the one that is not for owners, developers or telephones',
        {
          ...workspace(),
          'apps/admin/package.json': app('next'),
          'apps/mobile-app/package.json': app('expo'),
          'apps/shop/package.json': app('next'),
        },
        'web',
        'apps/shop',
        /the likeliest of 3/,
      ],
      [
        'pages before a server',
        { ...workspace(), 'apps/core/package.json': server, 'apps/shop/package.json': app('next') },
        'web',
        'apps/shop',
        /the likeliest of 2/,
      ],
      [
        'the first of those whose name tells',
        {
          ...workspace(),
          'apps/mock/package.json': app('nitro'),
          'apps/shop/package.json': app('next'),
          'apps/web-a/package.json': app('next'),
          'apps/web-b/package.json': app('next'),
        },
        'web',
        'apps/web-a',
        /the first of 4/,
      ],
      [
        'a server if nothing makes pages',
        { ...workspace(), 'apps/api/package.json': server, 'apps/mail/package.json': server },
        'web',
        'apps/api',
        /by its name/,
      ],
      [
        'what is no server by its name, although its framework makes pages',
        { 'apps/open-api/package.json': app('next'), 'apps/shop/package.json': app('next') },
        'web',
        'apps/shop',
        /the likeliest of 2/,
      ],
      [
        'files for a static service',
        { ...workspace(), 'apps/web/package.json': app('next'), 'apps/guide/package.json': app('vitepress') },
        'static',
        'apps/guide',
        /the likeliest of 2/,
      ],
      [
        'the server for a private service',
        { ...workspace(), 'apps/web/package.json': app('next'), 'apps/api/package.json': server },
        'private',
        'apps/api',
        /by its name/,
      ],
      [
        'the first of a workspace if nothing else tells',
        { ...workspace(), ...shop },
        'web',
        'apps/cart',
        /the first of 2 applications of the workspace/,
      ],
      [
        'an application of a root that has a documentation beside its packages',
        {
          'package.json': root({
            scripts: { build: 'npm run build --workspaces', 'docs:build': 'vitepress build docs' },
            devDependencies: { vitepress: '1' },
          }),
          ...shop,
        },
        'web',
        'apps/cart',
        /the first of 2/,
      ],
      [
        'the pages beside a server whose entry is in a folder of its own',
        { 'client/package.json': app('next'), 'server/package.json': server, 'server/index.js': '' },
        'web',
        'client',
        /by its name/,
      ],
      [
        'an application beside a Dockerfile that this host cannot build',
        { Dockerfile: 'FROM scratch', 'client/package.json': app('next'), 'client/index.html': '' },
        'web',
        'client',
        /the only application/,
      ],
      [
        'an application of a root that installs a tool of another platform',
        { 'package.json': root({ devDependencies: { wrangler: '4' } }), 'apps/shop/package.json': app('next') },
        'web',
        'apps/shop',
        /the only application/,
      ],
      [
        'an application of Nx whose packages the root installs',
        {
          'package.json': packageJson({ dependencies: { '@nestjs/core': '11' }, devDependencies: { nx: '20' } }),
          'nx.json': '{}',
          'apps/api/project.json': '{ "name": "api", "projectType": "application" }',
          'apps/api/src/main.ts': '',
        },
        'web',
        'apps/api',
        /the only application/,
      ],
      [
        'the only folder with a server without a library',
        { 'my-app/package.json': packageJson({ scripts: { start: 'node server.js' } }), 'my-app/server.js': '' },
        'web',
        'my-app',
        /the only application/,
      ],
      [
        'an application, and not the components that it uses',
        {
          ...workspace(),
          'apps/shop/package.json': app('next'),
          'packages/ui/package.json': packageJson({ devDependencies: { storybook: '9' } }),
          'packages/ui/.storybook/main.js': '',
        },
        'web',
        'apps/shop',
        /the only application/,
      ],
      [
        'a server that has only a script for developers',
        {
          ...workspace(),
          'apps/api/package.json': packageJson({ scripts: { dev: 'tsx watch a.ts' }, dependencies: { hono: '4' } }),
        },
        'web',
        'apps/api',
        /the only application/,
      ],
    ];
    for (const [name, files, kind, folder, why] of cases) {
      it(name, async () => {
        const found = await plan(files, {}, kind);
        expect(found.folders.project).to.equal(folder);
        expect(found.explanation.join('\n')).to.match(why);
      });
    }
  });

  it('knows a framework that the root of a workspace installs by its configuration', async () => {
    const found = await plan({
      'package.json': root({ devDependencies: { vite: '8' } }),
      'package-lock.json': '{}',
      'apps/shop/package.json': packageJson({ name: 'shop' }),
      'apps/shop/vite.config.mts': "export default { build: { outDir: './out' } };",
      'apps/shop/index.html': '',
    });
    expect(found.folders.project).to.equal('apps/shop');
    expect(found.build).to.deep.equal(['cd apps/shop && vite build']);
    expect(found.publish?.folders[0]).to.equal('./out');
  });

  it('knows the framework of an application of Nx by its configuration, although the root installs others', async () => {
    const found = await plan({
      'package.json': packageJson({ dependencies: { '@nestjs/core': '11' }, devDependencies: { nx: '20', vite: '6' } }),
      'nx.json': '{}',
      'apps/api/project.json': '{ "name": "api" }',
      'apps/web/project.json': '{ "name": "web" }',
      'apps/web/vite.config.ts': '',
      'apps/web/index.html': '',
    });
    expect(found.folders.project).to.equal('apps/web');
    expect(found.framework?.id).to.equal('vite');
    expect(found.publish?.folders[0]).to.equal('../../dist/apps/web');
  });

  it('asks for the Node.js that the lock file says the packages need', async () => {
    const lock = JSON.stringify({ packages: { 'node_modules/astro': { engines: { node: '>=22.12.0' } } } });
    const found = await plan({
      'package.json': packageJson({ dependencies: { astro: '6' }, scripts: { build: 'astro build' } }),
      'package-lock.json': lock,
    });
    expect(found.versions.node).to.deep.equal({ range: '>=22.12.0', source: 'astro', lowest: true });
  });

  it('installs a workspace of pnpm whose root has no package.json', async () => {
    const found = await plan({ 'pnpm-workspace.yaml': 'packages: [web]', 'web/package.json': next });
    expect(found.install).to.deep.equal(['pnpm install --no-frozen-lockfile']);
    expect(found.folders).to.include({ install: '', project: 'web' });
  });

  it('publishes a site whose only page has another name', async () => {
    const files = { 'about.html': 'x', 'style.css': '' };
    expect(await plan(files)).to.deep.include({ type: 'static', build: [] });
    const app = await repository(files);
    const publish = { folders: [], singlePage: false, pages: ['.'] };
    const input = { app, project: app, starts: [], publish, publishDirectory: 'dist', isDefault: true, built: false };
    expect(await readFiles('settleResult', input, { signal })).to.include({ type: 'static', fallback: 'about.html' });
  });

  it('takes a package.json for tools alone for no application', async () => {
    const tools = packageJson({ dependencies: { next: '15', prettier: '3' } });
    const found = await plan({ 'package.json': tools, 'apps/web/package.json': next });
    expect(found.folders.project).to.equal('apps/web');
  });

  it('uses the folder that netlify.toml or render.yaml names', async () => {
    const files = { 'site/package.json': packageJson({ scripts: { build: 'x' } }), 'other/package.json': next };
    const netlify = await plan({ 'netlify.toml': '[build]\nbase = "site"\npublish = "site/out"\n', ...files });
    expect(netlify.folders.project).to.equal('site');
    expect(netlify.publish?.folders[0]).to.equal('out');
    const render = 'services:\n  - { type: web, rootDir: other, startCommand: node x.js }\n';
    const other = await plan({ 'render.yaml': render, ...files });
    expect(other.folders.project).to.equal('other');
    expect(other.startCommand).to.equal('node x.js');
  });

  it('decides by what the build has written', async () => {
    const settle = async (files: Files, starts: Start[], folders: string[] = [], singlePage = false, below = '') => {
      const app = await repository(files);
      const publish = { folders, singlePage, pages: [] };
      const input = {
        app,
        project: join(app, below),
        starts,
        publish,
        publishDirectory: 'dist',
        isDefault: true,
        built: true,
      };
      const settled = await readFiles('settleResult', input, { signal });
      return settled.type === 'static' ? { ...settled, folder: settled.folder.slice(app.length + 1) } : settled;
    };
    const server: Start = { command: 'node build', needs: 'build/index' };
    const preview: Start = { command: 'vite preview', needs: 'output', isPreview: true };
    expect(await settle({ 'build/index.js': '', 'output/x': '' }, [server, preview])).to.include({
      startCommand: 'node build',
    });
    const shown = await settle({ 'output/x': '' }, [server, preview]);
    expect(shown).to.include({ startCommand: 'vite preview' });
    expect(shown.notes.join()).to.match(/only a preview server/);
    expect(await settle({ 'README.md': '' }, [server])).to.include({ startCommand: 'node build' });
    expect(await settle({ 'public/index.html': '' }, [server], ['public'])).to.include({
      type: 'static',
      folder: 'public',
    });
    expect(await settle({ 'made/by/index.html': '' }, [])).to.include({ folder: 'made/by', fallback: '' });
    const nx = { 'dist/apps/shop/index.html': '', 'dist/apps/api/main.js': '', 'apps/shop/x': '', 'apps/api/x': '' };
    expect(await settle(nx, [], ['../../dist/apps/shop'], false, 'apps/shop')).to.include({ folder: 'dist/apps/shop' });
    const program: Start = { command: 'node ../../dist/apps/api/main.js', needs: '../../dist/apps/api/main.js' };
    expect(await settle(nx, [server, program], [], false, 'apps/api')).to.include({ startCommand: program.command });
    const page = { 'www/index.html': '' };
    expect(await settle(page, [], ['www'], true)).to.include({ fallback: 'index.html' });
    const below = { 'www/index.html': '<script type="module" src="/shop/assets/a.js">', 'www/assets/a.js': '' };
    expect(await settle(below, [], ['www'])).to.include({ base: '/shop' });
    expect(await settle({ ...below, 'www/shop/assets/a.js': '' }, [], ['www'])).to.include({ base: '' });
    expect(await settle({ ...page, 'www/404.html': '' }, [], ['www'], true)).to.include({ fallback: '' });
    expect(await settle({ ...page, 'www/200.html': '' }, [], ['www'])).to.include({ fallback: '200.html' });
    expect(await settle({ ...page, 'www/_redirects': '/* /index.html 200\n' }, [], ['www'])).to.include({
      fallback: 'index.html',
    });
    const refused = async (files: Files) =>
      settle(files, []).then(
        () => 'accepted',
        (error: Error) => error.message,
      );
    expect(await refused({ 'out/x': '' })).to.match(
      /^publishDirectory "dist" does not exist after the build; the folder has: out/,
    );
    expect(await refused({ dist: { link: '/etc' } })).to.match(/leads out of the repository/);
  });

  it('follows no link out of the repository', async () => {
    const app = await repository({ 'package.json': next });
    await writeFile(join(base, 'netlify.toml'), '[build]\ncommand = "stolen"\n');
    await mkdir(join(base, 'outside'));
    await writeFile(join(base, 'outside', 'package.json'), next);
    await symlink('../netlify.toml', join(app, 'netlify.toml'));
    await symlink('../outside', join(app, 'apps'));
    const configuration = { ...DEFAULT_CONFIGURATION };
    const { plan: found, applications } = await readFiles(
      'planProcess',
      { app, ...projectOf(configuration, 'static') },
      { signal },
    );
    expect(found.build).to.deep.equal(['npm run build']);
    expect(applications).to.deep.equal([]);
  });

  it('ends in an error of the build if a repository is hostile', async () => {
    const huge = `{"x":"${'x'.repeat(2 * 1024 * 1024)}"}`;
    expect(await refusal({ 'package.json': huge })).to.match(/package\.json is larger than 1024 KiB/);
    expect(await refusal({ 'package.json': next, 'netlify.toml': '= ['.repeat(1000) })).to.match(
      /netlify\.toml cannot be read/,
    );
    expect(await refusal({ 'package.json': next, 'render.yaml': `a: ${'['.repeat(20_000)}` })).to.match(
      /render\.yaml|memory|longer/,
    );
    const bomb = [
      'a: &a0 [x,x,x,x,x,x,x,x,x]',
      ...Array.from({ length: 20 }, (_, i) => `b${i}: &a${i + 1} [${`*a${i},`.repeat(9)}]`),
    ];
    expect(await refusal({ 'package.json': next, 'render.yaml': bomb.join('\n') })).to.match(
      /render\.yaml cannot be read/,
    );
    const globs = Array.from({ length: 500 }, (_, i) => `${'{a,b,'.repeat(40)}${'**/'.repeat(40)}*${i}*?*`);
    const deep = Object.fromEntries(Array.from({ length: 200 }, (_, i) => [`a/b/c/d/e/f/g${i}/package.json`, next]));
    const began = ownProcessorMs();
    await plan({
      'package.json': packageJson({ workspaces: globs, dependencies: { express: '4' }, scripts: { start: 'node x' } }),
      ...deep,
    });
    const script = `${'npm run a && '.repeat(500)}vite`;
    await plan({ 'package.json': packageJson({ scripts: { a: script, start: script, build: 'x' } }) });
    expect(ownProcessorMs() - began).to.be.lessThan(40_000);
  });
});
