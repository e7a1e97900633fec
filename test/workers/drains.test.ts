import { expect } from 'chai';
import { createLogger } from '../../shared/core/log.js';
import { Keyring } from '../../shared/secrets/keyring.js';
import { DrainSender } from '../../workers/drains/send-drains.js';
import { storeLines } from '../../workers/logs/store-lines.js';
import type { SenderDeps } from '../../workers/webhooks/post-json.js';
import { expectError, type Json, newService, type TestApi, type TestWorkspace, useTestApi } from '../support/api.js';
import { accept, type Collector, logRecordsOf, pointsOf, spansOf, startCollector } from '../support/otlp-collector.js';
import { Rnv } from '../support/rnv.js';

const TRACE = { traceId: '4bf92f3577b34da6a3ce929d0e0e4736', spanId: '00f067aa0ba902b7' };

describe('Drains', () => {
  let api: TestApi;
  let workspace: TestWorkspace;
  let collector: Collector;
  let deps: SenderDeps;
  let sender: DrainSender;

  useTestApi((given) => {
    ({ api } = given);
    const keyring = new Keyring(api.config.secretsKey);
    deps = { db: api.db, keyring, config: api.config, log: createLogger('test', 'silent') };
  });
  beforeEach(async () => {
    await api.db('drains').delete();
    workspace = await api.workspace();
    collector = await startCollector();
    sender = new DrainSender(deps);
  });
  afterEach('what was sent is OTLP', async () => {
    await collector.close();
    expect(collector.faults).to.deep.equal([]);
  });

  const drainsOf = (of: TestWorkspace) => `${of.path}/drains`;
  async function drain(body: object = {}, of = workspace): Promise<Json> {
    const answer = await of.owner.client.post(drainsOf(of), { endpoint: collector.url, signals: ['logs'], ...body });
    expect(answer.status, JSON.stringify(answer.body)).to.equal(201);
    return answer.body.drain;
  }
  const read = async ({ id }: Json): Promise<Json> =>
    (await workspace.owner.client.get(`${drainsOf(workspace)}/${id}`)).body.drain;
  const service = (of = workspace): Promise<Json> =>
    newService(of.owner.client, of.path, { configuration: { repository: 'https://example.com/shop.git' } });

  async function print({ id: serviceId }: Json, ...messages: string[]): Promise<void> {
    const timestamp = '2026-11-27T10:00:00.123Z';
    const lines = messages.map((message) => ({ level: 'info' as const, message, timestamp }));
    expect(await storeLines(api.db, { serviceId, deploymentId: null, source: 'runtime', lines })).to.equal(true);
  }
  const numbered = (from: number, count: number) => Array.from({ length: count }, (_, n) => `line ${from + n}`);
  const texts = () => logRecordsOf(collector.stored).map(({ text }) => text);

  async function send(by = sender): Promise<void> {
    await api.db('drain_signals').update({ due_at: new Date(0) });
    await by.start();
    await by.settled();
  }
  async function sendAll(): Promise<void> {
    // Each call of `start` serves one signal of a drain.
    for (let turn = 0; turn < 3; turn++) {
      await sender.start();
      await sender.settled();
    }
  }

  async function end(deployment: Json, status: string, error = ''): Promise<void> {
    const steps = ['queued', 'build'].map((name, n) => ({
      ...{ name, startedAt: `2026-11-27T10:00:0${n}.000Z`, finishedAt: `2026-11-27T10:00:0${n + 1}.000Z` },
    }));
    const ended = { status, error, steps: JSON.stringify(steps), finished_at: api.db.fn.now() };
    await api.db('deployments').where({ id: deployment.id }).update(ended);
  }

  it('are made with headers that no answer has, up to five, and deleted', async () => {
    const { client } = workspace.owner;
    const made = await drain({ name: 'Ours', headers: { Authorization: 'Bearer secret-word' } });
    expect(made).to.deep.equal({
      ...{
        id: made.id,
        name: 'Ours',
        endpoint: collector.url,
        signals: ['logs'],
        serviceId: null,
        createdAt: made.createdAt,
      },
      ...{ headerNames: ['Authorization'], lastSentAt: null, lastError: '', behindSeconds: 0, droppedLines: 0 },
    });
    expect((await client.get(drainsOf(workspace))).body.drains).to.deep.equal([made]);
    expect(JSON.stringify([await api.db('drains'), await api.db('receipts')])).to.not.include('secret-word');
    for (let n = 0; n < 4; n++) await drain();
    const sixth = await client.post(drainsOf(workspace), { endpoint: collector.url, signals: ['logs'] });
    expectError(sixth, 409, 'capacity_exceeded');
    expect((await client.delete(`${drainsOf(workspace)}/${made.id}`)).body).to.deep.equal({ deleted: true });
    expectError(await client.get(`${drainsOf(workspace)}/${made.id}`), 404, 'not_found');
    expectError(await client.delete(`${drainsOf(workspace)}/${made.id}`), 404, 'not_found');
  });

  it('are added, listed and removed with rnv, which reads headers from stdin', async () => {
    const rnv = await Rnv.create();
    const env = { RNV_URL: api.url, RNV_KEY: workspace.owner.key };
    const run = async (input: string, ...args: string[]) => {
      const result = await rnv.run(['drains', ...args], { env, input });
      expect(result.code, result.stderr).to.equal(0);
      return result.stdout;
    };
    const shop = await service();
    const headers = JSON.stringify({ Authorization: 'Bearer secret-word' });
    const id = await run(headers, 'add', collector.url, '--signals', 'logs,traces', '--headers', '-', '-s', shop.id);
    const [made] = (await workspace.owner.client.get(drainsOf(workspace))).body.drains;
    expect(made).to.include({ id: id.trim(), serviceId: shop.id });
    expect(made).to.deep.include({ signals: ['logs', 'traces'], headerNames: ['Authorization'] });
    await print(shop, 'one');
    await send();
    await send();
    expect(collector.requests[0]?.headers.authorization).to.equal('Bearer secret-word');
    expect(await run('', 'list')).to.match(new RegExp(`^${made.id} +${collector.url} +logs,traces +last sent `));
    await run('', 'remove', collector.url, '--yes');
    expect(await run('', 'list')).to.equal('');
    await rnv.remove();
  });

  it('refuse what cannot be an endpoint, headers of the platform, and services of others', async () => {
    const other = await api.workspace();
    const cases: [object, string][] = [
      [{ endpoint: 'ftp://example.com' }, '/endpoint'],
      [{ endpoint: 'https://example.com/?key=1' }, '/endpoint'],
      [{ endpoint: 'https://example.com/v1/logs' }, '/endpoint'],
      [{ signals: [] }, '/signals'],
      [{ signals: ['profiles'] }, '/signals/0'],
      [{ headers: { Host: 'example.com' } }, '/headers/Host'],
      [{ headers: { Name: 'a\nb' } }, '/headers/Name'],
      [{ serviceId: (await service(other)).id }, '/serviceId'],
    ];
    for (const [body, path] of cases) {
      const given = { endpoint: 'https://example.com', signals: ['logs'], ...body };
      const refused = await workspace.owner.client.post(drainsOf(workspace), given);
      expectError(refused, 400, 'invalid_request');
      expect(refused.body.error.details[0].path).to.equal(path);
    }
  });

  it('send the lines after their creation, once, with the headers, in the order of the log', async () => {
    const shop = await service();
    await print(shop, 'before');
    const made = await drain({ endpoint: `${collector.url}/otlp/`, headers: { 'X-Key': 'secret-word' } });
    await print(shop, 'one', 'two');
    const late = await service();
    await print(late, 'of a new service');
    await send();
    await send();
    expect(texts()).to.have.members(['one', 'two', 'of a new service']);
    const [request] = collector.requests;
    expect(collector.requests.length).to.equal(1);
    expect(request?.path).to.equal('/otlp/v1/logs');
    expect(request?.headers).to.include({ 'x-key': 'secret-word', 'content-type': 'application/json' });
    const [one, two] = logRecordsOf(collector.stored).filter(
      ({ resource }) => resource['ranvier.service.id'] === shop.id,
    );
    expect([one.text, two.text]).to.deep.equal(['one', 'two']);
    expect(one).to.include({ severityText: 'INFO', timeUnixNano: '1795773600123000000' });
    expect(one.attributes).to.deep.equal({ 'log.record.uid': `${shop.id}-2`, 'ranvier.log.source': 'runtime' });
    expect(one.resource).to.include({ 'service.name': shop.name, 'ranvier.workspace.id': workspace.id });
    const shown = await read(made);
    expect(shown).to.include({ lastError: '', behindSeconds: 0, droppedLines: 0 });
    expect(shown.lastSentAt).to.not.equal(null);
  });

  it('lose nothing and repeat nothing while the collector is away, wait as it asks, and catch up in batches', async () => {
    const [shop, quiet] = [await service(), await service()];
    const made = await drain();
    collector.answer = (response) => response.writeHead(503, { 'Retry-After': '120' }).end();
    const expected: string[] = [];
    for (let n = 0; n < 5; n++) {
      const lines = numbered(n * 1000, 1000);
      await print(shop, ...lines);
      expected.push(...lines);
      await sender.start();
      await sender.settled();
    }
    await print(quiet, 'quiet');
    // The first request was refused, and the pause has not ended.
    expect(collector.requests.length).to.equal(1);
    const [{ due_at }] = await api.db('drain_signals');
    expect(due_at.getTime()).to.be.within(Date.now() + 100_000, Date.now() + 121_000);
    const waiting = await read(made);
    expect(waiting.lastError).to.equal('logs: answered with 503');
    expect(waiting.behindSeconds).to.be.above(0);

    collector.answer = accept;
    // Two processes may both believe that they lead.
    await api.db('drain_signals').update({ due_at: new Date(0) });
    const second = new DrainSender(deps);
    await Promise.all([sender.start(), second.start()]);
    await Promise.all([sender.settled(), second.settled()]);
    await send();
    expect(texts().filter((text) => text !== 'quiet')).to.deep.equal(expected);
    expect(texts().filter((text) => text === 'quiet').length).to.equal(1);
    expect(collector.atOnce).to.equal(1);
    for (const { message } of collector.stored) expect(logRecordsOf([{ message } as Json]).length).to.be.at.most(1000);
    expect(await read(made)).to.include({ lastError: '', behindSeconds: 0, droppedLines: 0 });
  });

  it('are sent again by another worker if one dies, and a worker that was replaced records nothing', async () => {
    const shop = await service();
    await drain();
    await print(shop, 'one');
    // The first worker gets its answer only after the second one has sent.
    let release = () => {};
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    collector.answer = async (response) => {
      collector.answer = accept;
      await held;
      accept(response);
    };
    await sender.start();
    while (collector.requests.length === 0) await new Promise((resolve) => setImmediate(resolve));
    await send(new DrainSender(deps));
    await print(shop, 'two');
    await send(new DrainSender(deps));
    release();
    await sender.settled();
    await send();
    expect(texts().sort()).to.deep.equal(['one', 'one', 'two']);
    expect((await api.db('drain_lines'))[0].last_id).to.equal(2);
  });

  it('say what a collector refuses, and go on; a wrong key loses nothing, and is not shown', async () => {
    const shop = await service();
    const made = await drain({ headers: { Authorization: 'Bearer secret-word' } });
    const answers = [
      (response: Json) => response.writeHead(400).end(JSON.stringify({ code: 3, message: 'bad lines' })),
      (response: Json) =>
        response.end(JSON.stringify({ partialSuccess: { rejectedLogRecords: '1', errorMessage: 'too old' } })),
      (response: Json) => response.writeHead(401).end(JSON.stringify({ message: 'no key is Bearer secret-word' })),
      (response: Json) => response.writeHead(302, { Location: `${collector.url}/elsewhere` }).end(),
      accept,
    ];
    const errors: string[] = [];
    for (const [n, answer] of answers.entries()) {
      collector.answer = answer;
      if (n < 3) await print(shop, `a${n}`, `b${n}`);
      await send();
      errors.push((await read(made)).lastError);
    }
    expect(errors).to.deep.equal([
      'logs: 2 records were refused: answered with 400: bad lines',
      'logs: the collector rejected 1 records: too old',
      'logs: answered with 401: no key is ***',
      'logs: answered with 302',
      '',
    ]);
    expect(texts()).to.deep.equal(['a1', 'b1', 'a2', 'b2']);
    expect((await read(made)).droppedLines).to.equal(3);
  });

  it('say what retention has deleted before it could be sent', async () => {
    const shop = await service();
    const made = await drain();
    await print(shop, 'one', 'two', 'three');
    await api.db('log_lines').where('service_id', shop.id).where('id', '<', 3).delete();
    await send();
    expect(texts()).to.deep.equal(['three']);
    const shown = await read(made);
    expect(shown.lastError).to.equal('logs: 2 lines were deleted before they could be sent');
    expect(shown.droppedLines).to.equal(2);
    await print(shop, 'said for an hour');
    await send();
    expect((await read(made)).lastError).to.include('2 lines');
    await print(shop, 'four');
    await api.db('log_lines').where('service_id', shop.id).delete();
    await send();
    expect(await read(made)).to.include({ droppedLines: 3, behindSeconds: 0 });
  });

  it('keep tenants apart: nothing of another workspace or service, and no wait for a collector that hangs', async () => {
    const other = await api.workspace();
    const [mine, second, theirs] = [await service(), await service(), await service(other)];
    const hanging = await startCollector();
    hanging.answer = () => new Promise(() => {});
    for (let n = 0; n < 5; n++) await drain({ endpoint: hanging.url }, other);
    await drain({ serviceId: mine.id, signals: ['logs', 'metrics', 'traces'] });
    await print(theirs, 'theirs');
    await print(second, 'second');
    await print(mine, 'mine');
    await sender.start();
    while (texts().length === 0) await sender.start();
    expect(texts()).to.deep.equal(['mine']);
    expect(hanging.requests.length).to.be.at.most(5);
    await hanging.close();
    await sender.settled();
    const [{ error }] = await api.db('drain_signals').whereNot('error', '');
    expect(error).to.match(/^not sent: /);
  });

  it('never reach a private address in production, by number or by name', async () => {
    const shop = await service();
    const { port } = new URL(collector.url);
    const made = await drain({ endpoint: `http://collector.example.com:${port}` });
    await print(shop, 'one');
    const config = { ...api.config, allowLocalRepositories: false };
    const resolve = async () => [{ address: '127.0.0.1', family: 4 }];
    await send(new DrainSender({ ...deps, config, resolve }));
    expect(collector.requests).to.deep.equal([]);
    expect((await read(made)).lastError).to.equal('logs: not sent: it is at the private address 127.0.0.1');
  });

  it('send the steps of metrics that are complete', async () => {
    const shop = await service();
    await drain({ signals: ['metrics'] });
    await api.db('drain_signals').update({ sent_until: new Date(Date.now() - 600_000) });
    const at = new Date(Math.floor((Date.now() - 300_000) / 15_000) * 15_000);
    const latency = Array.from({ length: 24 }, (_, n) => (n === 3 ? 6 : 0));
    const step = { service_id: shop.id, step: 15, counts: 2, replicas: 4, samples: 4, cpu: 100, memory: 50, latency };
    await api.db('service_metrics').insert([
      { ...step, at, requests_2xx: 5, requests_5xx: 1, bytes_out: 1000 },
      { ...step, at: new Date() },
      { ...step, at, step: 300 },
    ]);
    const restarts = [at.getTime() - 1, at.getTime(), at.getTime() + 14_999, at.getTime() + 15_000];
    await api.db('replica_restarts').insert(restarts.map((time) => ({ service_id: shop.id, at: new Date(time) })));
    await send();
    await send();
    const values = (name: string) => pointsOf(collector.stored, `ranvier.service.${name}`);
    expect(values('cpu.utilization').map(({ asDouble }) => asDouble)).to.deep.equal([0.25]);
    expect(values('memory.utilization').map(({ asDouble }) => asDouble)).to.deep.equal([0.125]);
    expect(values('replicas').map(({ asDouble }) => asDouble)).to.deep.equal([2]);
    expect(
      values('requests').map(({ asInt, attributes }) => [attributes['http.response.status_class'], asInt]),
    ).to.deep.equal([
      ['2xx', '5'],
      ['5xx', '1'],
    ]);
    const [histogram] = values('latency');
    expect(histogram).to.include({ count: '6', startTimeUnixNano: `${at.getTime()}000000` });
    expect(histogram.bucketCounts[3]).to.equal('6');
    expect(histogram.timeUnixNano).to.equal(`${at.getTime() + 15_000}000000`);
    expect(values('restarts').map(({ asInt }) => asInt)).to.deep.equal(['2']);
    expect(values('volume.usage')).to.deep.equal([]);
  });

  it('send one trace of each deployment, once, below the trace of its caller', async () => {
    const shop = await service();
    await drain({ signals: ['traces'] });
    const deploy = async (headers = {}) =>
      (await workspace.owner.client.post(`${workspace.path}/services/${shop.id}/deploys`, {}, headers)).body.deployment;
    const traced = await deploy({ traceparent: `00-${TRACE.traceId}-${TRACE.spanId}-01` });
    const plain = await deploy({ traceparent: `00-${TRACE.traceId}-0000000000000000-01` });
    await end(traced, 'live');
    await send();
    await end(plain, 'failed', 'build: exit code 9');
    await send();
    await send();
    const [root, queued, build, ...rest] = spansOf(collector.stored);
    expect(root).to.include({ ...{ traceId: TRACE.traceId, parentSpanId: TRACE.spanId }, name: `deploy ${shop.name}` });
    expect(root.status).to.deep.equal({ code: 1 });
    expect(root.attributes).to.include({ 'ranvier.deployment.id': traced.id, 'vcs.ref.head.name': 'main' });
    for (const [span, name] of [
      [queued, 'queued'],
      [build, 'build'],
    ]) {
      expect(span).to.include({ traceId: TRACE.traceId, parentSpanId: root.spanId, name });
    }
    expect(queued).to.include({ startTimeUnixNano: '1795773600000000000', endTimeUnixNano: '1795773601000000000' });
    expect(rest.length).to.equal(3);
    expect(rest[0]).to.include({ traceId: plain.id.replaceAll('-', '') });
    expect(rest[0]).to.not.have.property('parentSpanId');
    expect(rest.map(({ status }) => status)).to.deep.equal([
      { code: 2, message: 'build: exit code 9' },
      {},
      { code: 2, message: 'build: exit code 9' },
    ]);
    expect(new Set(spansOf(collector.stored).map(({ spanId }) => spanId)).size).to.equal(6);
  });

  it('serve signals apart: an address that takes no traces holds up no logs', async () => {
    const shop = await service();
    const made = await drain({ signals: ['traces', 'logs'] });
    const { body } = await workspace.owner.client.post(`${workspace.path}/services/${shop.id}/deploys`);
    await end(body.deployment, 'live');
    await print(shop, 'one');
    collector.answer = (response, { path }) =>
      path === '/v1/traces' ? response.writeHead(404).end() : accept(response);
    await sendAll();
    await print(shop, 'two');
    await api
      .db('drain_signals')
      .where({ signal: 'logs' })
      .update({ due_at: new Date(0) });
    await sendAll();
    expect(texts()).to.deep.equal(['one', 'two']);
    expect((await read(made)).lastError).to.equal('traces: answered with 404');
  });
});
