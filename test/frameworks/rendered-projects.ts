import { packageJson } from '../support/repositories.js';
import type { FrameworkProject } from './project.js';

const REACT = { react: '19', 'react-dom': '19' };

export const RENDERED_PROJECTS: readonly FrameworkProject[] = [
  {
    name: 'Waku',
    files: {
      'package.json': packageJson({
        type: 'module',
        scripts: { dev: 'waku dev', build: 'waku build', start: 'waku start' },
        dependencies: { ...REACT, 'react-server-dom-webpack': '19', waku: '0.27' },
      }),
      'src/pages/_layout.jsx': 'export default function Layout({ children }) { return <div>{children}</div>; }\n',
      'src/pages/index.jsx':
        "export default async function Home() { return <main>own page</main>; }\nexport const getConfig = async () => ({ render: 'dynamic' });\n",
    },
  },
  {
    name: 'Astro, server output, pnpm',
    manager: 'pnpm',
    files: {
      'package.json': packageJson({
        type: 'module',
        scripts: { dev: 'astro dev', build: 'astro build', preview: 'astro preview', astro: 'astro' },
        dependencies: { astro: '5', '@astrojs/node': '9' },
      }),
      'astro.config.mjs':
        "import node from '@astrojs/node';\nimport { defineConfig } from 'astro/config';\nexport default defineConfig({ output: 'server', adapter: node({ mode: 'standalone' }) });\n",
      'src/pages/index.astro': '---\nconst now = Date.now();\n---\n<main>own page {now}</main>\n',
    },
  },
  {
    name: 'Astro, adapter for another platform',
    files: {
      'package.json': packageJson({
        type: 'module',
        scripts: { dev: 'astro dev', build: 'astro build', preview: 'astro preview' },
        dependencies: { astro: '5', '@astrojs/vercel': '8' },
      }),
      'astro.config.mjs': "import vercel from '@astrojs/vercel';\nexport default { adapter: vercel() };\n",
      'src/pages/index.astro': '<main>own page</main>\n',
    },
  },
  {
    name: 'Nuxt, generated',
    files: {
      'package.json': packageJson({
        type: 'module',
        scripts: { build: 'nuxt generate', dev: 'nuxt dev', postinstall: 'nuxt prepare' },
        dependencies: { nuxt: '3.17', vue: '3' },
        // Newer versions refuse a key that this Nuxt uses for its cache, even without this platform.
        overrides: { unstorage: '1.16.1' },
      }),
      'nuxt.config.ts': "export default defineNuxtConfig({ compatibilityDate: '2025-05-01', telemetry: false });\n",
      'app.vue': '<template><main>own page</main></template>\n',
    },
  },
  {
    name: 'SvelteKit, static adapter',
    files: {
      'package.json': packageJson({
        type: 'module',
        scripts: { dev: 'vite dev', build: 'vite build', preview: 'vite preview' },
        devDependencies: {
          '@sveltejs/adapter-static': '3',
          '@sveltejs/kit': '2',
          '@sveltejs/vite-plugin-svelte': '5',
          svelte: '5',
          vite: '6',
        },
      }),
      'svelte.config.js':
        "import adapter from '@sveltejs/adapter-static';\nexport default { kit: { adapter: adapter({ pages: 'public_html', fallback: '200.html' }) } };\n",
      'vite.config.js': "import { sveltekit } from '@sveltejs/kit/vite';\nexport default { plugins: [sveltekit()] };\n",
      'src/app.html': '<!doctype html><html><head>%sveltekit.head%</head><body>%sveltekit.body%</body></html>',
      'src/routes/+layout.js': 'export const prerender = true;\n',
      'src/routes/+page.svelte': '<main>own page</main>\n',
    },
    route: '/some/route',
  },
  {
    name: 'SvelteKit, adapter for another platform',
    files: {
      'package.json': packageJson({
        type: 'module',
        scripts: { dev: 'vite dev', build: 'vite build', preview: 'vite preview' },
        devDependencies: {
          '@sveltejs/adapter-vercel': '5',
          '@sveltejs/kit': '2',
          '@sveltejs/vite-plugin-svelte': '5',
          svelte: '5',
          vite: '6',
        },
      }),
      'svelte.config.js':
        "import adapter from '@sveltejs/adapter-vercel';\nexport default { kit: { adapter: adapter({ runtime: 'nodejs22.x' }) } };\n",
      'vite.config.js': "import { sveltekit } from '@sveltejs/kit/vite';\nexport default { plugins: [sveltekit()] };\n",
      'src/app.html': '<!doctype html><html><head>%sveltekit.head%</head><body>%sveltekit.body%</body></html>',
      'src/routes/+page.svelte': '<main>own page</main>\n',
    },
  },
  {
    name: 'TanStack Start',
    files: {
      'package.json': packageJson({
        type: 'module',
        scripts: { dev: 'vite dev --port 3000', build: 'vite build', preview: 'vite preview' },
        dependencies: { ...REACT, '@tanstack/react-router': '1', '@tanstack/react-start': '1' },
        devDependencies: { '@vitejs/plugin-react': '5', vite: '7', typescript: '5' },
      }),
      'vite.config.ts':
        "import { tanstackStart } from '@tanstack/react-start/plugin/vite';\nimport react from '@vitejs/plugin-react';\nimport { defineConfig } from 'vite';\nexport default defineConfig({ plugins: [tanstackStart(), react()] });\n",
      'tsconfig.json':
        '{ "compilerOptions": { "jsx": "react-jsx", "module": "ESNext", "moduleResolution": "Bundler", "target": "ES2022", "skipLibCheck": true, "strictNullChecks": true } }',
      'src/router.tsx':
        "import { createRouter } from '@tanstack/react-router';\nimport { routeTree } from './routeTree.gen';\nexport const getRouter = () => createRouter({ routeTree });\n",
      'src/routes/__root.tsx':
        "import { createRootRoute, HeadContent, Outlet, Scripts } from '@tanstack/react-router';\nexport const Route = createRootRoute({ component: () => <html><head><HeadContent /></head><body><Outlet /><Scripts /></body></html> });\n",
      'src/routes/index.tsx':
        "import { createFileRoute } from '@tanstack/react-router';\nexport const Route = createFileRoute('/')({ component: () => <main>own page</main> });\n",
    },
  },
  {
    name: 'TanStack Start, Nitro',
    files: {
      'package.json': packageJson({
        type: 'module',
        scripts: { dev: 'vite dev --port 3000', build: 'vite build', start: 'node .output/server/index.mjs' },
        dependencies: { ...REACT, '@tanstack/react-router': '1', '@tanstack/react-start': '1', nitro: '3.0.1-alpha.2' },
        devDependencies: { '@vitejs/plugin-react': '5', vite: '7', typescript: '5' },
      }),
      'vite.config.ts':
        "import { tanstackStart } from '@tanstack/react-start/plugin/vite';\nimport react from '@vitejs/plugin-react';\nimport { nitro } from 'nitro/vite';\nimport { defineConfig } from 'vite';\nexport default defineConfig({ plugins: [tanstackStart(), nitro(), react()] });\n",
      'src/router.tsx':
        "import { createRouter } from '@tanstack/react-router';\nimport { routeTree } from './routeTree.gen';\nexport const getRouter = () => createRouter({ routeTree });\n",
      'src/routes/__root.tsx':
        "import { createRootRoute, HeadContent, Outlet, Scripts } from '@tanstack/react-router';\nexport const Route = createRootRoute({ component: () => <html><head><HeadContent /></head><body><Outlet /><Scripts /></body></html> });\n",
      'src/routes/index.tsx':
        "import { createFileRoute } from '@tanstack/react-router';\nexport const Route = createFileRoute('/')({ component: () => <main>own page</main> });\n",
    },
  },
  {
    name: 'Vike',
    files: {
      'package.json': packageJson({
        type: 'module',
        scripts: { dev: 'vike dev', build: 'vike build', preview: 'vike build && vike preview' },
        dependencies: { ...REACT, vike: '^0.4.240', 'vike-react': '0.6', '@vitejs/plugin-react': '4', vite: '6' },
      }),
      'vite.config.js':
        "import react from '@vitejs/plugin-react';\nimport vike from 'vike/plugin';\nexport default { plugins: [vike(), react()] };\n",
      'pages/+config.js':
        "import vikeReact from 'vike-react/config';\nexport default { extends: [vikeReact], title: 'app' };\n",
      'pages/index/+Page.jsx': 'export default function Page() { return <main>own page</main>; }\n',
    },
  },
  {
    name: 'Next.js with a server of its own',
    files: {
      'package.json': packageJson({
        scripts: { dev: 'node server.js', build: 'next build', start: 'NODE_ENV=production node server.js' },
        dependencies: { next: '15', ...REACT },
      }),
      'server.js':
        "const { createServer } = require('node:http');\nconst next = require('next');\nconst dev = process.env.NODE_ENV !== 'production';\nconst app = next({ dev });\napp.prepare().then(() => createServer((request, response) => app.getRequestHandler()(request, response)).listen(3000));\n",
      'pages/index.js': 'export default () => <main>own page</main>;\n',
    },
  },
  {
    name: 'Next.js, standalone output',
    manager: 'pnpm',
    files: {
      'package.json': packageJson({
        scripts: { dev: 'next dev', build: 'next build', start: 'next start' },
        dependencies: { next: '15', ...REACT },
      }),
      'next.config.mjs': "export default { output: 'standalone' };\n",
      'app/layout.js': 'export default ({ children }) => <html><body>{children}</body></html>;\n',
      'app/page.js': "export const dynamic = 'force-dynamic';\nexport default () => <main>own page</main>;\n",
    },
  },
];
