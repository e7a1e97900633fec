import { expect } from 'chai';
import {
  type ApiResponse,
  expectError,
  newKey,
  startTestApi,
  type TestApi,
  type TestWorkspace,
  useTestApi,
} from '../support/api.js';
import { describeEngines } from '../support/platform.js';

describeEngines('Rate limits', (queues) => {
  let api: TestApi;
  let workspace: TestWorkspace;

  useTestApi((given) => ({ api, workspace } = given), {
    rateLimits: { readsPerMinute: 20, writesPerMinute: 5 },
    queues,
  });

  function statuses(responses: ApiResponse[]): Record<number, number> {
    const counts: Record<number, number> = {};
    for (const { status } of responses) counts[status] = (counts[status] ?? 0) + 1;
    return counts;
  }

  it('say in every answer what is left, and 429 says when to retry', async () => {
    const { client } = workspace.owner;
    const first = await client.get('/catalog');
    expect(first.headers.get('ratelimit-limit')).to.equal('20');
    expect(first.headers.get('ratelimit-remaining')).to.equal('19');
    expect(Number(first.headers.get('ratelimit-reset'))).to.be.within(1, 60);
    expect(first.headers.get('retry-after')).to.equal(null);
    const rest = await Promise.all(Array.from({ length: 24 }, () => client.get('/catalog')));
    expect(statuses(rest)).to.deep.equal({ 200: 19, 429: 5 });
    const refused = await client.get('/catalog');
    expectError(refused, 429, 'rate_limited');
    expect(refused.headers.get('retry-after')).to.match(/^[1-9]\d*$/);
    expect(refused.headers.get('ratelimit-remaining')).to.equal('0');
  });

  it('count reads and writes separately', async () => {
    const { client } = workspace.owner;
    const responses: ApiResponse[] = [];
    for (let i = 0; i < 7; i++) responses.push(await client.patch(workspace.path, { configuration: {} }));
    expect(statuses(responses)).to.deep.equal({ 200: 5, 429: 2 });
  });

  it('are each credential’s own', async () => {
    const { key } = await newKey(api.db, workspace.id, workspace.owner.email, 'write');
    expect((await api.client(`Bearer ${key}`).get('/catalog')).status).to.equal(200);
  });

  it('limit failed authentication of an address, and never refuse a valid key', async () => {
    const stranger = api.client('Bearer nonsense');
    const responses = await Promise.all(Array.from({ length: 25 }, () => stranger.get('/catalog')));
    expect(statuses(responses)).to.deep.equal({ 401: 20, 429: 5 });
    const member = await workspace.member('viewer');
    expect((await member.client.get('/catalog')).status).to.equal(200);
  });
});

describeEngines('Rate limits of several API processes', (queues) => {
  it('are shared', async () => {
    const api = await startTestApi({ rateLimits: { readsPerMinute: 10, writesPerMinute: 10 }, queues });
    const twin = await api.twin();
    try {
      const { owner } = await api.workspace();
      const clients = [owner.client, twin.client(`Bearer ${owner.key}`)];
      const responses = await Promise.all(
        Array.from({ length: 16 }, (_, index) => (clients[index % 2] ?? owner.client).get('/catalog')),
      );
      expect(responses.filter(({ status }) => status === 200)).to.have.length(10);
    } finally {
      await twin.close();
      await api.close();
    }
  });
});
