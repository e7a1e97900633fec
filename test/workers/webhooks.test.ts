import { createHmac } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect } from 'chai';
import { loadConfig } from '../../shared/core/config.js';
import { createLogger } from '../../shared/core/log.js';
import { Sensitive } from '../../shared/core/sensitive.js';
import { Keyring } from '../../shared/secrets/keyring.js';
import type { WebhookEvent, WebhookFormat } from '../../shared/webhooks/model.js';
import { createWebhook, deleteOldDeliveries } from '../../shared/webhooks/store.js';
import type { WorkspaceRow } from '../../shared/workspaces/model.js';
import { postJson, type SenderDeps } from '../../workers/webhooks/post-json.js';
import { sendWebhooks, storeBudgetDeliveries } from '../../workers/webhooks/send-webhooks.js';
import { makeDeployment, makeService, makeWorkspace } from '../support/factories.js';
import { assertConforms, DOCUMENT } from '../support/openapi.js';
import { createTestDatabase, type TestDatabase } from '../support/postgres.js';

interface Received {
  path: string;
  headers: IncomingHttpHeaders;
  body: string;
}

const SECRETS_KEY = Buffer.alloc(32, 3).toString('base64');

describe('Webhooks', () => {
  let database: TestDatabase;
  let server: Server;
  let deps: SenderDeps;
  let url: string;
  let status = 200;
  const received: Received[] = [];

  before(async () => {
    database = await createTestDatabase();
    server = createServer(async (request, response) => {
      let body = '';
      for await (const chunk of request) body += chunk;
      received.push({ path: request.url ?? '', headers: request.headers, body });
      response.writeHead(status, { Location: '/elsewhere', 'Retry-After': '120' }).end();
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const config = loadConfig({ DATABASE_URL: database.url, SECRETS_KEY, ALLOW_LOCAL_REPOSITORIES: 'true' });
    const keyring = new Keyring(new Sensitive(SECRETS_KEY));
    deps = { db: database.db, keyring, config, log: createLogger('test', 'silent') };
  });
  after(async () => {
    server.close();
    await database.drop();
  });
  beforeEach(async () => {
    received.length = 0;
    status = 200;
    await database.db('webhooks').delete();
  });
  afterEach('every delivery is one that the API’s document describes', () => {
    for (const { headers, body } of received) {
      const event = headers['x-ranvier-event'];
      if (typeof event !== 'string') continue;
      const { schema } = DOCUMENT.webhooks[event].post.requestBody.content['application/json'];
      assertConforms(schema, JSON.parse(body), `${event} ${body}`);
    }
  });

  function webhook(workspace: WorkspaceRow, events: WebhookEvent[], at = url, format: WebhookFormat = 'json') {
    const input = { workspaceId: workspace.id, url: at, format, events };
    return database.db.transaction((trx) => createWebhook(trx, deps, input));
  }

  async function ended(workspace: WorkspaceRow, how: 'live' | 'failed' | 'cancelled'): Promise<string> {
    const { id } = await makeDeployment(database.db, await makeService(database.db, workspace));
    const end = { status: how, error: how === 'failed' ? 'build: exit code 9' : '', finished_at: database.db.fn.now() };
    await database.db('deployments').where({ id }).update(end);
    return id;
  }

  const makeDue = () =>
    database
      .db('webhook_deliveries')
      .whereNotNull('due_at')
      .update({ due_at: new Date(0) });

  it('tell the events they want, once, signed', async () => {
    const workspace = await makeWorkspace(database.db);
    await ended(workspace, 'failed');
    const { secret } = await webhook(workspace, ['deployment.failed', 'deployment.live'], `${url}/told?x=1`);
    const [failed, live] = [await ended(workspace, 'failed'), await ended(workspace, 'live')];
    await ended(workspace, 'cancelled');
    await ended(await makeWorkspace(database.db), 'failed');
    await sendWebhooks(deps);
    await sendWebhooks(deps);
    expect(received.map(({ body }) => JSON.parse(body).data.deploymentId)).to.have.members([failed, live]);
    const told = received.find(({ body }) => body.includes(failed));
    expect(told?.path).to.equal('/told?x=1');
    const { event, workspaceId, data } = JSON.parse(told?.body ?? '{}');
    expect({ event, workspaceId }).to.deep.equal({ event: 'deployment.failed', workspaceId: workspace.id });
    expect(data).to.include({ error: 'build: exit code 9', branch: 'main' });
    expect(data.url).to.match(/^http:\/\/service-/);
    const [, seconds, hmac] = /^t=(\d+),v1=([0-9a-f]{64})$/.exec(String(told?.headers['x-ranvier-signature'])) ?? [];
    const expected = createHmac('sha256', secret).update(`${seconds}.${told?.body}`).digest('hex');
    expect(hmac).to.equal(expected);
  });

  it('are tried again with a new signature until they are taken; redirects are not followed', async () => {
    const workspace = await makeWorkspace(database.db);
    await webhook(workspace, ['deployment.failed']);
    await ended(workspace, 'failed');
    for (const answer of [500, 302, 200]) {
      status = answer;
      await makeDue();
      await sendWebhooks(deps);
    }
    await makeDue();
    await sendWebhooks(deps);
    expect(received.map(({ path }) => path)).to.deep.equal(['/', '/', '/']);
    expect(new Set(received.map(({ headers }) => headers['x-ranvier-delivery'])).size).to.equal(1);
    const row = await database.db('webhooks').first();
    expect(row.outcome).to.equal('answered with 200');
  });

  it('never reach a private address in production, by number, by name, or by a name that changes', async () => {
    const workspace = await makeWorkspace(database.db);
    const { port } = new URL(url);
    await webhook(workspace, ['deployment.failed'], `http://hook.example.com:${port}/`);
    await webhook(workspace, ['deployment.failed'], url);
    await ended(workspace, 'failed');
    const production = { ...deps, config: { ...deps.config, allowLocalRepositories: false } };
    for (const address of ['127.0.0.1', '10.0.0.1', '::ffff:127.0.0.1', '169.254.169.254']) {
      const family = address.includes(':') ? 6 : 4;
      await makeDue();
      await sendWebhooks({
        ...production,
        resolve: async () => [
          { address: '93.184.216.34', family: 4 },
          { address, family },
        ],
      });
    }
    expect(received).to.deep.equal([]);
    const outcomes = await database.db('webhooks').select('outcome');
    for (const { outcome } of outcomes) expect(outcome).to.match(/private address/);
  });

  it('write for a chat, and wait as long as it asks, with all that waits for it', async () => {
    const workspace = await makeWorkspace(database.db);
    await webhook(workspace, ['deployment.failed'], `${url}/T0/secret`, 'slack');
    await ended(workspace, 'failed');
    status = 429;
    await sendWebhooks(deps);
    await ended(workspace, 'failed');
    await database
      .db('webhook_deliveries')
      .whereNotNull('due_at')
      .update({ due_at: new Date(0) });
    await sendWebhooks(deps);
    const chat = received.map(({ path, body }) => [path, JSON.parse(body).blocks.length]);
    expect(chat[0]).to.deep.equal(['/T0/secret', 3]);
    for (const { due_at } of await database.db('webhook_deliveries')) {
      expect(due_at.getTime()).to.be.above(Date.now() + 100_000);
    }
    const row = await database.db('webhooks').first();
    expect(row).to.include({ url: `${url}/***`, outcome: 'answered with 429' });
    received.length = 0;
  });

  it('connect to the checked address: the name is looked up once', async () => {
    let asked = 0;
    // Only this resolver knows the name, and its second answer would lead elsewhere.
    const resolve = async () => [{ address: asked++ === 0 ? '127.0.0.1' : '192.0.2.1', family: 4 }];
    const { port } = new URL(url);
    const posting = { headers: {}, body: '{}' };
    expect((await postJson({ ...deps, resolve }, `http://known.test:${port}/`, posting)).status).to.equal(200);
    expect(asked).to.equal(1);
  });

  it('tell of a budget once in a month', async () => {
    const workspace = await makeWorkspace(database.db, { budget: 1, currency: 'USD' });
    await webhook(workspace, ['budget.alert']);
    await makeService(database.db, workspace, { plan: 'pro' });
    await storeBudgetDeliveries(deps, new Date('2026-11-22T00:00:00Z'));
    await storeBudgetDeliveries(deps, new Date('2026-11-23T00:00:00Z'));
    await sendWebhooks(deps);
    expect(received.map(({ body }) => JSON.parse(body).data.threshold)).to.have.members([80, 100]);
    await database.db('webhook_deliveries').update({ created_at: new Date(0) });
    expect(await deleteOldDeliveries(database.db)).to.equal(2);
  });
});
