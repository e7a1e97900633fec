/**
 * Programs whose first argument decides what they do. `''` stands for a missing first argument or an option. `'*'`
 * stands for every first argument, and for a missing one.
 */
export const PROGRAMS: Readonly<Record<string, { development?: readonly string[]; preview?: readonly string[] }>> = {
  vite: { development: ['', 'dev', 'serve'], preview: ['preview'] },
  'rolldown-vite': { development: ['', 'dev', 'serve'], preview: ['preview'] },
  vinxi: { development: ['dev'] },
  'react-scripts': { development: ['start'] },
  'react-app-rewired': { development: ['start'] },
  craco: { development: ['start'] },
  'vue-cli-service': { development: ['serve', ''] },
  astro: { development: ['', 'dev', 'start'], preview: ['preview'] },
  next: { development: ['', 'dev'] },
  blitz: { development: ['dev'] },
  nuxt: { development: ['', 'dev'], preview: ['preview'] },
  nuxi: { development: ['dev'], preview: ['preview'] },
  ng: { development: ['serve', 's', 'dev'] },
  nx: { development: ['serve', 'dev'] },
  gatsby: { development: ['develop'], preview: ['serve'] },
  webpack: { development: ['serve', 's'] },
  'webpack-dev-server': { development: ['*'] },
  rspack: { development: ['serve', 'dev'], preview: ['preview'] },
  rsbuild: { development: ['dev'], preview: ['preview'] },
  parcel: { development: ['', 'serve', 'watch'] },
  docusaurus: { development: ['start'], preview: ['serve'] },
  vitepress: { development: ['', 'dev'], preview: ['preview', 'serve'] },
  vuepress: { development: ['dev'] },
  hexo: { development: ['server', 's'] },
  'ember-cli': { development: ['serve', 's'] },
  ember: { development: ['serve', 's', 'server'] },
  expo: { development: ['start', ''] },
  quasar: { development: ['dev'] },
  gridsome: { development: ['develop'] },
  stencil: { development: ['--dev'] },
  'react-router': { development: ['dev'] },
  remix: { development: ['dev', 'watch', 'vite:dev'] },
  qwik: { development: ['dev'] },
  waku: { development: ['dev'] },
  vike: { development: ['dev', ''], preview: ['preview'] },
  'solid-start': { development: ['dev'] },
  snowpack: { development: ['dev'] },
  wmr: { development: ['', 'start'], preview: ['serve'] },
  preact: { development: ['watch'] },
  umi: { development: ['dev', 'start'] },
  max: { development: ['dev'] },
  slidev: { development: ['*'] },
  'start-storybook': { development: ['*'] },
  storybook: { development: ['dev'] },
  observable: { development: ['preview'] },
  nitro: { development: ['dev'], preview: ['preview'] },
  nitropack: { development: ['dev'], preview: ['preview'] },
  wrangler: { development: ['dev', 'pages'] },
  netlify: { development: ['dev'] },
  vercel: { development: ['dev'] },
  strapi: { development: ['develop', 'dev'] },
  keystone: { development: ['dev'] },
  payload: { development: ['dev'] },
  medusa: { development: ['develop'] },
  mastra: { development: ['dev'] },
  'live-server': { development: ['*'] },
  'lite-server': { development: ['*'] },
  'browser-sync': { development: ['*'] },
  five: { development: ['server'] },
  reload: { development: ['*'] },
  budo: { development: ['*'] },
  'elm-live': { development: ['*'] },
  'es-dev-server': { development: ['*'] },
  'web-dev-server': { development: ['*'] },
  wds: { development: ['*'] },
  farm: { development: ['', 'start', 'dev'], preview: ['preview'] },
  // File servers that no npm package contains.
  caddy: { preview: ['run', 'start', 'file-server'] },
  nginx: { preview: [''] },
  gulp: { development: ['', 'watch', 'serve', 'dev', 'start', 'default', 'server'] },
  grunt: { development: ['', 'default', 'serve', 'watch', 'server', 'dev'] },
};

/** Options that make a program a development server, as in `nest start --watch`. */
export const WATCHING = new Set(['--watch', '-w', '--serve', '--hot', '--live-reload', '--watchAll']);
/** Programs that are development servers only with an option of `WATCHING`. */
export const OPTION_DECIDES = new Set([
  'eleventy',
  '@11ty/eleventy',
  'nest',
  'rollup',
  'tsc',
  'tsup',
  'fastify',
  'adonis',
]);
export const WATCHERS = new Set(['nodemon', 'node-dev', 'ts-node-dev', 'tsnd', 'supervisor', 'pm2-dev', 'forever']);
/** Options of watchers that take the next word as their value. */
export const VALUED =
  /^(-w|--watch|-e|--ext|-i|--ignore|-d|--delay|-C|--cwd|--signal|-V|--config|--poll|--ignore-watch|--debounce|--project|-P|-r|--require)$/;
export const FOREVER_VALUED =
  /^(-m|-l|-o|-e|-c|--uid|--killSignal|--minUptime|--spinSleepTime|--sourceDir|--workingDir|--pidFile|--watchDirectory)$/;
