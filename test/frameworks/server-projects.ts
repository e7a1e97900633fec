import { packageJson } from '../support/repositories.js';
import type { FrameworkProject } from './project.js';

/** Frameworks with their own server, in the last versions whose generators run on Node.js 20. */
export const SERVER_PROJECTS: readonly FrameworkProject[] = [
  {
    name: 'Next.js',
    generator:
      "create-next-app@15 . --yes --app --js --no-tailwind --no-eslint --no-src-dir --import-alias '@/*' --skip-install --disable-git --no-turbopack",
    files: {
      'app/layout.js': 'export default ({ children }) => <html><body>{children}</body></html>;\n',
      'app/page.js': 'export default () => <main>own page</main>;\n',
      'app/page.module.css': '',
    },
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
  },
  {
    name: 'SvelteKit, adapter-auto',
    generator: 'sv@0.8 create . --template minimal --types ts --no-add-ons --no-install',
    page: /SvelteKit/,
  },
  {
    name: 'NestJS',
    generator: '@nestjs/cli@11 new app --directory . --package-manager npm --skip-install --skip-git',
    page: /Hello World!/,
  },
  { name: 'Express', generator: 'express-generator@4 --force --no-view .', page: /Express/ },
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
  },
  { name: 'Fastify', generator: 'fastify-cli@7 generate . --esm', page: /root/ },
  {
    name: 'Angular, server rendering',
    generator: '@angular/cli@19 new app --directory . --defaults --skip-install --skip-git --ssr --style=css',
    page: /Hello, app/,
  },
  { name: 'Qwik', generator: 'create-qwik@1 empty .', page: /Qwik/ },
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
  },
];
