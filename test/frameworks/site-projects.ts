import { packageJson } from '../support/repositories.js';
import type { FrameworkProject } from './project.js';

const react = 'create-vite@6 . --template react';

/** Frameworks and tools whose build writes static files. */
export const SITE_PROJECTS: readonly FrameworkProject[] = [
  { name: 'Vite, React', generator: react, page: /<div id="root">/, route: '/some/route' },
  {
    name: 'Vite, Vue, pnpm',
    generator: 'create-vite@6 . --template vue-ts',
    manager: 'pnpm',
    page: /<div id="app">/,
  },
  {
    name: 'Svelte, Rollup, yarn',
    manager: 'yarn',
    files: {
      'package.json': packageJson({
        type: 'module',
        scripts: { build: 'rollup -c', dev: 'rollup -c -w', start: 'sirv public --no-clear' },
        dependencies: { 'sirv-cli': '2' },
        // Version 4 of rollup has a package for each platform, which a registry may lack and which yarn 1 requires.
        devDependencies: {
          '@rollup/plugin-node-resolve': '15',
          rollup: '3',
          'rollup-plugin-svelte': '7',
          'rollup-plugin-css-only': '4',
          svelte: '4',
        },
      }),
      'rollup.config.js':
        "import resolve from '@rollup/plugin-node-resolve';\nimport css from 'rollup-plugin-css-only';\nimport svelte from 'rollup-plugin-svelte';\nexport default { input: 'src/main.js', output: { format: 'iife', name: 'app', file: 'public/build/bundle.js' }, plugins: [svelte(), css({ output: 'bundle.css' }), resolve({ browser: true, exportConditions: ['svelte'] })] };\n",
      'src/main.js': "import App from './App.svelte';\nexport default new App({ target: document.body });\n",
      'src/App.svelte': '<main>own page</main>\n',
      'public/index.html': '<!doctype html><title>own page</title><script defer src="/build/bundle.js"></script>',
    },
  },
  {
    name: 'Vite, vanilla, as a static service',
    generator: 'create-vite@6 . --template vanilla',
    kind: 'static',
    page: /<div id="app">/,
  },
  {
    name: 'Vite, Preact, bun',
    generator: 'create-vite@6 . --template preact',
    manager: 'bun',
    page: /<div id="app">/,
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
    route: '/about',
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
  },
  {
    name: 'Docusaurus',
    generator: 'create-docusaurus@3 . classic --javascript --skip-install',
    page: /My Site/,
  },
  {
    name: 'Angular',
    generator: '@angular/cli@19 new app --directory . --defaults --skip-install --skip-git --ssr=false --style=css',
    page: /<app-root>/,
    route: '/some/route',
  },
  { name: 'Solid', generator: 'create-vite@6 . --template solid', page: /<div id="root">/ },
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
  },
  {
    name: 'Parcel',
    files: {
      'package.json': packageJson({ scripts: { start: 'parcel index.html' }, devDependencies: { parcel: '2' } }),
      'index.html': '<!doctype html><p>own page</p>',
    },
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
  },
  { name: 'A site without a build', files: { 'index.html': 'own page' }, manager: 'none' },
  {
    name: 'A site in public',
    files: { 'public/index.html': 'own page', 'README.md': 'x' },
    manager: 'none',
  },
];
