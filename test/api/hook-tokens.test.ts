import { expect } from 'chai';
import { expectError, type Json, newService, type TestApi, type TestWorkspace, useTestApi } from '../support/api.js';

const TOKEN = 'ghp_16C7e42F292c6912E7710c838347Ae178B4a';

describe('The token of a hook', () => {
  let api: TestApi;
  let workspace: TestWorkspace;

  useTestApi((given) => ({ api, workspace } = given));

  async function pathOf(configuration: object = { repository: 'https://github.com/team/shop.git' }): Promise<string> {
    const service = await newService(workspace.owner.client, workspace.path, { configuration });
    return `${workspace.path}/services/${service.id}/hooks`;
  }

  it('is sealed and never answered; the answer says where reports go', async () => {
    const { client } = workspace.owner;
    const path = await pathOf();
    const { status, body } = await client.post(path, { provider: 'github', token: TOKEN });
    expect(status, JSON.stringify(body)).to.equal(201);
    const { secret: _, ...hook } = body.hook;
    expect(hook).to.deep.include({
      hasToken: true,
      reports: { apiUrl: 'https://api.github.com', project: 'team/shop', lastSentAt: null, lastError: '' },
    });
    const listed = await client.get(path);
    const read = await client.get(`${path}/${hook.id}`);
    expect([listed.body.hooks, read.body.hook]).to.deep.equal([[hook], hook]);
    const audit = await client.get(`${workspace.path}/audit`);
    const rows = await Promise.all(
      ['forge_targets', 'hooks', 'audit_entries', 'receipts'].map((table) => api.db(table)),
    );
    const seen = JSON.stringify([body, listed.body, read.body, audit.body]) + JSON.stringify(rows);
    expect(seen).not.to.include(TOKEN);
    expect(rows[0]?.[0].sealed_token.includes(TOKEN)).to.equal(false);
  });

  it('is set, replaced and removed later; the target stays although the repository changes', async () => {
    const { client } = workspace.owner;
    const path = await pathOf();
    const { hook } = (await client.post(path, { provider: 'github' })).body;
    expect(hook).to.include({ hasToken: false, reports: null });
    const set = async (body: object): Promise<Json> => {
      const answer = await client.patch(`${path}/${hook.id}`, body);
      expect(answer.status, JSON.stringify(answer.body)).to.equal(200);
      return answer.body.hook;
    };
    expect((await set({ token: TOKEN })).reports).to.include({ apiUrl: 'https://api.github.com' });
    const report = { kind: 'status', subject: 'a'.repeat(40), error: 'it was refused: answered with 403' };
    const { service_id } = await api.db('hooks').where({ id: hook.id }).first();
    await api.db('forge_reports').insert({ id: hook.id, hook_id: hook.id, service_id, ...report });
    expect((await set({ token: `${TOKEN}2` })).reports.lastError).to.equal(report.error);
    const moved = { configuration: { repository: 'https://evil.example.com/team/shop.git' } };
    expect((await client.patch(path.replace(/\/hooks$/, ''), moved)).status).to.equal(200);
    expect((await client.get(`${path}/${hook.id}`)).body.hook.reports.apiUrl).to.equal('https://api.github.com');
    const other = await set({ token: TOKEN, apiUrl: 'https://git.example.com/api/v3' });
    expect(other.reports, 'another target has no reports').to.include({ project: 'team/shop', lastError: '' });
    expect(await set({ token: '' })).to.include({ hasToken: false, reports: null });
    expect(await api.db('forge_targets').where({ id: hook.id })).to.deep.equal([]);
  });

  const refused: [what: string, configuration: object | undefined, body: object, path: string][] = [
    ['a deploy hook', undefined, { provider: 'generic', token: TOKEN }, '/token'],
    ['an address without a token', undefined, { provider: 'github', apiUrl: 'https://x.test' }, '/apiUrl'],
    ['a token with a space', undefined, { provider: 'github', token: 'abc def ghi' }, '/token'],
    ['an unusable address', undefined, { provider: 'github', token: TOKEN, apiUrl: 'ftp://x.test' }, '/apiUrl'],
    [
      'an address with a query',
      undefined,
      { provider: 'github', token: TOKEN, apiUrl: 'https://x.test/?a' },
      '/apiUrl',
    ],
    ['a repository of no git host', { repository: 'starter:node' }, { provider: 'github', token: TOKEN }, '/apiUrl'],
    ['a service without a repository', {}, { provider: 'github', token: TOKEN }, '/apiUrl'],
    ['an image', { sourceType: 'image', image: 'nginx' }, { provider: 'github', token: TOKEN }, '/token'],
  ];
  for (const [what, configuration, body, field] of refused) {
    it(`is refused for ${what}`, async () => {
      const answer = await workspace.owner.client.post(await pathOf(configuration), body);
      expectError(answer, 400, 'invalid_request');
      expect(answer.body.error.details[0].path).to.equal(field);
      expect(JSON.stringify(answer.body)).not.to.include(TOKEN);
    });
  }
});
