import { expect } from 'chai';
import { commandUse, fileOf } from '../../../../../workers/builders/detection/start-scripts.js';
import { ownProcessorMs } from '../../../../support/processor-time.js';

const use = (command: string, scripts: Record<string, string> = {}, main: string | null = null) => {
  const found = commandUse(command, scripts, main);
  return found.use === 'watched' ? `watched: ${found.command}` : found.use;
};

describe('What a start script is for', () => {
  it('knows servers for developers', () => {
    for (const command of [
      ...['vite', 'vite --host', 'vite dev --port 3000', 'vite .', 'vite --open --mode ssr'],
      ...['react-scripts start', 'cross-env PORT=3000 react-scripts start', 'astro dev', 'astro'],
      ...['next dev --turbo', 'next', 'nuxt dev', 'nuxt', 'ng serve --open', 'gatsby develop'],
      ...['webpack serve --mode development', 'webpack-dev-server --hot', 'eleventy --serve'],
      ...['npx @11ty/eleventy --serve --quiet', 'npx eleventy --serve', 'parcel index.html'],
      ...['parcel src/index.html --open', 'docusaurus start', 'vitepress dev docs', 'expo start'],
      ...['nest start --watch', 'live-server', 'lite-server', 'browser-sync start --server'],
      ...['NODE_ENV=development npx vite', 'npm run build && vite', './node_modules/.bin/vite'],
      ...['dotenv -e .env -- next dev', 'tsc --watch', 'wrangler dev', 'nodemon -x "node a.js" & vite'],
    ]) {
      expect(use(command), command).to.equal('development');
    }
  });

  it('lets commands of production pass', () => {
    for (const command of [
      ...['node server.js', 'next start', 'next start -p $PORT', 'nuxt start', 'vite build && node server.js'],
      ...['serve -s build', 'http-server dist', 'react-router-serve ./build/server/index.js'],
      ...['NODE_ENV=production node ./bin/www', 'nest start', 'fastify start -l info app.js', 'gatsby build'],
      ...['parcel build index.html', 'ts-node src/index.ts', 'tsx src/index.ts', 'pm2-runtime app.js'],
      ...['strapi start', 'webpack --mode production && node dist', 'astro build'],
    ]) {
      expect(use(command), command).to.equal('production');
    }
  });

  it('knows servers that only show a build', () => {
    for (const command of [
      ...['vite preview', 'astro preview --port 3', 'exec caddy run --config Caddyfile'],
      ...['nginx -g "daemon off;"', 'nuxt preview', 'gatsby serve', 'docusaurus serve'],
    ]) {
      expect(use(command), command).to.equal('preview');
    }
  });

  it('runs watched programs without their watcher', () => {
    for (const [command, plain] of [
      ['nodemon app.js', 'node app.js'],
      ['nodemon -e js,json --watch src ./bin/www', 'node ./bin/www'],
      ['nodemon --exec ts-node src/index.ts', 'ts-node src/index.ts'],
      ['nodemon src/index.ts', 'ts-node src/index.ts'],
      ['ts-node-dev --respawn --transpile-only src/server.ts', 'ts-node src/server.ts'],
      ['tsx watch src/index.ts', 'tsx src/index.ts'],
      ['tsx watch --env-file=.env src/index.ts', 'tsx --env-file=.env src/index.ts'],
      ['node --watch server.js', 'node server.js'],
      ['A="x && y" node --watch --title="my app" server.js', 'node --title="my app" server.js'],
      ['bun run --watch src/index.ts', 'bun run src/index.ts'],
      ['bun --hot src/index.ts', 'bun src/index.ts'],
      ['node --watch-path ./src server.js', 'node server.js'],
      ['forever server.js', 'node server.js'],
      ['forever start -l out.log server.js', 'node server.js'],
      ['tsc && nodemon dist/index.js', 'tsc && node dist/index.js'],
    ] as const) {
      expect(use(command), command).to.equal(`watched: ${plain}`);
    }
    expect(use('nodemon', {}, 'app.js')).to.equal('watched: node app.js');
    expect(use('nodemon')).to.equal('development');
    expect(use('nodemon "$(rm -rf /)"')).to.equal('development');
    expect(use('nodemon dist/index.js && tsc')).to.equal('development');
    expect(use('tsc; nodemon dist/index.js')).to.equal('development');
    expect(use('node build.mjs --watch')).to.equal('development');
  });

  it('follows scripts that run scripts', () => {
    expect(use('npm run dev', { dev: 'vite' })).to.equal('development');
    expect(use('yarn dev', { dev: 'next dev' })).to.equal('development');
    expect(use('pnpm run serve', { serve: 'node x.js' })).to.equal('production');
    expect(use('npm-run-all --parallel watch:*', { 'watch:css': 'sass -w', 'watch:js': 'vite' })).to.equal(
      'development',
    );
    expect(use('concurrently "npm:server" "npm:client"', { server: 'node .', client: 'vite' })).to.equal('development');
    expect(use('concurrently "npm run server" "react-scripts start"', {})).to.equal('development');
    expect(use('npm start', { start: 'npm start' })).to.equal('production');
  });

  it('takes linear time for hostile scripts', () => {
    const began = ownProcessorMs();
    for (const part of ['&& ', 'npx ', '-e ', 'a=b ', '" ', 'npm run x && ', '\\ '])
      use(part.repeat(100_000), { x: part.repeat(1000) });
    expect(ownProcessorMs() - began).to.be.lessThan(5000);
  });

  it('finds the file that a command runs', () => {
    expect(fileOf('node dist/main', {})).to.equal('dist/main');
    expect(fileOf('NODE_ENV=production node -r dotenv/config --enable-source-maps ./dist/index.js', {})).to.equal(
      './dist/index.js',
    );
    expect(fileOf('npm run serve', { serve: 'tsc && node build/x.js' })).to.equal('build/x.js');
    expect(fileOf('next start', {})).to.equal(null);
  });
});
