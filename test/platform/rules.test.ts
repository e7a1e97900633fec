import { expect } from 'chai';
import { staticSite } from '../support/apps.js';
import { deploy, readLogs } from '../support/deployments.js';
import { type Platform, usePlatform } from '../support/platform.js';
import { eventually } from '../support/processes.js';

const REDIRECTS = `
# what moved
/old/:page     /about/        301
/api/*         https://api.example.com/:splat 200
/*             /index.html    200
`;
const HEADERS = '/*\n  X-Frame-Options: DENY\n/about/*\n  X-About: yes\n  Content-Length: 5\n';

describe('Rules of the edge', function () {
  this.timeout(240_000);
  let platform: Platform;
  usePlatform({ engine: 'postgres' }, (started) => {
    platform = started;
  });

  it('come from the files of a site, and from the API without a deployment', async () => {
    const files = staticSite('ruled');
    const write = `
      fs.writeFileSync('dist/_redirects', ${JSON.stringify(REDIRECTS)});
      fs.writeFileSync('dist/_headers', ${JSON.stringify(HEADERS)});
    `;
    const site = { ...files, 'build.js': `${files['build.js']}${write}` };
    const { service } = await platform.serviceOf('ruled site', site, {}, 'static');
    await deploy(platform.client, service.id);

    const old = await platform.visit(service, '/old/x');
    expect([old.status, old.headers.location]).to.deep.equal([301, '/about/']);
    const about = await platform.visit(service, '/about/');
    expect(about.headers).to.include({ 'x-frame-options': 'DENY', 'x-about': 'yes' });
    expect(about.body).to.equal('<h1>about</h1>');
    expect((await platform.visit(service, '/missing.js')).body).to.contain('<h1>ruled</h1>');
    expect((await platform.visit(service, '/_redirects')).body).to.contain('<h1>ruled</h1>');
    const log = (await readLogs(platform.client, service.id)).map((line) => line.message).join('\n');
    expect(log).to.contain('the rule for /api/* is ignored: a rewrite to another host is not supported');
    expect(log).to.contain('the header Content-Length for /about/* is ignored');

    const rules = [
      { type: 'redirect', from: '/about', to: '/team', force: true, status: 302 },
      { type: 'maintenance', for: '/shop/*', message: 'Back at nine' },
    ];
    const start = performance.now();
    await platform.client.expect('PUT', `/services/${service.id}/rules`, { rules });
    await eventually('the edge follows', async () => (await platform.visit(service, '/about/')).status === 302);
    expect(performance.now() - start).to.be.below(1_500);
    expect((await platform.visit(service, '/shop/x')).status).to.equal(503);
    await platform.client.expect('PUT', `/services/${service.id}/rules`, { rules: [] });
    await eventually('the edge serves again', async () => (await platform.visit(service, '/about/')).status === 200);
  });
});
