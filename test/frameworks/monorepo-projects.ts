import { packageJson } from '../support/repositories.js';
import { type FrameworkProject, listens, PORT } from './project.js';

export const MONOREPO_PROJECTS: readonly FrameworkProject[] = [
  {
    name: 'npm workspaces',
    files: {
      'package.json': packageJson({ workspaces: ['apps/*', 'packages/*'] }),
      'apps/web/package.json': packageJson({
        name: 'web',
        scripts: { build: 'vite build' },
        dependencies: { words: '*' },
        devDependencies: { vite: '6' },
      }),
      'apps/web/index.html': '<!doctype html><p>own page</p><script type="module" src="/main.js"></script>',
      'apps/web/main.js': "import { word } from 'words';\ndocument.title = word;\n",
      'packages/words/package.json': packageJson({
        name: 'words',
        main: 'built.js',
        scripts: { build: "node -e \"fs.writeFileSync('built.js', 'export const word = 1')\"" },
      }),
    },
  },
  {
    name: 'Frontend and backend',
    manager: 'none',
    files: {
      'backend/package.json': packageJson({ scripts: { start: 'node server.js' }, dependencies: { express: '4' } }),
      'backend/server.js': listens(PORT),
      'frontend/package.json': packageJson({ scripts: { build: 'vite build' }, devDependencies: { vite: '6' } }),
      'frontend/index.html': '<!doctype html><p>own page</p>',
    },
  },
  {
    name: 'Nx, its application in one folder',
    files: {
      'package.json': packageJson({ workspaces: ['apps/*'], devDependencies: { nx: '20', vite: '6' } }),
      'nx.json': '{ "plugins": ["@nx/vite/plugin"] }',
      'apps/shop/package.json': packageJson({ name: 'shop' }),
      'apps/shop/vite.config.mjs': 'export default {};\n',
      'apps/shop/index.html': '<!doctype html><p>own page</p>',
    },
  },
  {
    name: 'pnpm workspaces, Turborepo',
    rootDirectory: 'apps/api',
    manager: 'pnpm',
    files: {
      'package.json': packageJson({ packageManager: 'pnpm@9.15.0', devDependencies: { turbo: '2' } }),
      'pnpm-workspace.yaml': 'packages:\n  - "apps/*"\n  - "packages/*"\n',
      'turbo.json': '{ "tasks": { "build": { "dependsOn": ["^build"], "outputs": ["built.js"] } } }',
      'apps/api/package.json': packageJson({
        name: 'api',
        scripts: { build: 'node -e 1', start: 'node server.js' },
        dependencies: { words: 'workspace:*', express: '4' },
      }),
      'apps/api/server.js':
        "const { word } = require('words');\nrequire('express')().get('/', (_, response) => response.send(word)).listen(process.env.PORT);\n",
      'packages/words/package.json': packageJson({
        name: 'words',
        main: 'built.js',
        scripts: { build: "node -e \"fs.writeFileSync('built.js', 'exports.word = \\'own page\\'')\"" },
      }),
    },
  },
];
