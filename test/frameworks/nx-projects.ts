import { packageJson } from '../support/repositories.js';
import type { FrameworkProject } from './project.js';

const REACT = { react: '19', 'react-dom': '19' };

export const NX_PROJECTS: readonly FrameworkProject[] = [
  {
    name: 'Nx, React',
    files: {
      'package.json': packageJson({
        scripts: {},
        dependencies: REACT,
        devDependencies: {
          nx: '20',
          '@nx/vite': '20',
          '@nx/react': '20',
          '@nx/js': '20',
          '@nx/workspace': '20',
          vite: '6',
          '@vitejs/plugin-react': '4',
          typescript: '5',
        },
      }),
      'nx.json':
        '{ "plugins": [{ "plugin": "@nx/vite/plugin", "options": { "buildTargetName": "build", "serveTargetName": "serve", "previewTargetName": "preview" } }], "targetDefaults": { "build": { "cache": true } } }',
      'apps/shop/project.json':
        '{ "name": "shop", "$schema": "../../node_modules/nx/schemas/project-schema.json", "sourceRoot": "apps/shop/src", "projectType": "application", "tags": [], "targets": {} }',
      'apps/shop/vite.config.mts':
        "import react from '@vitejs/plugin-react';\nimport { defineConfig } from 'vite';\nexport default defineConfig(() => ({ root: __dirname, cacheDir: '../../node_modules/.vite/apps/shop', plugins: [react()], build: { outDir: '../../dist/apps/shop', emptyOutDir: true } }));\n",
      'apps/shop/index.html':
        '<!doctype html><title>own page</title><div id="root"></div><script type="module" src="/src/main.jsx"></script>',
      'apps/shop/src/main.jsx':
        "import { createRoot } from 'react-dom/client';\nimport { word } from '../../../libs/words/src/index.js';\ncreateRoot(document.getElementById('root')).render(<p>{word}</p>);\n",
      'libs/words/project.json': '{ "name": "words", "projectType": "library", "sourceRoot": "libs/words/src" }',
      'libs/words/src/index.js': "export const word = 'x';\n",
    },
  },
  {
    name: 'Nx, Nest',
    files: {
      'package.json': packageJson({
        scripts: {},
        dependencies: {
          '@nestjs/common': '11',
          '@nestjs/core': '11',
          '@nestjs/platform-express': '11',
          'reflect-metadata': '0.2',
          rxjs: '7',
          tslib: '2',
        },
        devDependencies: {
          nx: '20',
          '@nx/js': '20',
          '@nx/node': '20',
          '@nx/nest': '20',
          '@nx/webpack': '20',
          '@nx/workspace': '20',
          'webpack-cli': '5',
          typescript: '~5.7',
          '@types/node': '22',
          '@swc-node/register': '1',
          '@swc/core': '1',
        },
      }),
      'nx.json':
        '{ "plugins": [{ "plugin": "@nx/webpack/plugin", "options": { "buildTargetName": "build", "serveTargetName": "serve" } }] }',
      'tsconfig.base.json':
        '{ "compilerOptions": { "rootDir": ".", "moduleResolution": "node", "emitDecoratorMetadata": true, "experimentalDecorators": true, "importHelpers": true, "target": "es2021", "module": "esnext", "lib": ["es2021", "dom"], "skipLibCheck": true, "baseUrl": ".", "paths": {} } }',
      'apps/api/project.json':
        '{ "name": "api", "$schema": "../../node_modules/nx/schemas/project-schema.json", "sourceRoot": "apps/api/src", "projectType": "application", "targets": { "serve": { "continuous": true, "executor": "@nx/js:node", "defaultConfiguration": "development", "options": { "buildTarget": "api:build" } } } }',
      'apps/api/webpack.config.js':
        "const { NxAppWebpackPlugin } = require('@nx/webpack/app-plugin');\nconst { join } = require('path');\nmodule.exports = { output: { path: join(__dirname, '../../dist/apps/api') }, plugins: [new NxAppWebpackPlugin({ target: 'node', compiler: 'tsc', main: './src/main.ts', tsConfig: './tsconfig.app.json', optimization: false, outputHashing: 'none', generatePackageJson: true })] };\n",
      'apps/api/tsconfig.json':
        '{ "extends": "../../tsconfig.base.json", "files": [], "references": [{ "path": "./tsconfig.app.json" }] }',
      'apps/api/tsconfig.app.json':
        '{ "extends": "./tsconfig.json", "compilerOptions": { "outDir": "../../dist/out-tsc", "module": "commonjs", "types": ["node"] }, "include": ["src/**/*.ts"] }',
      'apps/api/src/main.ts':
        "import 'reflect-metadata';\nimport { Controller, Get, Module } from '@nestjs/common';\nimport { NestFactory } from '@nestjs/core';\n@Controller()\nclass Pages { @Get() page() { return 'own page'; } }\n@Module({ controllers: [Pages] })\nclass App {}\nasync function bootstrap() { const app = await NestFactory.create(App); app.setGlobalPrefix('api'); await app.listen(process.env.PORT || 3000); }\nbootstrap();\n",
    },
    visit: '/api',
  },
];
