import { packageJson } from '../support/repositories.js';
import type { FrameworkProject } from './project.js';

const REACT = { react: '19', 'react-dom': '19' };
const RENDERS =
  "import { createRoot } from 'react-dom/client';\ncreateRoot(document.getElementById('root')).render(<p>x</p>);\n";
const PAGE = '<!doctype html><title>own page</title><div id="root"></div>';

export const PAGE_PROJECTS: readonly FrameworkProject[] = [
  {
    name: 'Vite, React, yarn 4',
    manager: 'yarn4',
    generator: 'create-vite@6 . --template react-ts',
    page: /<div id="root">/,
  },
  { name: 'Lit', generator: 'create-vite@6 . --template lit-ts', page: /<my-element>/ },
  {
    name: 'Vue, create-vue',
    generator: 'create-vue@3.16 . --router --ts',
    page: /<div id="app">/,
    route: '/about',
  },
  {
    name: 'Slidev',
    files: {
      'package.json': packageJson({
        type: 'module',
        scripts: { build: 'slidev build', dev: 'slidev --open', export: 'slidev export' },
        dependencies: { '@slidev/cli': '51', '@slidev/theme-default': 'latest', vue: '3' },
      }),
      'slides.md': '---\ntheme: default\ntitle: own page\n---\n\n# own page\n',
    },
  },
  {
    name: 'Ember',
    generator: 'ember-cli@6 new app --directory . --skip-npm --skip-git',
    page: /<title>App/,
  },
  {
    name: 'Storybook alone',
    files: {
      'package.json': packageJson({
        scripts: { storybook: 'storybook dev -p 6006', 'build-storybook': 'storybook build' },
        devDependencies: {
          ...REACT,
          storybook: '9',
          '@storybook/react-vite': '9',
          vite: '6',
          '@vitejs/plugin-react': '4',
        },
      }),
      '.storybook/main.js':
        "export default { stories: ['../src/**/*.stories.jsx'], framework: '@storybook/react-vite', core: { disableTelemetry: true } };\n",
      'src/Button.jsx': 'export const Button = () => <button>own page</button>;\n',
      'src/Button.stories.jsx':
        "import { Button } from './Button.jsx';\nexport default { component: Button };\nexport const Primary = {};\n",
    },
    page: /storybook/i,
  },
  {
    name: 'Vite beside Storybook',
    generator: 'create-vite@6 . --template react',
    files: {
      '.storybook/main.js':
        "export default { stories: ['../src/**/*.stories.jsx'], framework: '@storybook/react-vite' };\n",
    },
    page: /<div id="root">/,
  },
  {
    name: 'Rspack',
    files: {
      'package.json': packageJson({
        scripts: { dev: 'rspack serve', build: 'rspack build', start: 'rspack serve' },
        dependencies: REACT,
        devDependencies: { '@rspack/cli': '1', '@rspack/core': '1', '@rspack/dev-server': '1' },
      }),
      'rspack.config.mjs':
        "import { rspack } from '@rspack/core';\nexport default { entry: './src/main.js', plugins: [new rspack.HtmlRspackPlugin({ template: './index.html' })] };\n",
      'index.html': PAGE,
      'src/main.js': 'document.body.append(1);\n',
    },
    route: '/some/route',
  },
  {
    name: 'Rsbuild',
    files: {
      'package.json': packageJson({
        type: 'module',
        scripts: { dev: 'rsbuild dev --open', build: 'rsbuild build', preview: 'rsbuild preview' },
        dependencies: REACT,
        devDependencies: { '@rsbuild/core': '1', '@rsbuild/plugin-react': '1' },
      }),
      'rsbuild.config.mjs':
        "import { pluginReact } from '@rsbuild/plugin-react';\nexport default { plugins: [pluginReact()], html: { title: 'own page' } };\n",
      'src/index.jsx': RENDERS,
    },
  },
  {
    name: 'VuePress',
    files: {
      'package.json': packageJson({
        type: 'module',
        scripts: { 'docs:build': 'vuepress build docs', 'docs:dev': 'vuepress dev docs' },
        devDependencies: {
          vuepress: '2.0.0-rc.24',
          '@vuepress/bundler-vite': '2.0.0-rc.24',
          '@vuepress/theme-default': '2.0.0-rc.112',
          'sass-embedded': '1',
          vue: '3',
        },
      }),
      'docs/.vuepress/config.js':
        "import { viteBundler } from '@vuepress/bundler-vite';\nimport { defaultTheme } from '@vuepress/theme-default';\nexport default { bundler: viteBundler(), theme: defaultTheme() };\n",
      'docs/README.md': '# own page\n',
    },
  },
  {
    name: 'Quasar',
    files: {
      'package.json': packageJson({
        type: 'module',
        scripts: { dev: 'quasar dev', build: 'quasar build', postinstall: 'quasar prepare' },
        dependencies: { '@quasar/extras': '1', quasar: '2', vue: '3', 'vue-router': '4' },
        devDependencies: { '@quasar/app-vite': '2', autoprefixer: '10', postcss: '8' },
        productName: 'own page',
      }),
      'index.html':
        '<!DOCTYPE html><html><head><title><%= productName %></title></head><body><!-- quasar:entry-point --></body></html>',
      'quasar.config.js':
        "import { defineConfig } from '@quasar/app-vite/wrappers';\nexport default defineConfig(() => ({ build: { vueRouterMode: 'history' }, css: [], framework: {} }));\n",
      'src/App.vue': '<template><router-view /></template>\n',
      'src/router/index.js':
        "import { defineRouter } from '#q-app/wrappers';\nimport { createRouter, createWebHistory } from 'vue-router';\nexport default defineRouter(() => createRouter({ routes: [{ path: '/:all(.*)*', component: { render: () => null } }], history: createWebHistory(process.env.VUE_ROUTER_BASE) }));\n",
    },
    route: '/some/route',
  },
  {
    name: 'Ionic, React',
    files: {
      'package.json': packageJson({
        scripts: { start: 'vite', 'ionic:build': 'npm run build', build: 'vite build' },
        dependencies: { ...REACT, '@ionic/react': '8', '@ionic/core': '8', '@capacitor/core': '7', ionicons: '7' },
        devDependencies: { vite: '6', '@vitejs/plugin-react': '4', '@capacitor/cli': '7' },
      }),
      'ionic.config.json': '{ "name": "app", "integrations": { "capacitor": {} }, "type": "react-vite" }',
      'capacitor.config.json': '{ "appId": "io.ionic.starter", "appName": "app", "webDir": "dist" }',
      'index.html':
        '<!doctype html><title>own page</title><div id="root"></div><script type="module" src="/src/main.jsx"></script>',
      'src/main.jsx':
        "import { IonApp, setupIonicReact } from '@ionic/react';\nimport { createRoot } from 'react-dom/client';\nsetupIonicReact();\ncreateRoot(document.getElementById('root')).render(<IonApp />);\n",
    },
  },
  {
    name: 'Expo, web',
    files: {
      'package.json': packageJson({
        main: 'index.js',
        scripts: {
          start: 'expo start',
          android: 'expo start --android',
          ios: 'expo start --ios',
          web: 'expo start --web',
        },
        dependencies: {
          expo: '~53.0.0',
          react: '19.0.0',
          'react-dom': '19.0.0',
          'react-native': '0.79.5',
          'react-native-web': '^0.20.0',
          '@expo/metro-runtime': '~5.0.4',
        },
        devDependencies: { '@babel/core': '^7.20.0' },
      }),
      'app.json':
        '{ "expo": { "name": "own page", "slug": "app", "version": "1.0.0", "web": { "bundler": "metro" } } }',
      'index.js':
        "import { registerRootComponent } from 'expo';\nimport App from './App';\nregisterRootComponent(App);\n",
      'App.js':
        "import { Text, View } from 'react-native';\nexport default function App() { return <View><Text>own page</Text></View>; }\n",
    },
  },
  {
    name: 'Docusaurus, pnpm',
    manager: 'pnpm',
    generator: 'create-docusaurus@3 . classic --typescript --skip-install',
    page: /My Site/,
  },
  {
    name: 'esbuild by a script',
    files: {
      'package.json': packageJson({
        scripts: { build: 'node build.mjs', start: 'node build.mjs --watch' },
        devDependencies: { esbuild: '0.25' },
      }),
      'build.mjs':
        "import { cpSync } from 'node:fs';\nimport { build } from 'esbuild';\nawait build({ entryPoints: ['src/main.js'], bundle: true, outdir: 'dist' });\ncpSync('index.html', 'dist/index.html');\nif (process.argv.includes('--watch')) setInterval(() => {}, 1000);\n",
      'index.html': '<!doctype html><p>own page</p><script src="main.js"></script>',
      'src/main.js': 'console.log(1);\n',
    },
  },
  {
    name: 'Hexo',
    files: {
      'package.json': packageJson({
        scripts: { build: 'hexo generate', clean: 'hexo clean', server: 'hexo server' },
        hexo: { version: '7.3.0' },
        dependencies: { hexo: '7', 'hexo-renderer-ejs': '2', 'hexo-renderer-marked': '7', 'hexo-generator-index': '4' },
      }),
      '_config.yml': 'title: own page\ntheme: plain\n',
      'themes/plain/layout/index.ejs': '<h1><%= config.title %></h1>\n',
      'source/_posts/first.md': '---\ntitle: first\n---\nx\n',
    },
  },
  {
    name: 'Web components, web-dev-server',
    files: {
      'package.json': packageJson({
        scripts: { start: 'wds --node-resolve --open', build: 'rollup -c' },
        dependencies: { lit: '3' },
        devDependencies: {
          '@web/dev-server': '0.4',
          rollup: '4',
          '@web/rollup-plugin-html': '2',
          '@rollup/plugin-node-resolve': '16',
        },
      }),
      'rollup.config.mjs':
        "import { nodeResolve } from '@rollup/plugin-node-resolve';\nimport { rollupPluginHTML as html } from '@web/rollup-plugin-html';\nexport default { input: 'index.html', output: { dir: 'dist' }, plugins: [html(), nodeResolve()] };\n",
      'index.html': '<!doctype html><p>own page</p><script type="module" src="./main.js"></script>',
      'main.js': "import 'lit';\n",
    },
  },
];
