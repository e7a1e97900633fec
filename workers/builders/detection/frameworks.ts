import { angularFolders } from './angular.js';
import { type Application, configText, dependsOn, majorOf, property, type Start, says } from './application.js';

/**
 * What `@netlify/build-info` does not say: how a framework is started in production, and the folders to which it writes
 * a site. A row's functions look at the application's own files only.
 */
export interface FrameworkRow {
  name: string;
  /** Packages by which the table itself recognises it. The first row that matches is used. */
  packages: readonly string[];
  /** Run if package.json has no build script. */
  build?: string | ((app: Application) => string | null);
  /** Runs instead of the `build` script, because that script's result cannot be started. */
  buildInstead?: (app: Application) => string | null;
  /** In order of preference. The first one whose file exists after the build is used. */
  starts?: (app: Application) => Start[];
  /** Folders of a site, in order of preference. */
  publish?: (app: Application) => string[];
  /** True if one page answers every path. */
  singlePage?: (app: Application) => boolean;
  /** Start scripts that do not work in production although they start no development server. */
  replaces?: (app: Application, script: string) => boolean;
  /** Variables of the build, and of the running application. */
  buildEnvironment?: (app: Application) => Record<string, string>;
  environment?: Record<string, string>;
  /** The entry is written for another platform: Node.js cannot run it. */
  isForeign?: true;
  /** A library that applications build a server with. It decides nothing but the name. */
  isLibrary?: true;
}

const PORT = '$' + '{PORT:-3000}';
const yes = () => true;
const start = (command: string, needs: string | null = null): Start => ({ command, needs });
const preview = (command: string, needs: string | null = null): Start => ({ command, needs, isPreview: true });
const vitePreview = (needs: string | null) => preview(`vite preview --host 0.0.0.0 --port ${PORT}`, needs);
const NITRO = [start('node .output/server/index.mjs', '.output/server/index.mjs')];
const NITRO_SITE = ['.output/public', 'dist'];
const folder = (...folders: string[]) => ({ publish: () => folders });
/** A page that loads an application which reads the path. */
const page = (...folders: string[]) => ({ publish: () => folders, singlePage: yes });

/** Ordered: frameworks that contain others come first, libraries of servers last. */
export const FRAMEWORKS: Readonly<Record<string, FrameworkRow>> = {
  // Complete applications
  strapi: {
    name: 'Strapi',
    packages: ['@strapi/strapi'],
    build: 'strapi build',
    starts: () => [start('strapi start')],
  },
  keystone: {
    name: 'Keystone',
    packages: ['@keystone-6/core'],
    build: 'keystone build',
    starts: () => [start('keystone start')],
  },
  directus: {
    name: 'Directus',
    packages: ['directus'],
    starts: () => [start('directus bootstrap && directus start')],
    environment: { HOST: '0.0.0.0' },
  },
  medusa: {
    name: 'Medusa',
    packages: ['@medusajs/medusa'],
    build: 'medusa build',
    starts: () => [start('medusa start')],
  },
  mastra: {
    name: 'Mastra',
    packages: ['mastra', '@mastra/core'],
    starts: () => [start('node .mastra/output/index.mjs', '.mastra/output/index.mjs')],
  },
  // Frameworks with a server of their own
  next: {
    name: 'Next.js',
    packages: ['next'],
    build: 'next build',
    starts: (app) => (nextExports(app) ? [] : [start('next start')]),
    // It refuses a project that is exported.
    replaces: (app, script) => nextExports(app) && /\bnext start\b/.test(script),
    publish: (app) => [property(configText(app, 'next.config'), 'distDir') ?? 'out', 'out'],
  },
  blitz: { name: 'Blitz', packages: ['blitz'], build: 'blitz build', starts: () => [start('blitz start')] },
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
    starts: () => [start('node dist/analog/server/index.mjs', 'dist/analog/server/index.mjs')],
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
    // adapter-auto chooses adapter-node if this variable is set, and installs it. It knows no variable that says so directly.
    buildEnvironment: (app): Record<string, string> =>
      dependsOn(app, '@sveltejs/adapter-auto') ? { GCP_BUILDPACKS: 'node' } : {},
  },
  qwik: {
    name: 'Qwik',
    packages: ['@builder.io/qwik-city', '@builder.io/qwik', '@qwik.dev/router'],
    // Without an adapter, only the preview's server exists. Its program calls the package manager that called it.
    buildInstead: (app) => (hasScript(app, 'build.server') ? null : 'npx qwik build preview'),
    starts: () => [
      start('node server/entry.express', 'server/entry.express.js'),
      start('node server/entry.fastify', 'server/entry.fastify.js'),
      start('node server/entry.node-server', 'server/entry.node-server.js'),
      vitePreview('server'),
    ],
    ...folder('dist'),
  },
  waku: {
    name: 'Waku',
    packages: ['waku'],
    build: 'waku build',
    starts: () => [start('waku start')],
    ...folder('dist/public'),
  },
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
    starts: () => [start(`rw serve --port ${PORT}`)],
    ...folder('web/dist'),
  },
  angular: {
    name: 'Angular',
    packages: ['@angular/cli', '@angular/core'],
    build: 'ng build',
    starts: ({ files }) =>
      angularFolders(files.text('angular.json'))
        .filter(({ isServer }) => isServer)
        .map(({ folder: out }) => start(`node ${out}/server/server.mjs`, `${out}/server/server.mjs`)),
    publish: ({ files }) =>
      angularFolders(files.text('angular.json')).flatMap(({ folder: out }) => [`${out}/browser`, out]),
    singlePage: yes,
  },
  nest: {
    name: 'NestJS',
    packages: ['@nestjs/core'],
    build: (app) => (dependsOn(app, '@nestjs/cli') ? 'nest build' : null),
    starts: ({ files }) => nestFiles(files.text('nest-cli.json')).map((file) => start(`node ${file}`, `${file}.js`)),
    // It compiles again, and needs more memory than the application.
    replaces: (_, script) => /^(npx )?nest start$/.test(script),
  },
  adonis: {
    name: 'AdonisJS',
    packages: ['@adonisjs/core'],
    build: 'node ace build',
    starts: () => [
      start('node build/bin/server.js', 'build/bin/server.js'),
      start('node build/server.js', 'build/server.js'),
    ],
    // The compiled application is below build/; the script is meant for that folder.
    replaces: (_, script) => /^node (bin\/)?server(\.js)?$/.test(script),
    environment: { HOST: '0.0.0.0' },
  },
  // Generators of sites
  gatsby: { name: 'Gatsby', packages: ['gatsby'], build: 'gatsby build', ...folder('public') },
  docusaurus: {
    name: 'Docusaurus',
    packages: ['@docusaurus/core', 'docusaurus'],
    build: 'docusaurus build',
    ...folder('build'),
  },
  eleventy: {
    name: 'Eleventy',
    packages: ['@11ty/eleventy'],
    build: 'eleventy',
    publish: (app) => {
      const config = `${configText(app, '.eleventy')}\n${configText(app, 'eleventy.config')}`;
      return [property(config, 'output') ?? '_site', '_site'];
    },
  },
  vitepress: {
    name: 'VitePress',
    packages: ['vitepress'],
    build: ({ files }) => `vitepress build${files.has('docs/.vitepress') ? ' docs' : ''}`,
    ...folder('docs/.vitepress/dist', '.vitepress/dist', 'src/.vitepress/dist', 'website/.vitepress/dist'),
  },
  vuepress: {
    name: 'VuePress',
    packages: ['vuepress'],
    build: 'vuepress build docs',
    ...folder('docs/.vuepress/dist', '.vuepress/dist', 'src/.vuepress/dist'),
  },
  hexo: { name: 'Hexo', packages: ['hexo'], build: 'hexo generate', ...folder('public') },
  gridsome: { name: 'Gridsome', packages: ['gridsome'], build: 'gridsome build', ...folder('dist') },
  observable: {
    name: 'Observable Framework',
    packages: ['@observablehq/framework'],
    build: 'observable build',
    ...folder('dist'),
  },
  rspress: { name: 'Rspress', packages: ['rspress', '@rspress/core'], build: 'rspress build', ...folder('doc_build') },
  slidev: { name: 'Slidev', packages: ['@slidev/cli'], build: 'slidev build', ...page('dist') },
  stencil: { name: 'Stencil', packages: ['@stencil/core'], build: 'stencil build', ...page('www') },
  metalsmith: { name: 'Metalsmith', packages: ['metalsmith'], ...folder('build') },
  assemble: { name: 'Assemble', packages: ['assemble'], ...folder('dist', '_gh_pages') },
  'react-static': { name: 'React Static', packages: ['react-static'], build: 'react-static build', ...folder('dist') },
  // Applications of one page
  'create-react-app': {
    name: 'Create React App',
    packages: ['react-scripts'],
    build: 'react-scripts build',
    ...page('build'),
    // With CI=true every warning of ESLint ends the build.
    buildEnvironment: () => ({ CI: 'false' }),
  },
  vue: { name: 'Vue CLI', packages: ['@vue/cli-service'], build: 'vue-cli-service build', ...page('dist') },
  ember: { name: 'Ember', packages: ['ember-cli'], build: 'ember build --environment=production', ...page('dist') },
  expo: {
    name: 'Expo',
    packages: ['expo'],
    build: 'expo export -p web',
    buildInstead: () => 'expo export -p web',
    ...page('dist', 'web-build'),
  },
  quasar: {
    name: 'Quasar',
    packages: ['@quasar/app-vite', '@quasar/app-webpack', '@quasar/app'],
    build: 'quasar build',
    ...page('dist/spa'),
  },
  preact: { name: 'Preact CLI', packages: ['preact-cli'], build: 'preact build', ...page('build') },
  umi: { name: 'Umi', packages: ['umi', '@umijs/max'], build: 'umi build', ...page('dist') },
  'solid-js': { name: 'SolidJS', packages: [], ...page('dist') },
  'tanstack-router': { name: 'TanStack Router', packages: [], ...page('dist') },
  // Tools that build
  vite: {
    name: 'Vite',
    packages: ['vite', 'rolldown-vite'],
    build: 'vite build',
    publish: (app) => viteFolders(configText(app, 'vite.config')),
    singlePage: yes,
  },
  rsbuild: { name: 'Rsbuild', packages: ['@rsbuild/core'], build: 'rsbuild build', ...page('dist') },
  farm: { name: 'Farm', packages: ['@farmfe/core'], build: 'farm build', ...page('dist') },
  parcel: {
    name: 'Parcel',
    packages: ['parcel', 'parcel-bundler'],
    build: ({ files }) => `parcel build ${files.has('index.html') ? 'index.html' : 'src/index.html'}`,
    ...page('dist'),
  },
  snowpack: { name: 'Snowpack', packages: ['snowpack'], build: 'snowpack build', ...page('build') },
  wmr: { name: 'WMR', packages: ['wmr'], build: 'wmr build', ...page('dist') },
  webpack: {
    name: 'webpack',
    packages: ['webpack-dev-server', 'webpack-cli', 'webpack'],
    build: 'webpack --mode production',
    ...page('dist', 'build', 'public'),
  },
  rspack: { name: 'Rspack', packages: ['@rspack/cli'], build: 'rspack build', ...page('dist') },
  brunch: { name: 'Brunch', packages: ['brunch'], build: 'brunch build --production', ...page('public') },
  rollup: { name: 'Rollup', packages: ['rollup'], ...page('public', 'dist', 'build') },
  // Only the preview's server runs an application of this kind outside its platform.
  workers: {
    name: 'Cloudflare Workers',
    packages: ['wrangler'],
    starts: ({ files, manifest }) => {
      const script = [manifest.scripts.dev, manifest.scripts.start].find((text) => /^wrangler dev\b/.test(text ?? ''));
      const isOne = script !== undefined || ['wrangler.toml', 'wrangler.json', 'wrangler.jsonc'].some(files.has);
      return isOne ? [preview(`${script ?? 'wrangler dev'} --ip 0.0.0.0 --port ${PORT}`)] : [];
    },
    isForeign: true,
    environment: { WRANGLER_SEND_METRICS: 'false' },
  },
  // Libraries of servers
  fastify: { name: 'Fastify', packages: ['fastify'], isLibrary: true, environment: { FASTIFY_ADDRESS: '0.0.0.0' } },
  express: { name: 'Express', packages: ['express'], isLibrary: true },
  koa: { name: 'Koa', packages: ['koa'], isLibrary: true },
  hono: { name: 'Hono', packages: ['hono'], isLibrary: true },
  elysia: { name: 'Elysia', packages: ['elysia'], isLibrary: true },
  hapi: { name: 'hapi', packages: ['@hapi/hapi'], isLibrary: true },
  feathers: { name: 'Feathers', packages: ['@feathersjs/feathers'], isLibrary: true },
  loopback: { name: 'LoopBack', packages: ['@loopback/core'], isLibrary: true },
  sails: { name: 'Sails', packages: ['sails'], isLibrary: true },
  restify: { name: 'Restify', packages: ['restify'], isLibrary: true },
  polka: { name: 'Polka', packages: ['polka'], isLibrary: true },
  apollo: { name: 'Apollo Server', packages: ['@apollo/server', 'apollo-server', 'graphql-yoga'], isLibrary: true },
  'socket.io': { name: 'Socket.IO', packages: ['socket.io', 'ws', 'h3', 'micro'], isLibrary: true },
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

function hasScript({ manifest }: Application, name: string): boolean {
  return Object.hasOwn(manifest.scripts, name);
}

/** What `nest build` writes, without `.js`. An application of a Nest monorepo is below dist/apps. */
function nestFiles(config: string | undefined): string[] {
  const entry = property(config ?? '', 'entryFile') ?? 'main';
  const root = property(config ?? '', 'sourceRoot') ?? '';
  const own = /^apps\/[\w.-]+/.exec(root)?.[0];
  const files = [...(own === undefined ? [] : [`dist/${own}/main`]), `dist/${entry}`, `dist/src/${entry}`];
  return files.filter(plain);
}

/** `root` is relative to the project, `outDir` to `root`. */
function viteFolders(config: string): string[] {
  const root = property(config, 'root');
  const out = property(config, 'outDir');
  const inside = root === null || !plain(root) ? '' : `${root}/`;
  return [...(out === null ? [] : [`${inside}${out}`, out]), `${inside}dist`, 'dist', 'dist/client'];
}

/** A path without characters that a shell reads. */
function plain(path: string): boolean {
  return /^[\w./@-]+$/.test(path);
}
