import { expect } from 'chai';
import { deploy, readLogs, type Service } from '../support/deployments.js';
import { type Platform, usePlatform } from '../support/platform.js';
import { type Files, packageJson } from '../support/repositories.js';

interface Deployed {
  service: Service;
  repository: string;
  log: string;
}

/** Tests five small projects. `npm run test:frameworks` tests many generated ones. */
describe('A project with nothing but its address and kind', function () {
  this.timeout(240_000);
  let platform: Platform;

  usePlatform({ engine: 'postgres' }, (started) => {
    platform = started;
  });

  async function deployed(name: string, files: Files, kind = 'web'): Promise<Deployed> {
    const { service, repository } = await platform.serviceOf(name, files, {}, kind);
    await deploy(platform.client, service.id);
    const lines = await readLogs(platform.client, service.id);
    return { service, repository: repository.url, log: lines.map(({ message }) => message).join('\n') };
  }

  const server = (word: string) =>
    `require('node:http').createServer((_, response) => response.end('${word}')).listen(process.env.PORT);\n`;
  const writes = (file: string, text: string) =>
    `node -e "fs.mkdirSync('${file.split('/')[0]}', { recursive: true }); fs.writeFileSync('${file}', '${text}')"`;

  it('serves a site that needs no build, from the folder that has its page', async () => {
    const { service } = await deployed('site', {
      'public/index.html': 'home',
      'public/about.html': 'about',
      'public/404.html': 'gone',
    });
    expect((await platform.visit(service)).body).to.equal('home');
    expect((await platform.visit(service, '/about')).body).to.equal('about');
    expect(await platform.visit(service, '/nothing')).to.include({ status: 404, body: 'gone' });
  });

  it('serves what a web project builds as a site, and one page for every path', async () => {
    const { service, log } = await deployed('page', {
      'package.json': packageJson({ scripts: { start: 'vite', build: writes('output/index.html', 'page') } }),
      'vercel.json': '{ "rewrites": [{ "source": "/(.*)", "destination": "/index.html" }] }',
    });
    expect(await platform.visit(service, '/any/route')).to.include({ status: 200, body: 'page' });
    expect((await platform.visit(service, '/assets/gone.js')).status).to.equal(404);
    expect(log).to.match(/Detected: Vite, a static site.*buildCommand and publishDirectory/);
    expect(log).to.match(/development server \(vite\)/);
    expect(log).to.contain('Publishes output; set publishDirectory to change it');
  });

  it('runs a watched server without its watcher', async () => {
    const { service, log } = await deployed('watched', {
      'package.json': packageJson({ scripts: { start: 'nodemon server.js' } }),
      'server.js': server('watched'),
    });
    expect((await platform.visit(service)).body).to.equal('watched');
    expect(log).to.contain('started with "node server.js"');
  });

  it('builds the only application of a workspace after what it needs', async () => {
    const { service, log } = await deployed('workspace', {
      'package.json': packageJson({ workspaces: ['apps/*', 'packages/*'] }),
      'apps/api/package.json': packageJson({
        name: 'api',
        scripts: { start: 'node server.js' },
        dependencies: { word: '*', express: '*' },
      }),
      'apps/api/server.js':
        "require('node:http').createServer((_, r) => r.end(require('word'))).listen(process.env.PORT);\n",
      'packages/express/package.json': packageJson({ name: 'express' }),
      'packages/word/package.json': packageJson({
        name: 'word',
        main: 'built/index.js',
        scripts: { build: writes('built/index.js', 'module.exports = String(42)') },
      }),
    });
    expect((await platform.visit(service)).body).to.equal('42');
    expect(log).to.match(/Builds apps\/api, the only application.*rootDirectory/);
  });

  it('starts what the build has written, and tells the same without deploying', async () => {
    const build = `node -e "fs.cpSync('server.js', 'dist/main.js')"`;
    const files = {
      'package.json': packageJson({ scripts: { build }, main: 'dist/main.js' }),
      'server.js': server('built'),
    };
    const { service, repository } = await deployed('built', files);
    expect((await platform.visit(service)).body).to.equal('built');
    const { detection } = await platform.client.expect<{ detection: object }>('POST', '/detect', { repository });
    expect(detection).to.include({
      runtime: 'node',
      kind: 'web',
      packageManager: 'npm',
      installCommand: 'npm install',
    });
    expect(detection).to.include({ buildCommand: 'npm run build', startCommand: 'node dist/main.js' });
  });
});
