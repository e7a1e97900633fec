import { expect } from 'chai';
import { nodeServer, staticSite } from '../support/apps.js';
import { describeCaddy, startCaddy, type TestCaddy } from '../support/caddy.js';
import { deploy } from '../support/deployments.js';
import { type Platform, usePlatform } from '../support/platform.js';
import { eventually } from '../support/processes.js';
import { visitsDuring } from '../support/visitors.js';

describeCaddy('A platform that serves through Caddy', () => {
  let caddy: TestCaddy;
  let platform: Platform;
  usePlatform(
    async () => {
      caddy = await startCaddy();
      return { engine: 'postgres', env: { EDGE: 'caddy', CADDY_ADMIN_URL: caddy.adminUrl } };
    },
    (started) => {
      platform = started;
    },
  );
  after(() => caddy?.stop());

  it('deploys from a repository, and releases three times without one failed request', async function () {
    this.timeout(240_000);
    const { service, repository } = await platform.serviceOf('releases', nodeServer('one'), { replicas: 2 });
    const get = (path: string) => platform.visit(service, path);
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
    const { service } = await platform.serviceOf('site', staticSite('first'), {}, 'static');
    const get = (path: string) => platform.visit(service, path);
    await deploy(platform.client, service.id);
    expect((await get('/')).body).to.contain('<h1>first</h1>');
    expect((await get('/about')).headers.location).to.equal('/about/');
    expect((await get('/nothing')).status).to.equal(404);
  });
});
