import { type FrameworkRow, PORT, preview } from './framework-row.js';
import { SERVER_FRAMEWORKS } from './server-frameworks.js';
import { SITE_FRAMEWORKS } from './site-frameworks.js';

/** All frameworks in order of precedence: frameworks that contain others come first, server libraries last. */
export const FRAMEWORKS: Readonly<Record<string, FrameworkRow>> = {
  ...SERVER_FRAMEWORKS,
  ...SITE_FRAMEWORKS,
  // Outside of Cloudflare, only the preview server can run a Workers application.
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
  egg: { name: 'Egg.js', packages: ['egg'], isLibrary: true },
  connect: { name: 'Connect', packages: ['connect', '@tinyhttp/app', 'hyper-express'], isLibrary: true },
  'socket.io': { name: 'Socket.IO', packages: ['socket.io', 'ws', 'h3', 'micro'], isLibrary: true },
};

/** Packages of frameworks and build tools. They fail on an unsuitable version of Node.js; other packages only warn. */
export const DEMANDING_PACKAGES: ReadonlySet<string> = new Set(
  Object.values(FRAMEWORKS).flatMap(({ packages, isLibrary }) => (isLibrary === true ? [] : packages)),
);
