import { type Files, packageJson } from '../support/repositories.js';

/** A project that is made and deployed with nothing but its address and kind. */
export interface FrameworkProject {
  name: string;
  /** The generator and its arguments, as `npm exec` takes them; `.` is the project's folder. None if files are all. */
  generator?: readonly string[];
  /** Files written over what the generator made. */
  files?: Files;
  /** Writes the lock file of this package manager; npm's own if it is absent. */
  manager?: 'npm' | 'pnpm' | 'yarn' | 'bun' | 'none';
  kind?: 'web' | 'static';
  rootDirectory?: string;
  /** What its own page contains. */
  page: RegExp;
  /** A path that no file has and that the single page must answer. */
  route?: string;
}

const react = ['create-vite@6', '.', '--template', 'react'];
const listens = (argument: string) =>
  `require('node:http').createServer((_, response) => response.end('own page')).listen(${argument});\n`;
const server = (argument: string, fields: object = { scripts: { start: 'node server.js' } }): Files => ({
  'package.json': packageJson(fields),
  'server.js': listens(argument),
});
const PORT = 'process.env.PORT';

/** The versions are the last ones whose generators run on Node 20. */
export const PROJECTS: readonly FrameworkProject[] = [
  { name: 'Vite, React', generator: react, page: /<div id="root">/, route: '/some/route' },
  {
    name: 'Vite, Vue, pnpm',
    generator: ['create-vite@6', '.', '--template', 'vue-ts'],
    manager: 'pnpm',
    page: /<div id="app">/,
  },
  {
    name: 'Vite, Svelte, yarn',
    generator: ['create-vite@6', '.', '--template', 'svelte'],
    manager: 'yarn',
    page: /<div id="app">/,
  },
  {
    name: 'Vite, vanilla, as a static service',
    generator: ['create-vite@6', '.', '--template', 'vanilla'],
    kind: 'static',
    page: /<div id="app">/,
  },
  {
    name: 'Vite, Preact, bun',
    generator: ['create-vite@6', '.', '--template', 'preact'],
    manager: 'bun',
    page: /<div id="app">/,
  },
  {
    name: 'Next.js',
    generator: [
      'create-next-app@15',
      '.',
      '--yes',
      '--app',
      '--js',
      '--no-tailwind',
      '--no-eslint',
      '--no-src-dir',
      '--import-alias',
      '@/*',
      '--skip-install',
      '--disable-git',
      '--no-turbopack',
    ],
    files: {
      'app/layout.js': 'export default ({ children }) => <html><body>{children}</body></html>;\n',
      'app/page.js': 'export default () => <main>own page</main>;\n',
      'app/page.module.css': '',
    },
    page: /own page/,
  },
  {
    name: 'Next.js, output: export',
    files: {
      'package.json': packageJson({
        scripts: { dev: 'next dev', build: 'next build', start: 'next start' },
        dependencies: { next: '15', react: '19', 'react-dom': '19' },
      }),
      'next.config.mjs': "export default { output: 'export' };\n",
      'pages/index.js': 'export default () => <main>own page</main>;\n',
      'pages/about.js': 'export default () => <main>about</main>;\n',
    },
    page: /own page/,
    route: '/about',
  },
  {
    name: 'React Router',
    files: {
      'package.json': packageJson({
        type: 'module',
        scripts: {
          dev: 'react-router dev',
          build: 'react-router build',
          start: 'react-router-serve ./build/server/index.js',
        },
        dependencies: {
          '@react-router/node': '7',
          '@react-router/serve': '7',
          isbot: '5',
          react: '19',
          'react-dom': '19',
          'react-router': '7',
        },
        devDependencies: { '@react-router/dev': '7', vite: '6' },
      }),
      'vite.config.js':
        "import { reactRouter } from '@react-router/dev/vite';\nexport default { plugins: [reactRouter()] };\n",
      'app/routes.js':
        "import { index } from '@react-router/dev/routes';\nexport default [index('routes/home.jsx')];\n",
      'app/routes/home.jsx': 'export default () => <main>own page</main>;\n',
      'app/root.jsx':
        "import { Outlet, Scripts } from 'react-router';\nexport default () => <html><body><Outlet /><Scripts /></body></html>;\n",
    },
    page: /own page/,
  },
  {
    name: 'Remix',
    files: {
      'package.json': packageJson({
        type: 'module',
        sideEffects: false,
        scripts: { dev: 'remix vite:dev', build: 'remix vite:build', start: 'remix-serve ./build/server/index.js' },
        dependencies: {
          '@remix-run/node': '2',
          '@remix-run/react': '2',
          '@remix-run/serve': '2',
          isbot: '4',
          react: '18',
          'react-dom': '18',
        },
        devDependencies: { '@remix-run/dev': '2', vite: '5' },
      }),
      'vite.config.js': "import { vitePlugin } from '@remix-run/dev';\nexport default { plugins: [vitePlugin()] };\n",
      'app/routes/_index.jsx': 'export default function Index() { return <main>own page</main>; }\n',
      'app/root.jsx':
        "import { Outlet, Scripts } from '@remix-run/react';\nexport default function App() { return <html><body><Outlet /><Scripts /></body></html>; }\n",
    },
    page: /own page/,
  },
  {
    name: 'Astro',
    files: {
      'package.json': packageJson({
        type: 'module',
        scripts: { dev: 'astro dev', start: 'astro dev', build: 'astro build', preview: 'astro preview' },
        dependencies: { astro: '5' },
      }),
      'src/pages/index.astro': '<main>own page</main>\n',
    },
    page: /own page/,
  },
  {
    name: 'Astro, Node adapter',
    files: {
      'package.json': packageJson({
        type: 'module',
        scripts: { dev: 'astro dev', build: 'astro build' },
        dependencies: { astro: '5', '@astrojs/node': '9' },
      }),
      'astro.config.mjs':
        "import node from '@astrojs/node';\nexport default { output: 'server', adapter: node({ mode: 'standalone' }) };\n",
      'src/pages/index.astro': '<main>own page</main>\n',
    },
    page: /own page/,
  },
  {
    name: 'Nuxt',
    files: {
      'package.json': packageJson({
        type: 'module',
        scripts: {
          build: 'nuxt build',
          dev: 'nuxt dev',
          generate: 'nuxt generate',
          preview: 'nuxt preview',
          postinstall: 'nuxt prepare',
        },
        dependencies: { nuxt: '3.17', vue: '3' },
      }),
      'nuxt.config.ts': "export default defineNuxtConfig({ compatibilityDate: '2025-05-01', telemetry: false });\n",
      'app.vue': '<template><main>own page</main></template>\n',
    },
    page: /own page/,
  },
  {
    name: 'SvelteKit, adapter-auto',
    generator: ['sv@0.8', 'create', '.', '--template', 'minimal', '--types', 'ts', '--no-add-ons', '--no-install'],
    page: /SvelteKit/,
  },
  {
    name: 'NestJS',
    generator: [
      '@nestjs/cli@11',
      'new',
      'app',
      '--directory',
      '.',
      '--package-manager',
      'npm',
      '--skip-install',
      '--skip-git',
    ],
    page: /Hello World!/,
  },
  { name: 'Express', generator: ['express-generator@4', '--force', '--no-view', '.'], page: /Express/ },
  {
    name: 'Hono',
    files: {
      'package.json': packageJson({
        type: 'module',
        scripts: { dev: 'tsx watch src/index.ts', build: 'tsc', start: 'node dist/index.js' },
        dependencies: { hono: '4', '@hono/node-server': '1' },
        devDependencies: { tsx: '4', typescript: '5', '@types/node': '20' },
      }),
      'tsconfig.json':
        '{ "compilerOptions": { "target": "ESNext", "module": "NodeNext", "strict": true, "skipLibCheck": true, "types": ["node"], "outDir": "./dist" }, "include": ["src"] }',
      'src/index.ts':
        "import { serve } from '@hono/node-server';\nimport { Hono } from 'hono';\nconst app = new Hono().get('/', (c) => c.text('own page'));\nserve({ fetch: app.fetch, port: Number(process.env.PORT ?? 3000) });\n",
    },
    page: /own page/,
  },
  { name: 'Fastify', generator: ['fastify-cli@7', 'generate', '.', '--esm'], page: /root/ },
  {
    name: 'Docusaurus',
    generator: ['create-docusaurus@3', '.', 'classic', '--javascript', '--skip-install'],
    page: /My Site/,
  },
  {
    name: 'Angular',
    generator: [
      '@angular/cli@19',
      'new',
      'app',
      '--directory',
      '.',
      '--defaults',
      '--skip-install',
      '--skip-git',
      '--ssr=false',
      '--style=css',
    ],
    page: /<app-root>/,
    route: '/some/route',
  },
  {
    name: 'Angular, server rendering',
    generator: [
      '@angular/cli@19',
      'new',
      'app',
      '--directory',
      '.',
      '--defaults',
      '--skip-install',
      '--skip-git',
      '--ssr',
      '--style=css',
    ],
    page: /Hello, app/,
  },
  { name: 'Solid', generator: ['create-vite@6', '.', '--template', 'solid'], page: /<div id="root">/ },
  { name: 'Qwik', generator: ['create-qwik@1', 'empty', '.'], page: /Qwik/ },
  {
    name: 'Vue CLI',
    files: {
      'package.json': packageJson({
        scripts: { serve: 'vue-cli-service serve', build: 'vue-cli-service build' },
        dependencies: { vue: '3' },
        devDependencies: { '@vue/cli-service': '5' },
      }),
      'src/main.js': "import { createApp } from 'vue';\ncreateApp({ template: 'x' }).mount('#app');\n",
      'public/index.html': '<div id="app">own page</div>',
    },
    page: /own page/,
  },
  {
    name: 'Create React App',
    files: {
      'package.json': packageJson({
        scripts: { start: 'react-scripts start', build: 'react-scripts build' },
        dependencies: { react: '18', 'react-dom': '18', 'react-scripts': '5' },
      }),
      'src/index.js':
        "import { createRoot } from 'react-dom/client';\ncreateRoot(document.getElementById('root')).render(<p>x</p>);\n",
      'public/index.html': '<!doctype html><title>own page</title><div id="root"></div>',
    },
    page: /own page/,
  },
  {
    name: 'Eleventy',
    files: {
      'package.json': packageJson({
        scripts: { start: 'eleventy --serve', build: 'eleventy' },
        devDependencies: { '@11ty/eleventy': '3' },
      }),
      'index.md': '# own page\n',
    },
    page: /own page/,
  },
  {
    name: 'VitePress',
    files: {
      'package.json': packageJson({
        scripts: { 'docs:dev': 'vitepress dev docs', 'docs:build': 'vitepress build docs' },
        devDependencies: { vitepress: '1' },
      }),
      'docs/index.md': '# own page\n',
    },
    page: /own page/,
  },
  {
    name: 'Gatsby',
    files: {
      'package.json': packageJson({
        scripts: { start: 'gatsby develop', build: 'gatsby build' },
        dependencies: { gatsby: '5', react: '18', 'react-dom': '18' },
      }),
      'src/pages/index.js': "import * as React from 'react';\nexport default () => <main>own page</main>;\n",
    },
    page: /own page/,
  },
  {
    name: 'Parcel',
    files: {
      'package.json': packageJson({ scripts: { start: 'parcel index.html' }, devDependencies: { parcel: '2' } }),
      'index.html': '<!doctype html><p>own page</p>',
    },
    page: /own page/,
  },
  {
    name: 'webpack',
    files: {
      'package.json': packageJson({
        scripts: { start: 'webpack serve', build: 'webpack' },
        devDependencies: { webpack: '5', 'webpack-cli': '6', 'webpack-dev-server': '5', 'html-webpack-plugin': '5' },
      }),
      'src/index.js': 'console.log(1)\n',
      'webpack.config.js':
        "const Html = require('html-webpack-plugin');\nmodule.exports = { mode: 'production', plugins: [new Html({ title: 'own page' })] };\n",
    },
    page: /own page/,
  },
  {
    name: 'nodemon as start',
    files: { ...server(PORT, { scripts: { start: 'nodemon server.js' }, devDependencies: { nodemon: '3' } }) },
    page: /own page/,
  },
  {
    name: 'Create React App 3, yarn',
    manager: 'yarn',
    files: {
      'package.json': packageJson({
        scripts: { start: 'react-scripts start', build: 'react-scripts build' },
        dependencies: { react: '16', 'react-dom': '16', 'react-scripts': '3.4.4', express: '4' },
      }),
      'src/index.js': "import { render } from 'react-dom';\nrender('x', document.getElementById('root'));\n",
      'public/index.html': '<!doctype html><title>own page</title><div id="root"></div>',
    },
    page: /own page/,
  },
  {
    name: 'Lock file out of date',
    manager: 'none',
    files: {
      ...server(PORT, { scripts: { start: 'node server.js' }, dependencies: { 'is-number': '7.0.0' } }),
      'package-lock.json':
        '{ "name": "app", "lockfileVersion": 3, "requires": true, "packages": { "": { "name": "app" } } }',
    },
    page: /own page/,
  },
  {
    name: 'A file of variables that nobody commits',
    files: server(PORT, { scripts: { start: 'node --env-file=.env server.js' } }),
    page: /own page/,
  },
  {
    name: 'Cloudflare Workers, Hono',
    files: {
      'package.json': packageJson({
        type: 'module',
        scripts: { dev: 'wrangler dev', deploy: 'wrangler deploy --minify' },
        dependencies: { hono: '4' },
        devDependencies: { wrangler: '4' },
      }),
      'wrangler.jsonc': '{ "name": "app", "main": "src/index.js", "compatibility_date": "2025-05-01" }',
      'src/index.js': "import { Hono } from 'hono';\nexport default new Hono().get('/', (c) => c.text('own page'));\n",
    },
    page: /own page/,
  },
  { name: 'A site without a build', files: { 'index.html': 'own page' }, manager: 'none', page: /own page/ },
  {
    name: 'A site in public',
    files: { 'public/index.html': 'own page', 'README.md': 'x' },
    manager: 'none',
    page: /own page/,
  },
  { name: 'Ignores PORT: 3000', files: server('3000'), page: /own page/ },
  { name: 'Ignores PORT: 8080', files: server('8080'), page: /own page/ },
  { name: 'Ignores PORT: 5000', files: server('5000'), page: /own page/ },
  { name: 'Listens on loopback', files: server(`${PORT}, '127.0.0.1'`), page: /own page/ },
  {
    name: 'npm workspaces',
    files: {
      'package.json': packageJson({ workspaces: ['apps/*', 'packages/*'] }),
      'apps/web/package.json': packageJson({
        name: 'web',
        scripts: { build: 'vite build' },
        dependencies: { words: '*' },
        devDependencies: { vite: '6' },
      }),
      'apps/web/index.html': '<!doctype html><p>own page</p><script type="module" src="/main.js"></script>',
      'apps/web/main.js': "import { word } from 'words';\ndocument.title = word;\n",
      'packages/words/package.json': packageJson({
        name: 'words',
        main: 'built.js',
        scripts: { build: "node -e \"fs.writeFileSync('built.js', 'export const word = 1')\"" },
      }),
    },
    page: /own page/,
  },
  {
    name: 'Frontend and backend',
    manager: 'none',
    files: {
      'backend/package.json': packageJson({ scripts: { start: 'node server.js' }, dependencies: { express: '4' } }),
      'backend/server.js': listens(PORT),
      'frontend/package.json': packageJson({ scripts: { build: 'vite build' }, devDependencies: { vite: '6' } }),
      'frontend/index.html': '<!doctype html><p>own page</p>',
    },
    page: /own page/,
  },
  {
    name: 'Nx, its application in one folder',
    files: {
      'package.json': packageJson({ workspaces: ['apps/*'], devDependencies: { nx: '20', vite: '6' } }),
      'nx.json': '{ "plugins": ["@nx/vite/plugin"] }',
      'apps/shop/package.json': packageJson({ name: 'shop' }),
      'apps/shop/vite.config.mjs': 'export default {};\n',
      'apps/shop/index.html': '<!doctype html><p>own page</p>',
    },
    page: /own page/,
  },
  {
    name: 'pnpm workspaces, Turborepo',
    rootDirectory: 'apps/api',
    manager: 'pnpm',
    files: {
      'package.json': packageJson({ packageManager: 'pnpm@9.15.0', devDependencies: { turbo: '2' } }),
      'pnpm-workspace.yaml': 'packages:\n  - "apps/*"\n  - "packages/*"\n',
      'turbo.json': '{ "tasks": { "build": { "dependsOn": ["^build"], "outputs": ["built.js"] } } }',
      'apps/api/package.json': packageJson({
        name: 'api',
        scripts: { build: 'node -e 1', start: 'node server.js' },
        dependencies: { words: 'workspace:*', express: '4' },
      }),
      'apps/api/server.js':
        "const { word } = require('words');\nrequire('express')().get('/', (_, response) => response.send(word)).listen(process.env.PORT);\n",
      'packages/words/package.json': packageJson({
        name: 'words',
        main: 'built.js',
        scripts: { build: "node -e \"fs.writeFileSync('built.js', 'exports.word = \\'own page\\'')\"" },
      }),
    },
    page: /own page/,
  },
];
