import { expect } from 'chai';
import { newService, type TestApi, type TestWorkspace, useTestApi } from '../support/api.js';
import { Rnv } from '../support/rnv.js';

describe('rnv alerts', function () {
  this.timeout(60_000);
  let api: TestApi;
  let workspace: TestWorkspace;
  let rnv: Rnv;

  useTestApi(async (given) => {
    ({ api, workspace } = given);
    rnv = await Rnv.create();
  });
  after(() => rnv?.remove());
  const run = (...args: string[]) => rnv.run(args, { env: { RNV_URL: api.url, RNV_KEY: workspace.owner.key } });

  it('adds rules for one service or for all, lists how they stand, and removes them', async () => {
    const service = await newService(workspace.owner.client, workspace.path);
    const one = await run('alerts', 'add', 'errors', '--above', '5', '--for', '10m', '-s', service.name);
    expect(one.code, one.stderr).to.equal(0);
    expect((await run('alerts', 'add', 'certificate', '--above', '14')).stderr).to.contain('every service');
    const id = one.stdout.trim();
    await api.db('alert_states').insert({
      ...{ alert_id: id, service_id: service.id, status: 'firing', value: 12.5, run: 0, return_minutes: 5 },
      seen_at: new Date(),
    });
    const lines = (await run('alerts')).stdout.trim().split('\n');
    expect(lines[0]).to.match(/certificate +below 14 days +5 min +every service +unknown$/);
    expect(lines[1]).to.match(/errors +above 5 % +10 min/);
    expect(lines[1]?.endsWith(`firing: ${service.name} (12.5)`), lines[1]).to.equal(true);
    expect((await run('alerts', 'remove', id.slice(-8))).code).to.equal(0);
    expect(JSON.parse((await run('alerts', '--json')).stdout).alerts).to.have.length(1);
    expect((await run('alerts', 'remove', id)).code).to.equal(5);
    const refused = await run('alerts', 'add', 'errors', '--above', '500');
    expect(refused.code, refused.stderr).to.not.equal(0);
    expect(refused.stderr).to.contain('must be from 0 to 100');
  });
});
