interface FirstArguments {
  development?: readonly string[];
  preview?: readonly string[];
}

/**
 * Programs whose first argument decides what they do. `''` stands for no argument or an option, `'*'` for any or none.
 */
export const PROGRAMS: Readonly<Record<string, FirstArguments>> = {
  ...each('vite rolldown-vite', { development: ['', 'dev', 'serve'], preview: ['preview'] }),
  ...each('vinxi blitz vuepress quasar react-router qwik waku solid-start snowpack max', { development: ['dev'] }),
  ...each('storybook netlify vercel keystone payload mastra', { development: ['dev'] }),
  ...each('react-scripts react-app-rewired craco', { development: ['start'] }),
  ...each('webpack-dev-server slidev start-storybook live-server lite-server browser-sync', { development: ['*'] }),
  ...each('reload budo elm-live es-dev-server web-dev-server wds', { development: ['*'] }),
  ...each('nuxi rsbuild nitro nitropack', { development: ['dev'], preview: ['preview'] }),
  ...each('gridsome medusa', { development: ['develop'] }),
  'vue-cli-service': { development: ['serve', ''] },
  astro: { development: ['', 'dev', 'start'], preview: ['preview'] },
  next: { development: ['', 'dev'] },
  nuxt: { development: ['', 'dev'], preview: ['preview'] },
  ng: { development: ['serve', 's', 'dev'] },
  nx: { development: ['serve', 'dev'] },
  gatsby: { development: ['develop'], preview: ['serve'] },
  webpack: { development: ['serve', 's'] },
  rspack: { development: ['serve', 'dev'], preview: ['preview'] },
  parcel: { development: ['', 'serve', 'watch'] },
  docusaurus: { development: ['start'], preview: ['serve'] },
  vitepress: { development: ['', 'dev'], preview: ['preview', 'serve'] },
  hexo: { development: ['server', 's'] },
  'ember-cli': { development: ['serve', 's'] },
  ember: { development: ['serve', 's', 'server'] },
  expo: { development: ['start', ''] },
  stencil: { development: ['--dev'] },
  remix: { development: ['dev', 'watch', 'vite:dev'] },
  vike: { development: ['dev', ''], preview: ['preview'] },
  wmr: { development: ['', 'start'], preview: ['serve'] },
  preact: { development: ['watch'] },
  umi: { development: ['dev', 'start'] },
  observable: { development: ['preview'] },
  wrangler: { development: ['dev', 'pages'] },
  strapi: { development: ['develop', 'dev'] },
  five: { development: ['server'] },
  farm: { development: ['', 'start', 'dev'], preview: ['preview'] },
  // File servers that no npm package contains.
  caddy: { preview: ['run', 'start', 'file-server'] },
  nginx: { preview: [''] },
  gulp: { development: ['', 'watch', 'serve', 'dev', 'start', 'default', 'server'] },
  grunt: { development: ['', 'default', 'serve', 'watch', 'server', 'dev'] },
};

function each(names: string, row: FirstArguments): Record<string, FirstArguments> {
  return Object.fromEntries(names.split(' ').map((name) => [name, row]));
}

/** Options that make a program a development server, as in `nest start --watch`. */
export const WATCHING = new Set(['--watch', '-w', '--serve', '--hot', '--live-reload', '--watchAll']);
/** Programs that are development servers only with an option of `WATCHING`. */
export const OPTION_DECIDES = new Set('eleventy @11ty/eleventy nest rollup tsc tsup fastify adonis'.split(' '));
export const WATCHERS = new Set(['nodemon', 'node-dev', 'ts-node-dev', 'tsnd', 'supervisor', 'pm2-dev', 'forever']);
/** Options of watchers that take the next word as their value. */
export const VALUED =
  /^(-w|--watch|-e|--ext|-i|--ignore|-d|--delay|-C|--cwd|--signal|-V|--config|--poll|--ignore-watch|--debounce|--project|-P|-r|--require)$/;
export const FOREVER_VALUED =
  /^(-m|-l|-o|-e|-c|--uid|--killSignal|--minUptime|--spinSleepTime|--sourceDir|--workingDir|--pidFile|--watchDirectory)$/;
