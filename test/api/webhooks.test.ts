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
    expect(shown).to.include({
      url: 'https://example.com/x?***',
      format: 'json',
      lastDeliveryAt: null,
      lastOutcome: '',
    });
    expect((await client.get(path)).body.webhooks).to.deep.equal([shown]);
    const [row] = await api.db('webhooks');
    expect(JSON.stringify(row)).to.not.include('abcdef');
    expect((await client.delete(`${path}/${shown.id}`)).body).to.deep.equal({ deleted: true });
    expectError(await client.delete(`${path}/${shown.id}`), 404, 'not_found');
  });

  it('have the format of a chat, whose address is a secret', async () => {
    const { client } = workspace.owner;
    for (const format of ['slack', 'discord', 'teams']) {
      const url = 'https://hooks.example.com/services/T0/abcdef?sig=abcdef';
      const { body } = await client.post(path, { url, format, events: ['deployment.live'] });
      expect(body.webhook).to.include({ url: 'https://hooks.example.com/***', format });
    }
    expect((await client.get(path)).body.webhooks.map(({ format }: { format: string }) => format)).to.deep.equal([
      'teams',
      'discord',
      'slack',
    ]);
    expect(JSON.stringify(await api.db('webhooks'))).to.not.include('abcdef');
    const refused = await client.post(path, { url: 'https://example.com/', format: 'irc', events: ['run.failed'] });
    expectError(refused, 400, 'invalid_request');
    expect(refused.body.error.details[0].path).to.equal('/format');
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
