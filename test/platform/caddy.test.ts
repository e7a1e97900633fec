import { expect } from 'chai';
import { type AppRepository, makeRepository, nodeServer, staticSite } from '../support/apps.js';
import { describeCaddy, startCaddy, type TestCaddy } from '../support/caddy.js';
import { visit } from '../support/client.js';
import { createService, deploy, type Service } from '../support/deployments.js';
import { type Platform, startPlatform } from '../support/platform.js';
import { eventually } from '../support/processes.js';
import { visitsDuring } from '../support/visitors.js';

describeCaddy('A platform that serves through Caddy', () => {
  let caddy: TestCaddy;
  let platform: Platform;
  const repositories: AppRepository[] = [];

  before(async function () {
    this.timeout(240_000);
    caddy = await startCaddy();
    platform = await startPlatform({ engine: 'postgres', env: { EDGE: 'caddy', CADDY_ADMIN_URL: caddy.adminUrl } });
  });
  after(async function () {
    this.timeout(240_000);
    await platform?.stop();
    await caddy?.stop();
    for (const repository of repositories) await repository.remove();
  });

  async function serviceOf(name: string, kind: string, repository: AppRepository): Promise<Service> {
    repositories.push(repository);
    const configuration = { repository: repository.url, ...(kind === 'web' ? { replicas: 2 } : {}) };
    return createService(platform.client, { name, kind, configuration });
  }

  it('deploys from a repository, and releases three times without one failed request', async function () {
    this.timeout(240_000);
    const repository = await makeRepository(nodeServer('one'));
    const service = await serviceOf('releases', 'web', repository);
    const get = (path: string) => visit(service.url, platform.edgePort, path);
    await eventually('the edge knows of it', async () => (await get('/')).status === 503);
    await deploy(platform.client, service.id);
    expect(await get('/')).to.include({ status: 200, body: 'one' });
    expect((await get('/')).headers.server).to.equal('Caddy');

    const releases = async () => {
      for (const word of ['two', 'three', 'four']) {
        await repository.commit(word, nodeServer(word));
        await deploy(platform.client, service.id);
        expect((await get('/')).body).to.equal(word);
      }
    };
    const { answers } = await visitsDuring(releases, (visitor) => get(visitor === 0 ? '/slow' : '/'));
    expect(answers).to.deep.equal(['200 four', '200 one', '200 three', '200 two']);
  });

  it('serves a static site', async () => {
    const service = await serviceOf('site', 'static', await makeRepository(staticSite('first')));
    const get = (path: string) => visit(service.url, platform.edgePort, path);
    await deploy(platform.client, service.id);
    expect((await get('/')).body).to.contain('<h1>first</h1>');
    expect((await get('/about')).headers.location).to.equal('/about/');
    expect((await get('/nothing')).status).to.equal(404);
  });
});
