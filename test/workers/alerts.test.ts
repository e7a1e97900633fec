import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect } from 'chai';
import type { AlertRule } from '../../shared/alerts/model.js';
import { createAlert, findAlert } from '../../shared/alerts/store.js';
import { loadConfig } from '../../shared/core/config.js';
import { createLogger } from '../../shared/core/log.js';
import type { Mail } from '../../shared/core/mail.js';
import { Sensitive } from '../../shared/core/sensitive.js';
import { LATENCY_BOUNDS, latencyClass } from '../../shared/metrics/model.js';
import { Keyring } from '../../shared/secrets/keyring.js';
import type { ServiceRow } from '../../shared/services/rows.js';
import { MAX_WAITING, WEBHOOK_FORMATS, type WebhookEvent, type WebhookFormat } from '../../shared/webhooks/model.js';
import { createWebhook } from '../../shared/webhooks/store.js';
import type { WorkspaceRow } from '../../shared/workspaces/model.js';
import { sendAlertMails } from '../../workers/alerts/alert-mails.js';
import { MAX_PAIRS, readPairs } from '../../workers/alerts/alert-store.js';
import { evaluateAlerts } from '../../workers/alerts/evaluate-alerts.js';
import { recordTraffic } from '../../workers/edge/traffic-store.js';
import type { SenderDeps } from '../../workers/webhooks/post-json.js';
import { sendWebhooks } from '../../workers/webhooks/send-webhooks.js';
import { makeService, makeWorkspace } from '../support/factories.js';
import { assertConforms, DOCUMENT } from '../support/openapi.js';
import { createTestDatabase, type TestDatabase } from '../support/postgres.js';
import { eventually } from '../support/processes.js';
import { pretendLive } from '../support/records.js';

const SECRETS_KEY = Buffer.alloc(32, 3).toString('base64');
const EVENTS: WebhookEvent[] = ['alert.firing', 'alert.resolved'];

/** Instead of turning the clock, these tests make figures and states older. */
describe('Alerts', function () {
  this.timeout(60_000);
  let database: TestDatabase;
  let server: Server;
  let deps: SenderDeps;
  let url: string;
  let workspace: WorkspaceRow;
  let service: ServiceRow;
  let status = 200;
  let mailServer: 'takes' | 'refuses';
  // biome-ignore lint/suspicious/noExplicitAny: bodies of several formats.
  const received: any[] = [];
  const mails: Mail[] = [];

  before(async () => {
    database = await createTestDatabase();
    server = createServer(async (request, response) => {
      let body = '';
      for await (const chunk of request) body += chunk;
      if (status === 200) received.push(JSON.parse(body));
      response.writeHead(status).end();
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
    // A round covers whole minutes, so a test must not run in two of them.
    await eventually('a minute has begun', async () => new Date().getSeconds() < 55);
    received.length = 0;
    mails.length = 0;
    status = 200;
    mailServer = 'takes';
    await database.db('workspaces').delete();
    await database.db('service_metrics').delete();
    workspace = await makeWorkspace(database.db, { notificationEmail: 'ops@example.com' });
    service = await makeService(database.db, workspace);
  });

  const rule = (fields: Partial<AlertRule> & { serviceId?: string; workspaceId?: string } = {}) =>
    database.db.transaction((trx) =>
      createAlert(trx, {
        ...{ workspaceId: workspace.id, serviceId: null, metric: 'errors', above: 5, forMinutes: 3 },
        ...fields,
      }),
    );
  const webhook = (format: WebhookFormat = 'json', events = EVENTS) =>
    database.db.transaction((trx) => createWebhook(trx, deps, { workspaceId: workspace.id, url, format, events }));
  async function answered(minutesAgo: number, classes: [number, number, number, number], ms = 10): Promise<void> {
    const latency = [...LATENCY_BOUNDS, 0].map((_, index) => (index === latencyClass(ms) ? 1 : 0));
    await recordTraffic(database.db, [{ serviceId: service.id, classes, bytesOut: 0, latency }]);
    await database.db.raw(
      `update service_metrics set at = date_bin('1 minute', now(), 'epoch') - make_interval(mins => cast(? as int))
        where service_id = ? and at = (select max(at) from service_metrics where service_id = ?)`,
      [minutesAgo + 1, service.id, service.id],
    );
  }
  async function pass(minutes: number): Promise<void> {
    const earlier = `- make_interval(mins => ${minutes})`;
    await database.db.raw(`update service_metrics set at = at ${earlier}`);
    await database.db.raw(`update replica_restarts set at = at ${earlier}`);
    await database.db.raw(
      `update alert_states set seen_at = seen_at ${earlier}, since = since ${earlier}, data_at = data_at ${earlier},
              resolved_at = resolved_at ${earlier}`,
    );
  }
  const evaluate = () => evaluateAlerts(deps);
  const stateOf = async (id: string) => (await findAlert(database.db, workspace.id, id))?.states[0];
  const send = async () => {
    await database
      .db('webhook_deliveries')
      .whereNotNull('due_at')
      .update({ due_at: new Date(0) });
    await sendWebhooks(deps);
  };
  const mailer = {
    async send(mail: Mail) {
      if (mailServer === 'refuses') throw new Error('450 busy');
      mails.push(mail);
      return true;
    },
    close: () => undefined,
  };
  const mail = async () => {
    await database
      .db('alert_states')
      .whereNotNull('mail_due_at')
      .update({ mail_due_at: new Date(0) });
    await sendAlertMails({ ...deps, mailer });
  };
  async function fire(): Promise<void> {
    for (const minute of [2, 1, 0]) await answered(minute, [9, 0, 0, 1]);
    await evaluate();
  }
  async function recover(): Promise<void> {
    await pass(10);
    for (const minute of [9, 8, 7, 6, 5, 4]) await answered(minute, [10, 0, 0, 0]);
    await evaluate();
  }

  it('fire and are resolved once, by webhooks in every format and by mail', async () => {
    for (const format of WEBHOOK_FORMATS) await webhook(format);
    const { id } = await rule();
    await evaluate();
    expect(await stateOf(id)).to.include({ status: 'unknown', value: null });
    await pass(1);
    await answered(0, [9, 0, 0, 1]);
    await evaluate();
    await evaluate();
    expect(await stateOf(id), 'a second round of the same minute changes nothing').to.include({ status: 'pending' });
    await pass(2);
    for (const minute of [1, 0]) await answered(minute, [9, 0, 0, 1]);
    await evaluate();
    expect(await stateOf(id)).to.include({ status: 'firing', value: 10 });
    await send();
    await mail();
    expect(received).to.have.length(4);
    const firing = received.find(({ event }) => event === 'alert.firing');
    const { schema } = DOCUMENT.webhooks['alert.firing'].post.requestBody.content['application/json'];
    assertConforms(schema, firing, 'alert.firing');
    const about = { alertId: id, serviceId: service.id, serviceName: 'Service' };
    expect(firing.data).to.deep.include({ ...about, metric: 'errors', above: 5, forMinutes: 3, value: 10 });
    expect(JSON.stringify(received))
      .to.contain('Error rate is too high')
      .and.contain('Error rate above 5 % for 3 minutes');
    expect(mails.map(({ to, subject }) => [to, subject])).to.deep.equal([
      ['ops@example.com', 'Service: Error rate is too high'],
    ]);
    expect(mails[0]?.text).to.contain('Value: 10 %').and.contain(`/w/${workspace.id}/settings/alerts`);

    received.length = 0;
    await recover();
    await evaluate();
    expect(await stateOf(id)).to.include({ status: 'ok', value: 0 });
    await send();
    await send();
    await mail();
    await mail();
    expect(received).to.have.length(4);
    const resolved = received.find(({ event }) => event === 'alert.resolved');
    const described = DOCUMENT.webhooks['alert.resolved'].post.requestBody.content['application/json'];
    assertConforms(described.schema, resolved, 'alert.resolved');
    expect(JSON.stringify(received)).to.contain('Error rate is back to normal');
    expect(mails.map(({ subject }) => subject)).to.deep.equal([
      'Service: Error rate is too high',
      'Service: Error rate is back to normal',
    ]);
  });

  it('reach a receiver that was away as the newest state, without a flood', async () => {
    await webhook();
    await rule();
    status = 503;
    mailServer = 'refuses';
    for (let round = 0; round < 4; round++) {
      await fire();
      await send();
      await mail();
      await pass(70);
      await recover();
      await send();
      await mail();
      await pass(70);
    }
    await fire();
    expect(await database.db('webhook_deliveries').whereNotNull('due_at')).to.have.length(1);
    [status, mailServer] = [200, 'takes'];
    await send();
    await send();
    await mail();
    await mail();
    expect(received.map(({ event }) => event)).to.deep.equal(['alert.firing']);
    expect(mails.map(({ subject }) => subject)).to.deep.equal(['Service: Error rate is too high']);
  });

  it('reach a receiver for which as many deliveries wait as may: the newest takes the place of the one before', async () => {
    const { webhook: row } = await webhook();
    await rule();
    await fire();
    await database.db.raw(
      `insert into webhook_deliveries (id, webhook_id, event, subject, data, happened_at)
       select gen_random_uuid(), ?, 'run.failed', n::text, '{}', now() from generate_series(2, ?) as n`,
      [row.id, MAX_WAITING],
    );
    await recover();
    const waiting = await database.db('webhook_deliveries').whereNotNull('due_at').whereLike('event', 'alert.%');
    expect(waiting.map(({ event }) => event)).to.deep.equal(['alert.resolved']);
    expect(await database.db('webhook_deliveries')).to.have.length(MAX_WAITING);
  });

  it('keep what a receiver of one event alone has not got', async () => {
    await webhook('json', ['alert.firing']);
    await rule();
    await fire();
    await recover();
    await send();
    expect(received.map(({ event }) => event)).to.deep.equal(['alert.firing']);
  });

  it('are decided once, although two leaders look at the same time', async () => {
    await webhook();
    await rule();
    for (const minute of [2, 1, 0]) await answered(minute, [9, 0, 0, 1]);
    await Promise.all([evaluate(), evaluate()]);
    await send();
    expect(received).to.have.length(1);
  });

  it('have a state for each service of the workspace, and none of another one', async () => {
    const other = await makeService(database.db);
    const second = await makeService(database.db, workspace);
    const { id } = await rule();
    const own = await rule({ serviceId: second.id });
    await fire();
    const states = (await findAlert(database.db, workspace.id, id))?.states ?? [];
    expect(states.map(({ service_id: serviceId, status }) => [serviceId, status])).to.deep.equal([
      [service.id, 'firing'],
      [second.id, 'unknown'],
    ]);
    expect((await findAlert(database.db, workspace.id, own.id))?.states).to.have.length(1);
    expect(await database.db('alert_states').where({ service_id: other.id })).to.deep.equal([]);
    await mail();
    expect(mails).to.have.length(1);
  });

  it('mail all that began at once in one mail', async () => {
    await rule();
    await rule({ metric: 'latency_p99', above: 5 });
    await fire();
    await mail();
    expect(mails.map(({ subject }) => subject)).to.deep.equal(['2 alerts of Workspace']);
    expect(mails[0]?.text)
      .to.contain('Service: Error rate is too high')
      .and.contain('Service: Latency (p99) is too high');
  });

  it('make up for rounds that were missed', async () => {
    await webhook();
    const { id } = await rule();
    await evaluate();
    await pass(60);
    for (const minute of [50, 49, 48]) await answered(minute, [0, 0, 0, 1]);
    await evaluate();
    expect(await stateOf(id)).to.include({ status: 'firing', value: 100 });
  });

  it('are evaluated first where the last evaluation is oldest, if there are too many for one statement', async () => {
    const { db } = database;
    const other = await makeWorkspace(db);
    await makeService(db, other);
    await rule();
    await rule({ workspaceId: other.id });
    await evaluate();
    const { all } = MAX_PAIRS;
    MAX_PAIRS.all = 1;
    try {
      for (const { id } of [workspace, other]) {
        await db.raw(
          `update alert_states st set seen_at = now() - make_interval(mins => case when r.workspace_id = ? then 20 else 10 end)
             from alert_rules r where r.id = st.alert_id`,
          [id],
        );
        const pairs = await db.transaction(readPairs);
        expect(pairs.map((pair) => pair.workspace_id)).to.deep.equal([id]);
      }
    } finally {
      MAX_PAIRS.all = all;
    }
  });

  it('watch processor, memory, latency, restarts, disks and certificates', async () => {
    const { db } = database;
    await pretendLive(db, service.id);
    const metrics = { cpu: 80, memory: 80, latency_p99: 500, restarts: 2, disk: 90, certificate: 14 } as const;
    const ids = new Map<string, string>();
    for (const [metric, above] of Object.entries(metrics)) {
      ids.set(metric, (await rule({ metric: metric as keyof typeof metrics, above, forMinutes: 1 })).id);
    }
    await answered(0, [1, 0, 0, 0], 900);
    await db('service_metrics').where({ service_id: service.id }).update({ samples: 2, cpu: 170, memory: 190 });
    for (let restart = 0; restart < 3; restart++) {
      await db('replica_restarts').insert({ service_id: service.id, at: db.raw(`now() - interval '1 minute'`) });
    }
    await db.raw(`update replica_restarts set at = date_bin('1 minute', now(), 'epoch') - interval '20 seconds'`);
    await db('volumes').insert({
      ...{ id: service.id, service_id: service.id, name: 'data', mount_path: '/data', size_gb: 2 },
      ...{ used_bytes: 1_900_000_000, measured_at: new Date() },
    });
    await db('domains').insert({
      ...{ id: service.id, workspace_id: workspace.id, service_id: service.id, hostname: 'shop.example.com' },
      ...{ status: 'active', certificate_until: db.raw(`now() + interval '3 days 1 hour'`) },
    });
    await evaluate();
    const values: Record<string, unknown> = {};
    for (const [metric, id] of ids) {
      const state = await stateOf(id);
      expect(state?.status, metric).to.equal('firing');
      values[metric] = Math.round((state?.value ?? 0) * 10) / 10;
    }
    expect(values).to.deep.include({ cpu: 85, memory: 95, restarts: 3, disk: 95, certificate: 3 });
    expect(values.latency_p99).to.be.within(750, 1000);
  });

  it('have no value of restarts while the service is suspended: what fires goes on', async () => {
    const { db } = database;
    await pretendLive(db, service.id);
    const { id } = await rule({ metric: 'restarts', above: 0, forMinutes: 1 });
    await db('replica_restarts').insert({
      service_id: service.id,
      at: db.raw(`date_bin('1 minute', now(), 'epoch') - interval '1 second'`),
    });
    await evaluate();
    await db('services').where({ id: service.id }).update({ lifecycle_status: 'suspended' });
    for (let minute = 0; minute < 7; minute++) {
      await pass(1);
      await evaluate();
    }
    expect(await stateOf(id)).to.include({ status: 'firing', value: 1 });
    await db('services').where({ id: service.id }).update({ lifecycle_status: 'active' });
    for (let minute = 0; minute < 5; minute++) {
      await pass(1);
      await evaluate();
    }
    expect(await stateOf(id)).to.include({ status: 'ok', value: 0 });
  });

  it('watch the storage of a database by its plan', async () => {
    const { db } = database;
    service = await makeService(db, workspace, { plan: 'starter' }, 'postgres');
    await pretendLive(db, service.id);
    await db('data_servers').insert({
      ...{ id: service.id, kind: 'postgres', version: '17', database_name: 'a', user_name: 'a' },
      ...{ used_bytes: 1024 ** 3, measured_at: new Date() },
    });
    const { id } = await rule({ metric: 'disk', above: 1, forMinutes: 1, serviceId: service.id });
    await evaluate();
    // The plan has 10 GB.
    expect(await stateOf(id)).to.include({ status: 'firing', value: 10 });
  });
});
