import { expect } from 'chai';
import { expectError, type TestApi, type TestWorkspace, useTestApi } from '../support/api.js';

describe('Webhooks of a workspace', () => {
  let api: TestApi;
  let workspace: TestWorkspace;
  let path: string;

  useTestApi((given) => {
    ({ api, workspace } = given);
    path = `${workspace.path}/webhooks`;
  });

  it('are made with a secret that is shown once, listed without it and without the query, and deleted', async () => {
    const { client } = workspace.owner;
    const events = ['deployment.failed', 'budget.alert'];
    const { status, body } = await client.post(path, { url: 'https://example.com/x?token=abcdef', events });
    expect(status, JSON.stringify(body)).to.equal(201);
    const { secret, ...shown } = body.webhook;
    expect(secret).to.have.length(43);
    expect(shown).to.include({ url: 'https://example.com/x?***', lastDeliveryAt: null, lastOutcome: '' });
    expect((await client.get(path)).body.webhooks).to.deep.equal([shown]);
    const [row] = await api.db('webhooks');
    expect(JSON.stringify(row)).to.not.include('abcdef');
    expect((await client.delete(`${path}/${shown.id}`)).body).to.deep.equal({ deleted: true });
    expectError(await client.delete(`${path}/${shown.id}`), 404, 'not_found');
  });

  it('refuse what is no address, and events that there are not', async () => {
    const { client } = workspace.owner;
    for (const url of ['ftp://example.com/', 'https://a:b@example.com/', 'nonsense']) {
      expectError(await client.post(path, { url, events: ['run.failed'] }), 400, 'invalid_request');
    }
    for (const events of [[], ['deployment.started'], 'run.failed']) {
      expectError(await client.post(path, { url: 'https://example.com/', events }), 400, 'invalid_request');
    }
  });
});
