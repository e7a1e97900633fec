import { type FrameworkProject, listens, PORT, server } from './project.js';

const start = (command: string, more: object = {}) => server(PORT, { scripts: { start: command }, ...more });
const names = (major: number, fields: object): FrameworkProject['files'] => ({
  'package.json': JSON.stringify({ scripts: { start: 'node server.js' }, ...fields }),
  'server.js': `require('node:http').createServer((_, response) => response.end('own page ' + process.version)).listen(${PORT});\n`,
  ...(Object.keys(fields).length === 0 ? { '.nvmrc': `v${major}\n` } : {}),
});

export const START_PROJECTS: readonly FrameworkProject[] = [
  {
    name: 'nodemon as start',
    files: start('nodemon server.js', { devDependencies: { nodemon: '3' } }),
  },
  {
    name: 'Lock file out of date',
    manager: 'none',
    files: {
      ...start('node server.js', { dependencies: { 'is-number': '7.0.0' } }),
      'package-lock.json':
        '{ "name": "app", "lockfileVersion": 3, "requires": true, "packages": { "": { "name": "app" } } }',
    },
  },
  {
    name: 'A file of variables that nobody commits',
    files: start('node --env-file=.env server.js'),
  },
  { name: 'Ignores PORT: 3000', files: server('3000') },
  { name: 'Ignores PORT: 8080', files: server('8080') },
  { name: 'Ignores PORT: 5000', files: server('5000') },
  { name: 'Listens on loopback', files: server(`${PORT}, '127.0.0.1'`) },
  { name: 'Listens on ::1', files: server("3000, '::1'") },
  {
    name: 'http-server as start',
    files: {
      'package.json': JSON.stringify({
        scripts: { start: 'http-server ./public' },
        dependencies: { 'http-server': '14' },
      }),
      'public/index.html': 'own page',
    },
  },
  {
    name: 'serve as start',
    files: {
      'package.json': JSON.stringify({
        scripts: { build: 'mkdir -p build && cp page.html build/index.html', start: 'serve -s build' },
        dependencies: { serve: '14' },
      }),
      'page.html': 'own page',
    },
    route: '/some/route',
  },
  {
    name: 'Vite, serve on a fixed port as start',
    files: {
      'package.json': JSON.stringify({
        scripts: { build: 'vite build', start: 'serve -s dist -l 5000' },
        dependencies: { serve: '14' },
        devDependencies: { vite: '6' },
      }),
      'index.html': '<!doctype html><p>own page</p>',
    },
  },
  {
    name: 'concurrently as start',
    files: {
      ...start('concurrently "npm:server" "npm:ticker"', { dependencies: { concurrently: '9' } }),
      'package.json': JSON.stringify({
        scripts: {
          start: 'concurrently "npm:server" "npm:ticker"',
          server: 'node server.js',
          ticker: 'node -e "setInterval(() => {}, 1000)"',
        },
        dependencies: { concurrently: '9' },
      }),
    },
  },
  {
    name: 'concurrently with a development server of pages',
    files: {
      ...server(PORT),
      'package.json': JSON.stringify({
        scripts: {
          start: 'concurrently "npm run server" "npm run client"',
          server: 'nodemon server.js',
          client: 'vite',
          build: 'vite build',
        },
        dependencies: { express: '4' },
        devDependencies: { concurrently: '9', nodemon: '3', vite: '6' },
      }),
      'server.js':
        "const express = require('express');\nexpress().use(express.static('dist')).listen(process.env.PORT || 3000);\n",
      'index.html': '<!doctype html><p>own page</p>',
    },
  },
  { name: 'pm2 start', files: start('pm2 start server.js', { dependencies: { pm2: '6' } }) },
  {
    name: 'pm2-runtime with a file of applications',
    files: {
      ...start('pm2-runtime start ecosystem.config.js', { dependencies: { pm2: '6' } }),
      'ecosystem.config.js':
        "module.exports = { apps: [{ name: 'app', script: './server.js', instances: 2, exec_mode: 'cluster' }] };\n",
    },
  },
  {
    name: 'pm2 start with a file of applications',
    files: {
      ...start('pm2 start ecosystem.config.js --env production', { dependencies: { pm2: '6' } }),
      'ecosystem.config.js': "module.exports = { apps: [{ name: 'app', script: './server.js' }] };\n",
    },
  },
  { name: 'forever as start', files: start('forever server.js', { dependencies: { forever: '4' } }) },
  {
    name: 'forever start',
    files: start('forever start server.js', { dependencies: { forever: '4' } }),
  },
  {
    name: 'Cluster of processes',
    files: {
      ...start('node cluster.js'),
      'cluster.js':
        "const cluster = require('node:cluster');\nif (cluster.isPrimary) { for (let at = 0; at < require('node:os').availableParallelism(); at++) cluster.fork(); } else require('./server.js');\n",
    },
  },
  {
    name: 'TypeScript without its types removed before',
    files: {
      'package.json': JSON.stringify({
        type: 'module',
        engines: { node: '>=22.6' },
        scripts: { start: 'node --experimental-strip-types server.ts' },
      }),
      'server.ts':
        "import { createServer } from 'node:http';\nconst text: string = 'own page';\ncreateServer((_, response) => response.end(text)).listen(Number(process.env.PORT));\n",
    },
  },
  {
    name: 'TypeScript that node runs, no version named',
    files: {
      'package.json': JSON.stringify({ type: 'module', scripts: { start: 'node server.ts' } }),
      'server.ts':
        "import { createServer } from 'node:http';\nconst text: string = 'own page';\ncreateServer((_, response) => response.end(text)).listen(Number(process.env.PORT));\n",
    },
  },
  {
    name: 'No package.json',
    manager: 'none',
    files: { 'server.js': listens(PORT), 'README.md': 'x' },
  },
  {
    name: 'A Dockerfile beside package.json',
    files: {
      ...start('node server.js', { dependencies: { express: '4' } }),
      Dockerfile: 'FROM node:22\nWORKDIR /app\nCOPY . .\nRUN npm ci\nCMD ["node", "server.js"]\n',
      '.dockerignore': 'node_modules\n',
    },
  },
  {
    name: 'Asks git in its installation and its build',
    files: {
      ...server(PORT),
      'package.json': JSON.stringify({
        scripts: {
          prepare: 'git config core.hooksPath .githooks',
          build: "node -e \"fs.writeFileSync('version', child_process.execSync('git rev-parse --short HEAD'))\"",
          start: 'node server.js',
        },
      }),
    },
  },
  {
    name: 'npx serve, not installed',
    files: {
      'package.json': JSON.stringify({
        scripts: { build: 'mkdir www && cp page.html www/index.html', start: 'npx serve -s www' },
      }),
      'page.html': 'own page',
    },
    route: '/some/route',
  },
  {
    name: 'A Procfile with several processes',
    files: { ...server(PORT), Procfile: 'release: node -e 1\nweb: node server.js\nworker: node -e 2\n' },
  },
  { name: 'Node.js 18 by engines', files: names(18, { engines: { node: '18.x' } }), page: /own page v18/ },
  { name: 'Node.js 22 by .nvmrc', files: names(22, {}), page: /own page v22/ },
  { name: 'Node.js 24 by volta', files: names(24, { volta: { node: '24.0.0' } }), page: /own page v24/ },
  {
    name: 'Node.js LTS by its name',
    files: {
      ...server(PORT),
      '.nvmrc': 'lts/jod\n',
      'server.js': `require('node:http').createServer((_, response) => response.end('own page ' + process.version)).listen(${PORT});\n`,
    },
    page: /own page v22/,
  },
];
