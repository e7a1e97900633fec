import { angularFolders } from './angular-output.js';
import { type Application, configText, dependsOn, majorOf, property, says } from './application.js';
import {
  type FrameworkRow,
  folder,
  PORT,
  page,
  plain,
  preview,
  runs,
  start,
  startFile,
  vitePreview,
  yes,
} from './framework-row.js';

const NITRO = [startFile('.output/server/index.mjs')];
const NITRO_SITE = ['.output/public', 'dist'];

/** Frameworks that have a server. The order matters: frameworks that contain others come first. */
export const SERVER_FRAMEWORKS: Readonly<Record<string, FrameworkRow>> = {
  strapi: { name: 'Strapi', packages: ['@strapi/strapi'], build: 'strapi build', ...runs('strapi start') },
  keystone: { name: 'Keystone', packages: ['@keystone-6/core'], build: 'keystone build', ...runs('keystone start') },
  directus: {
    name: 'Directus',
    packages: ['directus'],
    ...runs('directus bootstrap && directus start'),
    environment: { HOST: '0.0.0.0' },
  },
  medusa: { name: 'Medusa', packages: ['@medusajs/medusa'], build: 'medusa build', ...runs('medusa start') },
  mastra: {
    name: 'Mastra',
    packages: ['mastra', '@mastra/core'],
    starts: () => [startFile('.mastra/output/index.mjs')],
  },
  next: {
    name: 'Next.js',
    packages: ['next'],
    build: 'next build',
    starts: (app) => {
      if (nextExports(app)) return [];
      const out = app.nx?.output ?? null;
      // If Nx builds into another folder, `next start` must name it.
      const ofNx = out === null ? [] : [start(`next start ${out}`, `${out}/.next`)];
      return [...ofNx, start('next start')];
    },
    // `next start` refuses an exported project, so such a script is replaced.
    replaces: (app, script) => nextExports(app) && /\bnext start\b/.test(script),
    publish: (app) => [property(configText(app, 'next.config'), 'distDir') ?? 'out', 'out'],
  },
  blitz: { name: 'Blitz', packages: ['blitz'], build: 'blitz build', ...runs('blitz start') },
  nuxt: {
    name: 'Nuxt',
    packages: ['nuxt', 'nuxt3', 'nuxt-edge'],
    build: 'nuxt build',
    starts: (app) => (isOldNuxt(app) ? [start('nuxt start', '.nuxt')] : NITRO),
    publish: () => NITRO_SITE,
  },
  'solid-start': {
    name: 'SolidStart',
    packages: ['@solidjs/start', 'solid-start'],
    starts: () => [...NITRO, vitePreview('dist/server')],
    publish: () => NITRO_SITE,
  },
  'tanstack-start': {
    name: 'TanStack Start',
    packages: ['@tanstack/react-start', '@tanstack/solid-start', '@tanstack/start'],
    build: 'vite build',
    starts: () => [...NITRO, vitePreview('dist/server')],
    publish: () => [...NITRO_SITE, 'dist/client'],
  },
  analog: {
    name: 'Analog',
    packages: ['@analogjs/platform'],
    starts: () => [startFile('dist/analog/server/index.mjs')],
    ...folder('dist/analog/public'),
  },
  hydrogen: { name: 'Hydrogen', packages: ['@shopify/hydrogen'], starts: () => [vitePreview('dist/server')] },
  'react-router': {
    name: 'React Router',
    packages: ['@react-router/dev'],
    build: 'react-router build',
    starts: (app) =>
      says(configText(app, 'react-router.config'), 'ssr', 'false')
        ? []
        : [start('react-router-serve ./build/server/index.js', 'build/server/index.js')],
    ...page('build/client'),
  },
  remix: {
    name: 'Remix',
    packages: ['@remix-run/dev', '@remix-run/serve'],
    build: (app) => (configText(app, 'vite.config') === '' ? 'remix build' : 'remix vite:build'),
    starts: (app) =>
      says(configText(app, 'vite.config'), 'ssr', 'false')
        ? []
        : [
            start('remix-serve ./build/server/index.js', 'build/server/index.js'),
            start('remix-serve build/index.js', 'build/index.js'),
          ],
    ...page('build/client'),
  },
  astro: {
    name: 'Astro',
    packages: ['astro'],
    build: 'astro build',
    starts: (app) => {
      if (dependsOn(app, '@astrojs/node')) return [start('node ./dist/server/entry.mjs', 'dist/server/entry.mjs')];
      const other = dependsOn(app, '@astrojs/vercel', '@astrojs/netlify', '@astrojs/cloudflare');
      return other ? [preview(`astro preview --host 0.0.0.0 --port ${PORT}`, 'dist/server')] : [];
    },
    publish: (app) => [property(configText(app, 'astro.config'), 'outDir') ?? 'dist', 'dist/client', 'dist'],
    environment: { HOST: '0.0.0.0' },
  },
  'svelte-kit': {
    name: 'SvelteKit',
    packages: ['@sveltejs/kit'],
    build: 'vite build',
    starts: (app) => {
      const config = `${configText(app, 'svelte.config')}\n${configText(app, 'vite.config')}`;
      const out = property(config, 'out') ?? 'build';
      const server = start(`node ${plain(out) ? out : 'build'}`, `${out}/index.js`);
      return svelteIsStatic(app) ? [] : [server, vitePreview('.svelte-kit/output/server')];
    },
    publish: (app) => [property(configText(app, 'svelte.config'), 'pages') ?? 'build', 'build'],
    // With this variable of Google Cloud, adapter-auto installs and uses adapter-node; no setting selects adapter-node.
    buildEnvironment: (app): Record<string, string> =>
      dependsOn(app, '@sveltejs/adapter-auto') ? { GCP_BUILDPACKS: 'node' } : {},
  },
  qwik: {
    name: 'Qwik',
    packages: ['@builder.io/qwik-city', '@builder.io/qwik', '@qwik.dev/router'],
    // Without a server adapter, Qwik builds only for its preview server. `qwik` must be started by a package manager.
    buildInstead: (app) => (Object.hasOwn(app.manifest.scripts, 'build.server') ? null : 'npx qwik build preview'),
    starts: () => [
      start('node server/entry.express', 'server/entry.express.js'),
      start('node server/entry.fastify', 'server/entry.fastify.js'),
      start('node server/entry.node-server', 'server/entry.node-server.js'),
      vitePreview('server'),
    ],
    ...folder('dist'),
  },
  waku: { name: 'Waku', packages: ['waku'], build: 'waku build', ...runs('waku start'), ...folder('dist/public') },
  vike: {
    name: 'Vike',
    packages: ['vike'],
    build: 'vike build',
    starts: (app) =>
      says(configText(app, 'vite.config'), 'prerender', 'true') ||
      says(configText(app, 'pages/+config'), 'prerender', 'true')
        ? []
        : [preview(`vike preview --host 0.0.0.0 --port ${PORT}`, 'dist/server')],
    ...folder('dist/client'),
  },
  nitro: {
    name: 'Nitro',
    packages: ['nitropack', 'nitro'],
    build: 'nitro build',
    starts: () => NITRO,
    publish: () => NITRO_SITE,
  },
  redwoodjs: {
    name: 'RedwoodJS',
    packages: ['@redwoodjs/core'],
    build: 'rw build',
    ...runs(`rw serve --port ${PORT}`),
    ...folder('web/dist'),
  },
  angular: {
    name: 'Angular',
    packages: ['@angular/cli', '@angular/core'],
    build: 'ng build',
    starts: ({ files }) =>
      angularFolders(files.text('angular.json'))
        .filter(({ isServer }) => isServer)
        .map(({ folder: out }) => startFile(`${out}/server/server.mjs`)),
    publish: ({ files }) =>
      angularFolders(files.text('angular.json')).flatMap(({ folder: out }) => [`${out}/browser`, out]),
    singlePage: yes,
  },
  nest: {
    name: 'NestJS',
    packages: ['@nestjs/core'],
    build: (app) => (dependsOn(app, '@nestjs/cli') ? 'nest build' : null),
    starts: ({ files }) => nestFiles(files.text('nest-cli.json')).map((file) => start(`node ${file}`, `${file}.js`)),
    // `nest start` compiles at each start, and needs more memory than the application.
    replaces: (_, script) => /^(npx )?nest start$/.test(script),
  },
  adonis: {
    name: 'AdonisJS',
    packages: ['@adonisjs/core'],
    build: 'node ace build',
    starts: () => [startFile('build/bin/server.js'), startFile('build/server.js')],
    // AdonisJS's usual start script works only in build/, and applications start in the project's folder.
    replaces: (_, script) => /^node (bin\/)?server(\.js)?$/.test(script),
    environment: { HOST: '0.0.0.0' },
  },
};

function nextExports(app: Application): boolean {
  if (says(configText(app, 'next.config'), 'output', 'export')) return true;
  return /\bnext export\b/.test(app.manifest.scripts.build ?? '');
}

function isOldNuxt({ manifest }: Application): boolean {
  const major = majorOf(manifest.dependencies.nuxt ?? manifest.dependencies['nuxt-edge']);
  return major !== null && major < 3 && manifest.dependencies.nuxt3 === undefined;
}

function svelteIsStatic(app: Application): boolean {
  return dependsOn(app, '@sveltejs/adapter-static') && !dependsOn(app, '@sveltejs/adapter-node');
}

/** Returns the files that `nest build` writes, without `.js`. A monorepo's applications are below dist/apps. */
function nestFiles(config: string | undefined): string[] {
  const entry = property(config ?? '', 'entryFile') ?? 'main';
  const root = property(config ?? '', 'sourceRoot') ?? '';
  const own = /^apps\/[\w.-]+/.exec(root)?.[0];
  const files = [...(own === undefined ? [] : [`dist/${own}/main`]), `dist/${entry}`, `dist/src/${entry}`];
  return files.filter(plain);
}
