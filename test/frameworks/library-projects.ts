import { packageJson } from '../support/repositories.js';
import { type FrameworkProject, PORT, server } from './project.js';

const TYPESCRIPT = { typescript: '5', '@types/node': '22' };
const compiled = (more: string) =>
  `{ "compilerOptions": { "target": "ES2022", "module": "NodeNext", "strict": true, "skipLibCheck": true, "esModuleInterop": true, ${more} "outDir": "dist" }, "include": ["src"] }`;

export const LIBRARY_PROJECTS: readonly FrameworkProject[] = [
  {
    name: 'Koa',
    files: {
      'package.json': packageJson({
        scripts: { start: 'node app.js', dev: 'nodemon app.js' },
        dependencies: { koa: '2', '@koa/router': '13' },
        devDependencies: { nodemon: '3' },
      }),
      'app.js':
        "const Koa = require('koa');\nnew Koa().use((context) => { context.body = 'own page'; }).listen(process.env.PORT || 3000);\n",
    },
  },
  {
    name: 'Express, TypeScript, tsx as start',
    files: {
      'package.json': packageJson({
        type: 'module',
        scripts: { start: 'tsx src/index.ts', dev: 'tsx watch src/index.ts', build: 'tsc --noEmit' },
        dependencies: { express: '4' },
        devDependencies: { tsx: '4', '@types/express': '4', ...TYPESCRIPT },
      }),
      'tsconfig.json': compiled(''),
      'src/index.ts':
        "import express from 'express';\nexpress().get('/', (_request, response) => { response.send('own page'); }).listen(process.env.PORT ?? 3000);\n",
    },
  },
  {
    name: 'Express, TypeScript, ts-node as start',
    manager: 'yarn',
    files: {
      'package.json': packageJson({
        scripts: { start: 'ts-node src/index.ts' },
        dependencies: { express: '4' },
        devDependencies: { 'ts-node': '10', '@types/express': '4', ...TYPESCRIPT },
      }),
      'tsconfig.json':
        '{ "compilerOptions": { "target": "ES2022", "module": "CommonJS", "esModuleInterop": true, "strict": true, "skipLibCheck": true } }',
      'src/index.ts':
        "import express from 'express';\nexpress().get('/', (_request, response) => { response.send('own page'); }).listen(process.env.PORT || 3000);\n",
    },
  },
  {
    name: 'Express, TypeScript, a build and nothing that starts it',
    files: {
      'package.json': packageJson({
        main: 'index.js',
        scripts: { build: 'tsc', dev: 'ts-node-dev --respawn src/server.ts' },
        dependencies: { express: '4' },
        devDependencies: { 'ts-node-dev': '2', '@types/express': '4', ...TYPESCRIPT },
      }),
      'tsconfig.json':
        '{ "compilerOptions": { "target": "ES2022", "module": "CommonJS", "esModuleInterop": true, "rootDir": "src", "outDir": "build", "skipLibCheck": true } }',
      'src/server.ts':
        "import express from 'express';\nexpress().get('/', (_request, response) => { response.send('own page'); }).listen(process.env.PORT || 3000);\n",
    },
  },
  {
    name: 'Fastify, TypeScript',
    generator: 'fastify-cli@7 generate . --lang=ts',
    page: /root/,
  },
  {
    name: 'Hono, bun',
    manager: 'bun',
    files: {
      'package.json': packageJson({
        scripts: { dev: 'bun run --hot src/index.ts' },
        dependencies: { hono: '4' },
        devDependencies: { '@types/bun': '1' },
      }),
      'src/index.ts':
        "import { Hono } from 'hono';\nconst app = new Hono();\napp.get('/', (c) => c.text('own page'));\nexport default app;\n",
    },
  },
  {
    name: 'Elysia, bun',
    manager: 'bun',
    files: {
      'package.json': packageJson({
        scripts: { dev: 'bun run --watch src/index.ts', test: 'echo "Error" && exit 1' },
        dependencies: { elysia: '1' },
        devDependencies: { 'bun-types': '1' },
        module: 'src/index.js',
      }),
      'src/index.ts':
        "import { Elysia } from 'elysia';\nconst app = new Elysia().get('/', () => 'own page').listen(3000);\nconsole.log(app.server?.port);\n",
    },
  },
  {
    name: 'Bun alone',
    manager: 'bun',
    files: {
      'package.json': packageJson({ module: 'index.ts', type: 'module', devDependencies: { '@types/bun': '1' } }),
      'index.ts':
        "const server = Bun.serve({ port: process.env.PORT || 3000, fetch: () => new Response('own page') });\nconsole.log(server.url.href);\n",
    },
  },
  {
    name: 'Prisma, SQLite',
    files: {
      'package.json': packageJson({
        scripts: { build: 'tsc', start: 'prisma migrate deploy && node dist/index.js' },
        dependencies: { '@prisma/client': '6', prisma: '6', express: '4' },
        devDependencies: { '@types/express': '4', ...TYPESCRIPT },
      }),
      'tsconfig.json': compiled('"rootDir": "src",'),
      'prisma/schema.prisma':
        'generator client {\n  provider = "prisma-client-js"\n}\ndatasource db {\n  provider = "sqlite"\n  url = "file:./app.db"\n}\nmodel Word {\n  id Int @id @default(autoincrement())\n  text String\n}\n',
      'prisma/migrations/migration_lock.toml': 'provider = "sqlite"\n',
      'prisma/migrations/20250101000000_words/migration.sql':
        'CREATE TABLE "Word" ("id" INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, "text" TEXT NOT NULL);\n',
      'src/index.ts':
        "import { PrismaClient } from '@prisma/client';\nimport express from 'express';\nconst prisma = new PrismaClient();\nexpress().get('/', async (_request, response) => { await prisma.word.create({ data: { text: 'own' } }); response.send('own page ' + (await prisma.word.count())); }).listen(process.env.PORT ?? 3000);\n",
    },
  },
  {
    name: 'SQLite with a native module, migrations at start',
    files: {
      'package.json': packageJson({
        scripts: { migrate: 'knex migrate:latest', start: 'npm run migrate && node server.js' },
        dependencies: { 'better-sqlite3': '12', knex: '3' },
      }),
      'knexfile.js':
        "module.exports = { client: 'better-sqlite3', connection: { filename: './app.db' }, useNullAsDefault: true };\n",
      'migrations/20250101000000_words.js':
        "exports.up = (knex) => knex.schema.createTable('words', (table) => table.string('text'));\nexports.down = (knex) => knex.schema.dropTable('words');\n",
      'server.js':
        "const knex = require('knex')(require('./knexfile.js'));\nrequire('node:http').createServer(async (_, response) => { await knex('words').select(); response.end('own page'); }).listen(process.env.PORT || 3000);\n",
    },
  },
  {
    name: 'Socket.IO',
    files: {
      'package.json': packageJson({
        type: 'module',
        main: 'index.js',
        dependencies: { express: '4', 'socket.io': '4' },
      }),
      'index.js':
        "import { createServer } from 'node:http';\nimport express from 'express';\nimport { Server } from 'socket.io';\nconst app = express();\nconst server = createServer(app);\nnew Server(server).on('connection', () => {});\napp.get('/', (_, response) => response.sendFile(new URL('./index.html', import.meta.url).pathname));\nserver.listen(3000);\n",
      'index.html': '<!doctype html><script src="/socket.io/socket.io.js"></script>own page',
    },
    route: '/socket.io/socket.io.js',
  },
  {
    name: 'GraphQL Yoga',
    manager: 'pnpm',
    files: {
      'package.json': packageJson({
        scripts: { start: 'node index.js' },
        type: 'module',
        dependencies: { 'graphql-yoga': '5', graphql: '16' },
      }),
      'index.js':
        "import { createServer } from 'node:http';\nimport { createSchema, createYoga } from 'graphql-yoga';\nconst yoga = createYoga({ graphqlEndpoint: '/', schema: createSchema({ typeDefs: 'type Query { hello: String }', resolvers: { Query: { hello: () => 'own page' } } }) });\ncreateServer(yoga).listen(4000, () => console.log('http://localhost:4000/'));\n",
    },
    page: /GraphiQL|Yoga|hello/,
    visit: '/?query=%7Bhello%7D',
  },
  {
    name: 'tRPC, standalone',
    files: {
      'package.json': packageJson({
        scripts: { dev: 'tsx watch src/server.ts', build: 'tsc', start: 'node dist/server.js' },
        dependencies: { '@trpc/server': '11' },
        devDependencies: { tsx: '4', ...TYPESCRIPT },
      }),
      'tsconfig.json': compiled('"rootDir": "src",'),
      'src/server.ts':
        "import { initTRPC } from '@trpc/server';\nimport { createHTTPServer } from '@trpc/server/adapters/standalone';\nconst t = initTRPC.create();\nconst router = t.router({ hello: t.procedure.query(() => 'own page') });\ncreateHTTPServer({ router }).listen(3000);\n",
    },
    visit: '/hello',
  },
  {
    name: 'json-server',
    files: {
      'package.json': packageJson({
        scripts: { start: 'json-server --watch db.json' },
        dependencies: { 'json-server': '0.17.4' },
      }),
      'db.json': '{ "words": [{ "id": 1, "text": "own page" }] }',
    },
    visit: '/words',
  },
  {
    name: 'A native module that is compiled',
    files: {
      ...server(PORT, { scripts: { start: 'node server.js' }, dependencies: { bcrypt: '5', sharp: '0.33' } }),
      'server.js': `require('sharp');\nconst hash = require('bcrypt').hashSync('x', 4);\nrequire('node:http').createServer((_, response) => response.end('own page ' + hash.length)).listen(${PORT});\n`,
    },
    page: /own page 60/,
  },
];
