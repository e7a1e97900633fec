import { type Application, configText, dependsOn, property } from './application.js';
import { type FrameworkRow, folder, PAGES, page, plain, yes } from './framework-row.js';

const VITE = { publish: (app: Application) => viteFolders(configText(app, 'vite.config')), singlePage: yes };

/** Frameworks and tools whose builds write files. The order matters: frameworks that contain others come first. */
export const SITE_FRAMEWORKS: Readonly<Record<string, FrameworkRow>> = {
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
  'create-react-app': {
    name: 'Create React App',
    packages: ['react-scripts'],
    build: 'react-scripts build',
    ...page('build'),
    // With CI=true, every ESLint warning fails the build.
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
  'solid-js': { name: 'SolidJS', packages: [], ...VITE },
  'tanstack-router': { name: 'TanStack Router', packages: [], ...VITE },
  storybook: {
    name: 'Storybook',
    packages: ['storybook', '@storybook/react', '@storybook/vue3', '@storybook/html', '@storybook/web-components'],
    // A project that also has pages of its own is not built as a Storybook, which only shows its components.
    applies: ({ files }) => files.has('.storybook') && !PAGES.some(files.has),
    buildInstead: (app) => (dependsOn(app, 'storybook') ? 'storybook build' : 'build-storybook'),
    ...folder('storybook-static'),
    buildEnvironment: () => ({ STORYBOOK_DISABLE_TELEMETRY: '1' }),
  },
  vite: { name: 'Vite', packages: ['vite', 'rolldown-vite'], build: 'vite build', ...VITE },
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
};

/** Returns the folders to which Vite writes. `root` is relative to the project, `outDir` to `root`. */
function viteFolders(config: string): string[] {
  const root = property(config, 'root');
  const out = property(config, 'outDir');
  const inside = root === null || !plain(root) ? '' : `${root}/`;
  return [...(out === null ? [] : [`${inside}${out}`, out]), `${inside}dist`, 'dist', 'dist/client'];
}
