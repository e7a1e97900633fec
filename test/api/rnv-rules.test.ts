import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'chai';
import { type Json, newService, type TestApi, type TestWorkspace, useTestApi } from '../support/api.js';
import { pretendCanary, pretendLive } from '../support/records.js';
import { Rnv } from '../support/rnv.js';

describe('rnv rules and rnv domains redirect', function () {
  this.timeout(60_000);
  let api: TestApi;
  let workspace: TestWorkspace;
  let service: Json;
  let rnv: Rnv;

  useTestApi(async (given) => {
    ({ api, workspace } = given);
    rnv = await Rnv.create();
    service = await newService(workspace.owner.client, workspace.path);
  });
  after(() => rnv?.remove());
  const run = (...args: string[]) =>
    rnv.run([...args, '-s', service.name], { env: { RNV_URL: api.url, RNV_KEY: workspace.owner.key } });

  it('set the rules of a file, print them in the same form, and say what is wrong', async () => {
    const file = join(rnv.home, 'rules.json');
    const rules = [{ type: 'redirect', from: '/old', to: '/new' }];
    await writeFile(file, JSON.stringify({ rules }));
    const set = await run('rules', 'set', file);
    expect(set.code, set.stderr).to.equal(0);
    expect(set.stderr).to.contain('The service has 1 rule');
    expect(JSON.parse((await run('rules')).stdout)).to.deep.equal({ rules });
    await writeFile(file, JSON.stringify([{ type: 'redirect', from: '/a', to: '/a' }]));
    const loop = await run('rules', 'set', file);
    expect(loop.code).to.equal(2);
    expect(loop.stderr).to.contain('/rules/0/to redirects in a loop');
    await writeFile(file, 'no json');
    expect((await run('rules', 'set', file)).stderr).to.contain('is no JSON');
    expect((await run('rules', 'set', join(rnv.home, 'missing.json'))).stderr).to.contain('cannot be read');
  });

  it('and rnv promote ends the canary that a rule has begun', async () => {
    await pretendLive(api.db, service.id);
    expect((await run('promote')).code).to.equal(6);
    const id = await pretendCanary(api.db, service.id);
    const promoted = await run('promote');
    expect(promoted.stderr).to.contain('goes live: all visitors get it');
    const { live_deployment_id: live } = await api.db('services').where({ id: service.id }).first();
    expect(live).to.equal(id);
  });

  it('redirect a domain, and serve it again', async () => {
    await workspace.owner.client.post(`${workspace.path}/services/${service.id}/domains`, { hostname: 'example.com' });
    const sent = await run('domains', 'redirect', 'example.com', 'www.example.com');
    expect(sent.stdout).to.contain('→ www.example.com');
    expect((await run('domains')).stdout).to.contain('→ www.example.com');
    expect((await run('domains', 'redirect', 'example.com')).code).to.equal(2);
    expect((await run('domains', 'redirect', 'example.com', '--off')).code).to.equal(0);
    expect((await run('domains')).stdout).to.not.contain('→');
  });
});
