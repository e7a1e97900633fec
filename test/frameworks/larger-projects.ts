import { packageJson } from '../support/repositories.js';
import type { FrameworkProject } from './project.js';

export const LARGER_PROJECTS: readonly FrameworkProject[] = [
  {
    name: 'Analog',
    files: {
      'package.json': packageJson({
        type: 'module',
        scripts: {
          dev: 'ng serve',
          start: 'npm run dev',
          build: 'ng build',
          preview: 'node dist/analog/server/index.mjs',
        },
        dependencies: {
          '@analogjs/content': '1',
          '@analogjs/router': '1',
          '@angular/animations': '19',
          '@angular/common': '19',
          '@angular/compiler': '19',
          '@angular/core': '19',
          '@angular/forms': '19',
          '@angular/platform-browser': '19',
          '@angular/platform-browser-dynamic': '19',
          '@angular/platform-server': '19',
          '@angular/router': '19',
          'front-matter': '4',
          marked: '15',
          'marked-gfm-heading-id': '4',
          'marked-highlight': '2',
          'marked-mangle': '1',
          prismjs: '1',
          rxjs: '7',
          tslib: '2',
          'zone.js': '0.15',
        },
        devDependencies: {
          '@analogjs/platform': '1',
          '@analogjs/vite-plugin-angular': '1',
          '@angular-devkit/build-angular': '19',
          '@angular/build': '19',
          '@angular/cli': '19',
          '@angular/compiler-cli': '19',
          typescript: '5.8',
          vite: '6',
        },
      }),
      'angular.json':
        '{ "$schema": "./node_modules/@angular/cli/lib/config/schema.json", "version": 1, "projects": { "app": { "projectType": "application", "root": ".", "sourceRoot": "src", "prefix": "app", "architect": { "build": { "builder": "@analogjs/platform:vite", "options": { "configFile": "vite.config.ts", "main": "src/main.ts", "outputPath": "dist/client", "tsConfig": "tsconfig.app.json" }, "defaultConfiguration": "production", "configurations": { "development": { "mode": "development" }, "production": { "sourcemap": false, "mode": "production" } } }, "serve": { "builder": "@analogjs/platform:vite-dev-server", "options": { "buildTarget": "app:build", "port": 5173 } } } } } }',
      'vite.config.ts':
        "import analog from '@analogjs/platform';\nimport { defineConfig } from 'vite';\nexport default defineConfig(() => ({ build: { target: ['es2020'] }, resolve: { mainFields: ['module'] }, plugins: [analog()] }));\n",
      'tsconfig.json':
        '{ "compileOnSave": false, "compilerOptions": { "baseUrl": "./", "outDir": "./dist/out-tsc", "strict": true, "sourceMap": true, "declaration": false, "experimentalDecorators": true, "moduleResolution": "bundler", "importHelpers": true, "target": "ES2022", "module": "ES2022", "lib": ["ES2022", "dom"], "useDefineForClassFields": false, "skipLibCheck": true } }',
      'tsconfig.app.json':
        '{ "extends": "./tsconfig.json", "compilerOptions": { "outDir": "./dist/out-tsc", "types": [] }, "files": ["src/main.ts", "src/main.server.ts"], "include": ["src/**/*.d.ts", "src/app/pages/**/*.page.ts"] }',
      'index.html':
        '<!doctype html><html><head><base href="/" /></head><body><app-root></app-root><script type="module" src="/src/main.ts"></script></body></html>',
      'src/main.ts':
        "import 'zone.js';\nimport { bootstrapApplication } from '@angular/platform-browser';\nimport { App } from './app/app.component';\nimport { appConfig } from './app/app.config';\nbootstrapApplication(App, appConfig);\n",
      'src/main.server.ts':
        "import 'zone.js/node';\nimport '@angular/platform-server/init';\nimport { render } from '@analogjs/router/server';\nimport { App } from './app/app.component';\nimport { config } from './app/app.config.server';\nexport default render(App, config);\n",
      'src/app/app.component.ts':
        "import { Component } from '@angular/core';\nimport { RouterOutlet } from '@angular/router';\n@Component({ selector: 'app-root', imports: [RouterOutlet], template: '<router-outlet></router-outlet>' })\nexport class App {}\n",
      'src/app/app.config.ts':
        "import { provideFileRouter } from '@analogjs/router';\nimport { provideHttpClient, withFetch } from '@angular/common/http';\nimport type { ApplicationConfig } from '@angular/core';\nimport { provideClientHydration } from '@angular/platform-browser';\nexport const appConfig: ApplicationConfig = { providers: [provideFileRouter(), provideHttpClient(withFetch()), provideClientHydration()] };\n",
      'src/app/app.config.server.ts':
        "import { type ApplicationConfig, mergeApplicationConfig } from '@angular/core';\nimport { provideServerRendering } from '@angular/platform-server';\nimport { appConfig } from './app.config';\nexport const config = mergeApplicationConfig(appConfig, { providers: [provideServerRendering()] } as ApplicationConfig);\n",
      'src/app/pages/index.page.ts':
        "import { Component } from '@angular/core';\n@Component({ selector: 'app-home', template: '<main>own page</main>' })\nexport default class HomeComponent {}\n",
    },
  },
  {
    name: 'AdonisJS',
    files: {
      'package.json': packageJson({
        type: 'module',
        scripts: { start: 'node bin/server.js', build: 'node ace build', dev: 'node ace serve --hmr' },
        imports: {
          '#controllers/*': './app/controllers/*.js',
          '#start/*': './start/*.js',
          '#config/*': './config/*.js',
        },
        dependencies: { '@adonisjs/core': '6', 'reflect-metadata': '0.2', '@vinejs/vine': '3' },
        devDependencies: {
          '@adonisjs/assembler': '7',
          '@adonisjs/tsconfig': '1',
          '@swc/core': '1.10',
          'ts-node-maintained': '10',
          'pino-pretty': '13',
          typescript: '5.7',
          '@types/node': '22',
        },
      }),
      'tsconfig.json':
        '{ "extends": "@adonisjs/tsconfig/tsconfig.app.json", "compilerOptions": { "rootDir": "./", "outDir": "./build" } }',
      'ace.js': "import 'ts-node-maintained/register/esm';\nawait import('./bin/console.js');\n",
      'adonisrc.ts':
        "import { defineConfig } from '@adonisjs/core/app';\nexport default defineConfig({ commands: [() => import('@adonisjs/core/commands')], providers: [() => import('@adonisjs/core/providers/app_provider'), () => import('@adonisjs/core/providers/hash_provider')], preloads: [() => import('#start/routes')] });\n",
      'bin/console.ts':
        "import 'reflect-metadata';\nimport { Ignitor, prettyPrintError } from '@adonisjs/core';\nconst APP_ROOT = new URL('../', import.meta.url);\nconst IMPORTER = (filePath: string) => filePath.startsWith('./') || filePath.startsWith('../') ? import(new URL(filePath, APP_ROOT).href) : import(filePath);\nnew Ignitor(APP_ROOT, { importer: IMPORTER }).ace().handle(process.argv.splice(2)).catch((error) => { process.exitCode = 1; prettyPrintError(error); });\n",
      'bin/server.ts':
        "import 'reflect-metadata';\nimport { Ignitor, prettyPrintError } from '@adonisjs/core';\nconst APP_ROOT = new URL('../', import.meta.url);\nconst IMPORTER = (filePath: string) => filePath.startsWith('./') || filePath.startsWith('../') ? import(new URL(filePath, APP_ROOT).href) : import(filePath);\nnew Ignitor(APP_ROOT, { importer: IMPORTER }).tap((app) => { app.booting(async () => { await import('#start/env'); }); app.listen('SIGTERM', () => app.terminate()); }).httpServer().start().catch((error) => { process.exitCode = 1; prettyPrintError(error); });\n",
      'start/env.ts':
        "import { Env } from '@adonisjs/core/env';\nexport default await Env.create(new URL('../', import.meta.url), { PORT: Env.schema.number(), HOST: Env.schema.string.optional() });\n",
      'start/routes.ts':
        "import router from '@adonisjs/core/services/router';\nrouter.get('/', async () => 'own page');\n",
      'config/app.ts':
        "import { Secret } from '@adonisjs/core/helpers';\nimport { defineConfig } from '@adonisjs/core/http';\nexport const appKey = new Secret('0123456789abcdef0123456789abcdef');\nexport const http = defineConfig({ generateRequestId: true });\n",
      'config/logger.ts':
        "import { defineConfig } from '@adonisjs/core/logger';\nexport default defineConfig({ default: 'app', loggers: { app: { enabled: true, name: 'app', level: 'info' } } });\n",
      'config/hash.ts':
        "import { defineConfig, drivers } from '@adonisjs/core/hash';\nexport default defineConfig({ default: 'scrypt', list: { scrypt: drivers.scrypt({}) } });\n",
      'config/bodyparser.ts':
        "import { defineConfig } from '@adonisjs/core/bodyparser';\nexport default defineConfig({});\n",
    },
  },
];
