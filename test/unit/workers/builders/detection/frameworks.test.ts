import { expect } from 'chai';
import { DEFAULT_CONFIGURATION, type ServiceConfiguration } from '../../../../../shared/services/configuration.js';
import type { ServiceKind } from '../../../../../shared/services/model.js';
import { FRAMEWORKS } from '../../../../../workers/builders/detection/frameworks.js';
import { platformSettings } from '../../../../../workers/builders/detection/platform-files.js';
import { projectFiles } from '../../../../../workers/builders/files/project-files.js';
import { planBuild } from '../../../../../workers/builders/plan/build-plan.js';
import { plainProject } from '../../../../support/plain-project.js';

interface Wanted {
  /** Name → version. A list stands for any version. */
  packages?: readonly string[] | Record<string, string>;
  scripts?: Record<string, string>;
  main?: string;
  files?: Record<string, string>;
  kind?: ServiceKind;
  settings?: Partial<ServiceConfiguration>;
}

function plan({ packages = [], scripts = {}, main, files = {}, kind = 'web', settings = {} }: Wanted) {
  const dependencies = Array.isArray(packages) ? Object.fromEntries(packages.map((name) => [name, '1.0.0'])) : packages;
  const all = { 'package.json': JSON.stringify({ scripts, main, dependencies }), ...files };
  const project = plainProject(projectFiles(Object.keys(all), all));
  const platforms = platformSettings(project.files, kind);
  return planBuild({ ...project, platforms }, kind, { ...DEFAULT_CONFIGURATION, ...settings });
}

const starts = (wanted: Wanted) => plan(wanted).starts.map(({ command }) => command);

describe('Frameworks in production', () => {
  const servers: Record<string, [wanted: Wanted, first: string]> = {
    'Next.js': [{ packages: ['next'], scripts: { start: 'next start' } }, 'npm start'],
    'Next.js whose start script is a development server': [
      { packages: ['next'], scripts: { start: 'next dev' } },
      'next start',
    ],
    'Next.js with a server of its own': [{ packages: ['next'], scripts: { start: 'node server.js' } }, 'npm start'],
    Nuxt: [{ packages: { nuxt: '^4.0.0' } }, 'node .output/server/index.mjs'],
    'Nuxt 2': [{ packages: { nuxt: '^2.15.0' } }, 'nuxt start'],
    SolidStart: [
      { packages: ['@solidjs/start', 'solid-js', 'vinxi'], scripts: { build: 'vinxi build', start: 'vinxi start' } },
      'npm start',
    ],
    'TanStack Start': [{ packages: ['@tanstack/react-start', 'vite'] }, 'node .output/server/index.mjs'],
    'React Router': [{ packages: ['@react-router/dev', 'vite'] }, 'react-router-serve ./build/server/index.js'],
    Remix: [{ packages: ['@remix-run/dev', '@remix-run/serve'] }, 'remix-serve ./build/server/index.js'],
    'Astro with its Node adapter': [
      { packages: ['astro', '@astrojs/node'], scripts: { start: 'astro dev' } },
      'node ./dist/server/entry.mjs',
    ],
    'SvelteKit with adapter-node': [{ packages: ['@sveltejs/kit', '@sveltejs/adapter-node', 'vite'] }, 'node build'],
    'SvelteKit with adapter-auto': [{ packages: ['@sveltejs/kit', '@sveltejs/adapter-auto', 'vite'] }, 'node build'],
    NestJS: [
      {
        packages: ['@nestjs/core'],
        scripts: { build: 'nest build', start: 'nest start', 'start:prod': 'node dist/main' },
      },
      'node dist/main',
    ],
    AdonisJS: [
      { packages: ['@adonisjs/core'], scripts: { build: 'node ace build', start: 'node bin/server.js' } },
      'node build/bin/server.js',
    ],
    Strapi: [{ packages: ['@strapi/strapi'], scripts: { build: 'strapi build', start: 'strapi start' } }, 'npm start'],
    'Strapi without a script': [{ packages: ['@strapi/strapi'], scripts: { start: 'strapi develop' } }, 'strapi start'],
    Keystone: [{ packages: ['@keystone-6/core'], scripts: { start: 'keystone start' } }, 'npm start'],
    Directus: [{ packages: ['directus'] }, 'directus bootstrap && directus start'],
    RedwoodJS: [{ packages: ['@redwoodjs/core'] }, 'rw serve --port $' + '{PORT:-3000}'],
    Express: [{ packages: ['express'], scripts: { start: 'node ./bin/www' } }, 'npm start'],
    'Express by main': [{ packages: ['express'], main: 'server.js', files: { 'server.js': '' } }, 'node server.js'],
    'Express by its entry file': [{ packages: ['express'], files: { 'src/app.js': '' } }, 'node src/app.js'],
    'Express with nodemon': [{ packages: ['express'], scripts: { start: 'nodemon app.js' } }, 'node app.js'],
    'Hono with a dev script only': [
      { packages: ['hono'], scripts: { dev: 'tsx watch src/index.ts' } },
      'tsx src/index.ts',
    ],
    Fastify: [{ packages: ['fastify'], scripts: { start: 'fastify start app.js' } }, 'npm start'],
    'Express beside Vite': [
      { packages: ['express', 'vite'], scripts: { build: 'vite build', start: 'node server.js' } },
      'npm start',
    ],
    Qwik: [
      { packages: ['@builder.io/qwik', 'vite'], scripts: { build: 'qwik build', start: 'vite --open --mode ssr' } },
      'node server/entry.express',
    ],
  };
  for (const [name, [wanted, first]] of Object.entries(servers)) {
    it(`starts ${name}`, () => {
      const found = plan(wanted);
      expect(found).to.include({ type: 'process', startCommand: first });
    });
  }

  /** Name → what the project has, and its published folder with the command that makes the folder. */
  const sites: Record<string, [wanted: Wanted, published: string]> = {
    'Next.js with output: export': [
      {
        packages: ['next'],
        scripts: { build: 'next build', start: 'next start' },
        files: { 'next.config.mjs': "export default { output: 'export' }" },
      },
      'out, by npm run build',
    ],
    'React Router without a server': [
      { packages: ['@react-router/dev'], files: { 'react-router.config.ts': 'export default { ssr: false }' } },
      'build/client, single page, by react-router build',
    ],
    Astro: [{ packages: ['astro'], scripts: { build: 'astro build', start: 'astro dev' } }, 'dist, by npm run build'],
    'SvelteKit with adapter-static': [
      {
        packages: ['@sveltejs/kit', '@sveltejs/adapter-static', 'vite'],
        scripts: { build: 'vite build', preview: 'vite preview' },
      },
      'build, by npm run build',
    ],
    Vite: [
      { packages: ['vite'], scripts: { dev: 'vite', build: 'vite build', preview: 'vite preview' } },
      'dist, single page, by npm run build',
    ],
    'Vite with its own folder': [
      {
        packages: ['vite'],
        scripts: { build: 'vite build' },
        files: { 'vite.config.ts': "export default { build: { outDir: 'public-build' } }" },
      },
      'public-build, single page, by npm run build',
    ],
    'Vite with a folder in its script': [
      { packages: ['vite'], scripts: { build: 'vite build --outDir=www' } },
      'www, single page, by npm run build',
    ],
    'Vite without a script': [{ packages: ['vite'] }, 'dist, single page, by vite build'],
    'Create React App': [
      { packages: ['react-scripts'], scripts: { start: 'react-scripts start', build: 'react-scripts build' } },
      'build, single page, by npm run build',
    ],
    Angular: [
      {
        packages: ['@angular/cli', '@angular/core'],
        scripts: { start: 'ng serve', build: 'ng build' },
        files: {
          'angular.json':
            '{"projects":{"shop":{"projectType":"application","architect":{"build":{"builder":"@angular/build:application"}}}}}',
        },
      },
      'dist/shop/browser, single page, by npm run build',
    ],
    Docusaurus: [
      {
        packages: ['@docusaurus/core'],
        scripts: { start: 'docusaurus start', build: 'docusaurus build', serve: 'docusaurus serve' },
      },
      'build, by npm run build',
    ],
    VitePress: [
      { packages: ['vitepress'], scripts: { 'docs:build': 'vitepress build docs' }, files: { 'docs/.vitepress': '' } },
      'docs/.vitepress/dist, by vitepress build docs',
    ],
    Gatsby: [
      { packages: ['gatsby'], scripts: { start: 'gatsby develop', build: 'gatsby build', serve: 'gatsby serve' } },
      'public, by npm run build',
    ],
    Eleventy: [{ packages: ['@11ty/eleventy'] }, '_site, by eleventy'],
    'Eleventy with its own folder': [
      {
        packages: ['@11ty/eleventy'],
        scripts: { start: 'eleventy --serve', build: 'eleventy' },
        files: { 'eleventy.config.js': "export default () => ({ dir: { output: 'www' } })" },
      },
      'www, by npm run build',
    ],
    'Vue CLI': [
      { packages: ['@vue/cli-service'], scripts: { serve: 'vue-cli-service serve', build: 'vue-cli-service build' } },
      'dist, single page, by npm run build',
    ],
    Parcel: [
      { packages: ['parcel'], scripts: { start: 'parcel index.html' }, files: { 'index.html': '' } },
      'dist, single page, by parcel build index.html',
    ],
    webpack: [
      {
        packages: ['webpack', 'webpack-cli', 'webpack-dev-server'],
        scripts: { start: 'webpack serve', build: 'webpack' },
      },
      'dist, single page, by npm run build',
    ],
    Expo: [{ packages: ['expo'], scripts: { start: 'expo start' } }, 'dist, single page, by expo export -p web'],
  };
  for (const [name, [wanted, published]] of Object.entries(sites)) {
    it(`publishes ${name}, as a web service too`, () => {
      for (const kind of ['web', 'static'] as const) {
        const found = plan({ ...wanted, kind });
        expect(found.type).to.equal('static');
        const page = found.publish?.singlePage ? ', single page' : '';
        expect(`${found.publish?.folders[0]}${page}, by ${found.build.join(' and ')}`).to.equal(published);
        expect(found.install).to.deep.equal(['npm install']);
      }
    });
  }

  it('has a row with something to say for every framework, and names each package once', () => {
    const packages = Object.values(FRAMEWORKS).flatMap((row) => row.packages);
    expect(new Set(packages).size).to.equal(packages.length);
    for (const [id, row] of Object.entries(FRAMEWORKS)) {
      expect(row.isLibrary ?? row.starts ?? row.publish, id).to.not.equal(undefined);
    }
  });

  it('starts Angular and Nest where their configurations say', () => {
    const ssr = {
      outputPath: 'dist/web',
      server: 'src/main.server.ts',
      ssr: { entry: 'src/server.ts' },
      outputMode: 'server',
    };
    const angular = JSON.stringify({ projects: { web: { architect: { build: { options: ssr } } } } });
    expect(
      starts({ packages: ['@angular/cli'], scripts: { start: 'ng serve' }, files: { 'angular.json': angular } }),
    ).to.deep.equal(['node dist/web/server/server.mjs']);
    const nest = { packages: ['@nestjs/core'], files: { 'nest-cli.json': '{"sourceRoot":"apps/api/src"}' } };
    expect(starts(nest)[0]).to.equal('node dist/apps/api/main');
  });

  it('says why a start script was passed over, and which setting changes it', () => {
    const { explanation } = plan({ packages: ['vite'], scripts: { start: 'vite', build: 'vite build' } });
    expect(explanation.join('\n')).to.match(/start script runs a development server \(vite\).*startCommand/);
    const watched = plan({ packages: ['express'], scripts: { start: 'nodemon app.js' } });
    expect(watched.explanation.join('\n')).to.match(/nodemon.*production runs "node app.js"/);
  });

  it('uses a preview server only if a project offers nothing better', () => {
    const preview = plan({ packages: ['left-pad'], scripts: { build: 'x', preview: 'nuxi preview' } }).starts;
    expect(preview).to.have.length(1);
    expect(preview[0]).to.include({ command: 'npm run preview', needs: null, isPreview: true });
    expect(
      starts({
        packages: ['vite', 'express'],
        scripts: { build: 'x', preview: 'vite preview' },
        main: 'app.js',
        files: { 'app.js': '' },
      }),
    ).to.deep.equal(['node app.js']);
  });

  it('takes the settings of the service first, then those for other platforms, then the scripts', () => {
    const files = {
      'render.yaml': 'services:\n  - type: web\n    buildCommand: make\n    startCommand: node render.js\n',
    };
    const base = { packages: ['express'], scripts: { start: 'node a.js', build: 'b' }, files };
    expect(plan(base)).to.deep.include({ startCommand: 'node render.js', build: ['make'] });
    expect(plan({ ...base, settings: { startCommand: 'node own.js', buildCommand: 'own' } })).to.deep.include({
      startCommand: 'node own.js',
      build: ['own'],
    });
    expect(plan({ ...base, files: { ...files, Procfile: 'web: node proc.js' } }).startCommand).to.equal('node proc.js');
    const railway = { 'railway.json': '{"deploy":{"startCommand":"vite"}}' };
    expect(plan({ ...base, files: railway }).startCommand).to.equal('npm start');
    const netlify = { 'netlify.toml': '[build]\ncommand = "npm run site"\npublish = "www"\n' };
    expect(plan({ ...base, files: netlify })).to.deep.include({ startCommand: 'npm start', build: ['npm run build'] });
    const site = plan({ packages: ['vite'], scripts: { build: 'vite build' }, files: netlify });
    expect(site.build).to.deep.equal(['npm run site']);
    expect(site.publish?.folders[0]).to.equal('www');
    const rewrites = '{"rewrites":[{"source":"/(.*)","destination":"/index.html"}]}';
    expect(plan({ scripts: { build: 'x' }, files: { 'vercel.json': rewrites } }).publish?.singlePage).to.equal(true);
  });

  it('sets what old and strict builds need', () => {
    const old = { packages: { 'react-scripts': '^3.4.1' } };
    expect(plan({ ...old, files: { '.nvmrc': '20' } }).buildEnvironment).to.include({
      CI: 'false',
      NODE_OPTIONS: '--openssl-legacy-provider',
    });
    // Node.js before 17 refuses the option, and does not need it.
    expect(plan(old).versions.node).to.include({ range: '16.x', source: 'react-scripts in package.json' });
    expect(plan(old).buildEnvironment).to.not.have.property('NODE_OPTIONS');
    expect(plan({ packages: { 'react-scripts': '5.0.1' } }).buildEnvironment).to.not.have.property('NODE_OPTIONS');
    expect(plan({ packages: ['@sveltejs/kit', '@sveltejs/adapter-auto'] }).buildEnvironment).to.include({
      GCP_BUILDPACKS: 'node',
    });
  });

  it('makes a file of variables that a script cannot do without', () => {
    const scripts = { build: 'tsc', start: 'node --env-file=.env dist/index.js' };
    expect(plan({ packages: ['express'], scripts }).build).to.deep.equal(['touch .env', 'npm run build']);
    expect(plan({ packages: ['express'], scripts, files: { '.env': '' } }).build).to.deep.equal(['npm run build']);
  });

  it('generates the client of Prisma if no script does that by itself', () => {
    const wanted = { packages: ['express', 'prisma'], files: { 'prisma/schema.prisma': '' } };
    const build = (scripts: Record<string, string>) =>
      plan({ ...wanted, scripts: { start: 'node x.js', ...scripts } }).build;
    expect(build({})).to.deep.equal(['prisma generate']);
    // People run this script by hand.
    expect(build({ setup: 'prisma generate && prisma db seed' })).to.deep.equal(['prisma generate']);
    expect(build({ postinstall: 'prisma generate' })).to.deep.equal([]);
    expect(build({ build: 'run-s generate:*', 'generate:*': 'prisma generate' })).to.deep.equal(['npm run build']);
    expect(plan({ packages: ['express'], files: wanted.files, scripts: { start: 'x' } }).build).to.deep.equal([]);
  });

  it('brings the other package managers that scripts and platforms call', () => {
    const also = (scripts: Record<string, string>, files: Record<string, string> = {}) =>
      plan({ scripts: { start: 'node x.js', ...scripts }, files }).versions.also;
    expect(also({ build: 'npm run a && yarn build:b', test: 'pnpm test' })).to.deep.equal(['yarn']);
    expect(also({ postinstall: 'run-s b', b: 'cd web && bun install' })).to.deep.equal(['bun']);
    expect(also({ build: 'yarn build:a' }, { 'yarn.lock': '' })).to.equal(undefined);
    expect(also({}, { 'railway.json': '{"build":{"buildCommand":"yarn; yarn build"}}' })).to.deep.equal(['yarn']);
    expect(also({ preinstall: 'npx only-allow pnpm' })).to.equal(undefined);
  });

  it('never starts the sources of pages, also if a server is among the packages', () => {
    const files = { 'src/index.js': '', 'public/index.html': '' };
    const mocked = plan({ packages: ['react-scripts', 'express'], scripts: { start: 'react-scripts start' }, files });
    expect(mocked).to.deep.include({ type: 'static', starts: [] });
    const served = { packages: ['react-scripts', 'express'], files: { ...files, 'server.js': '' } };
    expect(starts(served)).to.deep.equal(['node server.js']);
  });

  it('starts no script, style or configuration that a page has beside it', () => {
    const page = { 'index.html': '', 'index.js': '', 'app.js': '' };
    expect(plan({ packages: ['prettier'], main: 'index.js', files: page })).to.deep.include({ type: 'static' });
    expect(
      plan({ packages: ['gulp'], main: 'gulpfile.js', files: { 'gulpfile.js': '', 'index.html': '' } }),
    ).to.include({
      type: 'static',
    });
    expect(plan({ packages: ['prettier'], main: 'index.html', files: { 'index.html': '' } })).to.include({
      type: 'static',
    });
    expect(starts({ main: 'server.js', files: { ...page, 'server.js': '' } })).to.deep.equal(['node server.js']);
    expect(starts({ packages: ['express'], main: 'index.js', files: page })).to.deep.equal(['node index.js']);
    expect(starts({ scripts: { start: 'node index.js' }, files: page })).to.deep.equal(['npm start']);
    const shown = { files: { 'index.html': '', Procfile: 'web: python -m SimpleHTTPServer $PORT' } };
    expect(plan(shown)).to.include({ type: 'static' });
  });

  it('installs nothing again when it starts', () => {
    const scripts = { prestart: 'npm install', start: 'http-server ./app -p 8000' };
    const found = plan({ packages: ['http-server'], scripts });
    expect(found.startCommand).to.equal('http-server ./app -p 8000');
    expect(found.explanation.join('\n')).to.match(/prestart installs packages/);
    expect(starts({ packages: ['http-server'], scripts: { ...scripts, prestart: 'npm run build' } })).to.deep.equal([
      'npm start',
    ]);
  });

  it('builds the pages of a library, and not its package', () => {
    const build = (scripts: Record<string, string>, name = 'vitepress') => plan({ packages: [name], scripts }).build;
    const docs = { 'docs:dev': 'vitepress dev docs', 'docs:build': 'vitepress build docs' };
    expect(build({ build: 'tsup', ...docs })).to.deep.equal(['npm run docs:build']);
    expect(
      build({ build: 'npm run lint && npm run roll', roll: 'rollup -c', lint: 'eslint .', ...docs }),
    ).to.deep.equal(['npm run docs:build']);
    expect(build({ build: 'rollup -c', 'build:next': 'next build' }, 'next')).to.deep.equal(['npm run build:next']);
    // These scripts are unknown, or they build the pages.
    expect(build({ build: 'node build.js', ...docs })).to.deep.equal(['npm run build']);
    expect(build({ build: 'npm run docs:build', ...docs })).to.deep.equal(['npm run build']);
    expect(build({ build: 'tsc && vitepress build', ...docs })).to.deep.equal(['npm run build']);
    expect(build({ build: 'tsup' })).to.deep.equal(['npm run build']);
  });

  it('runs the sources of a Cloudflare Worker with its own preview only', () => {
    const worker = { packages: ['hono', 'wrangler'], files: { 'src/index.js': '', 'wrangler.jsonc': '{}' } };
    const preview = 'wrangler dev --ip 0.0.0.0 --port $' + '{PORT:-3000}';
    expect(starts(worker)).to.deep.equal([preview]);
    expect(starts({ ...worker, scripts: { dev: 'wrangler dev' } })).to.deep.equal([preview]);
    expect(starts({ ...worker, scripts: { start: 'node server.js' } })).to.deep.equal(['npm start', preview]);
    expect(starts({ packages: worker.packages, files: { 'src/index.js': '' } })).to.deep.equal(['node src/index.js']);
  });

  it('knows the framework that a package of a workspace leaves to the root to install', () => {
    const found = plan({ scripts: { build: 'vite build', start: 'vite' }, files: { 'index.html': '' } });
    expect(found.framework?.id).to.equal('vite');
  });

  it('builds the pages of a project with its script for production', () => {
    const scripts = { start: 'eleventy --serve', production: 'sass a b && npx eleventy' };
    expect(plan({ packages: ['@11ty/eleventy'], scripts })).to.deep.include({ type: 'static' });
    expect(plan({ packages: ['@11ty/eleventy'], scripts }).build).to.deep.equal(['npm run production']);
    expect(plan({ packages: ['express'], scripts: { production: 'node a.js' } }).startCommand).to.equal(
      'npm run production',
    );
  });

  it('runs no bundler that a server only has among its packages', () => {
    expect(plan({ packages: ['express', 'parcel'], scripts: { start: 'node server.js' } }).build).to.deep.equal([]);
  });

  it('compiles TypeScript that nothing else would compile', () => {
    const wanted = {
      packages: ['express', 'typescript'],
      scripts: { start: 'node dist/index.js' },
      files: { 'tsconfig.json': '' },
    };
    expect(plan(wanted).build).to.deep.equal(['tsc']);
    expect(plan({ ...wanted, files: { ...wanted.files, 'dist/index.js': '' } }).build).to.deep.equal([]);
    expect(plan({ ...wanted, scripts: { ...wanted.scripts, 'heroku-postbuild': 'x' } }).build).to.deep.equal([
      'npm run heroku-postbuild',
    ]);
  });

  it('publishes a page beside a package.json that builds and starts nothing', () => {
    const found = plan({ packages: ['prettier'], scripts: { test: 'x' }, files: { 'index.html': '' } });
    expect(found).to.deep.include({ type: 'static', install: [], build: [] });
    expect(plan({ packages: [], scripts: { start: 'live-server' }, files: { 'index.html': '' } })).to.include({
      type: 'static',
    });
  });
});
