import { type Files, packageJson } from '../support/repositories.js';
import { type FrameworkProject, listens, PORT } from './project.js';

const REACT = { react: '19', 'react-dom': '19' };
const turbo = (packageManager: string, any: string): Files => ({
  'package.json': packageJson({
    private: true,
    packageManager,
    scripts: { build: 'turbo run build', dev: 'turbo run dev', lint: 'turbo run lint' },
    devDependencies: { turbo: '2', prettier: '3' },
    ...(packageManager.startsWith('pnpm') ? {} : { workspaces: ['apps/*', 'packages/*'] }),
  }),
  'turbo.json':
    '{ "$schema": "https://turborepo.com/schema.json", "ui": "tui", "tasks": { "build": { "dependsOn": ["^build"], "outputs": [".next/**", "!.next/cache/**"] }, "dev": { "cache": false, "persistent": true } } }',
  ...Object.fromEntries(
    ['docs', 'web'].flatMap((name) => [
      [
        `apps/${name}/package.json`,
        packageJson({
          name,
          private: true,
          scripts: { dev: 'next dev --port 3000', build: 'next build', start: 'next start' },
          dependencies: { '@repo/ui': any, next: '15', ...REACT },
        }),
      ],
      [`apps/${name}/next.config.js`, 'module.exports = {};\n'],
      [
        `apps/${name}/app/layout.js`,
        'export default function Layout({ children }) { return <html><body>{children}</body></html>; }\n',
      ],
      [
        `apps/${name}/app/page.js`,
        `import { Word } from '@repo/ui/word';\nexport default function Page() { return <main><Word /> ${name}</main>; }\n`,
      ],
    ]),
  ),
  'packages/ui/package.json': packageJson({
    name: '@repo/ui',
    private: true,
    exports: { './*': './src/*.jsx' },
    dependencies: { react: '19' },
  }),
  'packages/ui/src/word.jsx': "export const Word = () => 'own page';\n",
});

export const WORKSPACE_PROJECTS: readonly FrameworkProject[] = [
  { name: 'Turborepo, npm', files: turbo('npm@10.9.2', '*'), page: /own page.{0,20}web/ },
  {
    name: 'Turborepo, pnpm, its documentation',
    manager: 'pnpm',
    rootDirectory: 'apps/docs',
    files: {
      ...turbo('pnpm@9.15.0', 'workspace:*'),
      'pnpm-workspace.yaml': 'packages:\n  - "apps/*"\n  - "packages/*"\n',
    },
    page: /own page.{0,20}docs/,
  },
  {
    name: 'NestJS, monorepo',
    files: {
      'package.json': packageJson({
        scripts: {
          build: 'nest build',
          start: 'nest start',
          'start:dev': 'nest start --watch',
          'start:prod': 'node dist/apps/shop/main',
        },
        dependencies: {
          '@nestjs/common': '11',
          '@nestjs/core': '11',
          '@nestjs/platform-express': '11',
          'reflect-metadata': '0.2',
          rxjs: '7',
        },
        devDependencies: {
          '@nestjs/cli': '11',
          '@nestjs/schematics': '11',
          typescript: '5',
          'ts-loader': '9',
          webpack: '5',
          '@types/node': '22',
        },
      }),
      'nest-cli.json':
        '{ "collection": "@nestjs/schematics", "sourceRoot": "apps/shop/src", "monorepo": true, "root": "apps/shop", "compilerOptions": { "webpack": true, "tsConfigPath": "apps/shop/tsconfig.app.json" }, "projects": { "shop": { "type": "application", "root": "apps/shop", "entryFile": "main", "sourceRoot": "apps/shop/src", "compilerOptions": { "tsConfigPath": "apps/shop/tsconfig.app.json" } }, "mail": { "type": "application", "root": "apps/mail", "entryFile": "main", "sourceRoot": "apps/mail/src", "compilerOptions": { "tsConfigPath": "apps/mail/tsconfig.app.json" } } } }',
      'tsconfig.json':
        '{ "compilerOptions": { "module": "commonjs", "target": "ES2022", "experimentalDecorators": true, "emitDecoratorMetadata": true, "outDir": "./dist", "baseUrl": "./", "skipLibCheck": true } }',
      ...Object.fromEntries(
        ['shop', 'mail'].flatMap((name) => [
          [
            `apps/${name}/tsconfig.app.json`,
            `{ "extends": "../../tsconfig.json", "compilerOptions": { "outDir": "../../dist/apps/${name}" }, "include": ["src/**/*"] }`,
          ],
          [
            `apps/${name}/src/main.ts`,
            `import 'reflect-metadata';\nimport { Controller, Get, Module } from '@nestjs/common';\nimport { NestFactory } from '@nestjs/core';\n@Controller()\nclass Pages { @Get() page() { return 'own page ${name}'; } }\n@Module({ controllers: [Pages] })\nclass App {}\nNestFactory.create(App).then((app) => app.listen(process.env.port ?? 3000));\n`,
          ],
        ]),
      ),
    },
    page: /own page shop/,
  },
  {
    name: 'Lerna',
    files: {
      'package.json': packageJson({
        workspaces: ['packages/*'],
        scripts: { build: 'lerna run build', start: 'lerna run start --scope=site' },
        devDependencies: { lerna: '8' },
      }),
      'lerna.json': '{ "version": "1.0.0", "$schema": "node_modules/lerna/schemas/lerna-schema.json" }',
      'packages/words/package.json': packageJson({
        name: 'words',
        version: '1.0.0',
        main: 'dist/index.js',
        scripts: { build: 'mkdir -p dist && echo "exports.word = \'own page\'" > dist/index.js' },
      }),
      'packages/site/package.json': packageJson({
        name: 'site',
        version: '1.0.0',
        scripts: { start: 'node server.js' },
        dependencies: { words: '1.0.0', express: '4' },
      }),
      'packages/site/server.js':
        "const { word } = require('words');\nrequire('express')().get('/', (_, response) => response.send(word)).listen(process.env.PORT || 3000);\n",
    },
  },
  {
    name: 'pnpm workspaces, a folder of it',
    manager: 'pnpm',
    rootDirectory: 'packages/site',
    files: {
      'package.json': packageJson({ private: true, scripts: { build: 'pnpm -r build' } }),
      'pnpm-workspace.yaml': 'packages:\n  - "packages/*"\ncatalog:\n  vite: ^6.0.0\n',
      'packages/words/package.json': packageJson({
        name: '@app/words',
        type: 'module',
        exports: './dist/index.js',
        scripts: { build: 'tsc' },
        devDependencies: { typescript: '5' },
      }),
      'packages/words/tsconfig.json':
        '{ "compilerOptions": { "target": "ES2022", "module": "ES2022", "outDir": "dist", "declaration": true }, "include": ["src"] }',
      'packages/words/src/index.ts': "export const word: string = 'own page';\n",
      'packages/site/package.json': packageJson({
        name: '@app/site',
        type: 'module',
        scripts: { dev: 'vite', build: 'vite build' },
        dependencies: { '@app/words': 'workspace:^' },
        devDependencies: { vite: 'catalog:' },
      }),
      'packages/site/index.html': '<!doctype html><p>own page</p><script type="module" src="/main.js"></script>',
      'packages/site/main.js': "import { word } from '@app/words';\ndocument.title = word;\n",
    },
  },
  {
    name: 'yarn 4 workspaces',
    manager: 'yarn4',
    files: {
      'package.json': packageJson({
        private: true,
        packageManager: 'yarn@4.9.1',
        workspaces: ['packages/*'],
        scripts: { build: 'yarn workspaces foreach -At run build', start: 'yarn workspace server start' },
      }),
      'packages/shared/package.json': packageJson({
        name: 'shared',
        main: 'built.js',
        scripts: { build: "node -e \"fs.writeFileSync('built.js', 'exports.word = \\'own page\\'')\"" },
      }),
      'packages/server/package.json': packageJson({
        name: 'server',
        scripts: { start: 'node server.js' },
        dependencies: { shared: 'workspace:*', fastify: '5' },
      }),
      'packages/server/server.js':
        "const { word } = require('shared');\nconst app = require('fastify')();\napp.get('/', async () => word);\napp.listen({ port: process.env.PORT || 3000 });\n",
    },
  },
  {
    name: 'bun workspaces',
    manager: 'bun',
    files: {
      'package.json': packageJson({ private: true, workspaces: ['apps/*', 'packages/*'] }),
      'apps/server/package.json': packageJson({
        name: 'server',
        scripts: { dev: 'bun --hot src/index.ts', start: 'bun src/index.ts' },
        dependencies: { words: 'workspace:*', hono: '4' },
      }),
      'apps/server/src/index.ts':
        "import { Hono } from 'hono';\nimport { word } from 'words';\nconst app = new Hono();\napp.get('/', (c) => c.text(word));\nexport default { port: process.env.PORT ?? 3001, fetch: app.fetch };\n",
      'packages/words/package.json': packageJson({ name: 'words', module: 'index.ts', main: 'index.ts' }),
      'packages/words/index.ts': "export const word: string = 'own page';\n",
    },
  },
  {
    name: 'A client that the server serves',
    files: {
      'package.json': packageJson({
        scripts: {
          build: 'npm install --prefix client && npm run build --prefix client',
          start: 'node server/index.js',
          dev: 'concurrently "npm run server" "npm run client"',
        },
        dependencies: { express: '4' },
        devDependencies: { concurrently: '9', nodemon: '3' },
      }),
      'server/index.js':
        "const express = require('express');\nconst { join } = require('node:path');\nexpress().use(express.static(join(__dirname, '../client/dist'))).listen(process.env.PORT || 5000);\n",
      'client/package.json': packageJson({ scripts: { build: 'vite build' }, devDependencies: { vite: '6' } }),
      'client/index.html': '<!doctype html><p>own page</p>',
    },
  },
  {
    name: 'An application in a folder, and nothing else',
    manager: 'none',
    files: {
      'README.md': 'x',
      'my-app/package.json': packageJson({ scripts: { start: 'node server.js' } }),
      'my-app/server.js': listens(PORT),
    },
  },
];
