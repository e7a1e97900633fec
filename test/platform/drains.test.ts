import { expect } from 'chai';
import { createService, ended, readLogs, type Service } from '../support/deployments.js';
import { accept, type Collector, logRecordsOf, spansOf, startCollector } from '../support/otlp-collector.js';
import { type Platform, usePlatform } from '../support/platform.js';
import { eventually } from '../support/processes.js';

const SECRET = 'correct-horse-battery-staple';
const SERVER = {
  'server.js': `
    require('node:http').createServer((request, answer) => {
      console.log('visited ' + request.url + ' with ' + process.env.TOKEN);
      answer.end('hello');
    }).listen(process.env.PORT);`,
};

describe('A drain of a platform', function () {
  this.timeout(400_000);
  let platform: Platform;
  let collector: Collector;
  let service: Service;
  before(async () => {
    collector = await startCollector();
  });
  after(() => collector.close());
  usePlatform({ engine: 'postgres', workers: 2 }, async (started) => {
    platform = started;
  });

  async function expectAll(): Promise<void> {
    const lines = await readLogs(platform.client, service.id);
    const wanted = lines.map(({ id }) => `${service.id}-${id}`);
    await eventually('the collector has the log', async () => {
      const got = logRecordsOf(collector.stored).map(({ attributes }) => attributes['log.record.uid']);
      expect(got).to.include.members(wanted);
      return true;
    });
  }

  it('sends the log without secrets, and the trace, after the collector was away', async () => {
    const { client } = platform;
    collector.answer = (response) => response.writeHead(503).end();
    await client.expect('POST', '/drains', { endpoint: collector.url, signals: ['logs', 'metrics', 'traces'] });
    const repository = await platform.repositoryOf(SERVER);
    service = await createService(client, {
      name: 'drained',
      configuration: { repository: repository.url, runtime: 'node', startCommand: 'node server.js', plan: 'starter' },
      variables: [{ key: 'TOKEN', value: SECRET }],
    });
    const traceId = '4bf92f3577b34da6a3ce929d0e0e4736';
    const headers = { traceparent: `00-${traceId}-00f067aa0ba902b7-01` };
    const path = `/services/${service.id}/deploys`;
    const { deployment } = await client.expect<{ deployment: { id: string } }>('POST', path, {}, headers);
    const { status, error } = await ended(client, service.id, deployment.id);
    expect(status, error).to.equal('live');
    await platform.visit(service, '/while-away');
    await eventually('the collector was asked', async () => expect(collector.requests.length).to.be.above(1));
    collector.answer = accept;
    await expectAll();
    const records = logRecordsOf(collector.stored);
    const uids = records.map(({ attributes }) => attributes['log.record.uid']);
    expect(new Set(uids).size).to.equal(uids.length);
    expect(JSON.stringify(records)).to.not.include(SECRET);
    expect(records.map(({ text }) => text)).to.include('visited /while-away with ***');
    const spans = await eventually('the collector has the trace', async () => {
      const found = spansOf(collector.stored);
      expect(found.map(({ name }) => name)).to.deep.equal(['deploy drained', 'queued', 'build', 'release']);
      return found;
    });
    for (const span of spans) {
      expect(span.traceId).to.equal(traceId);
      expect(BigInt(span.endTimeUnixNano) >= BigInt(span.startTimeUnixNano)).to.equal(true);
    }
  });

  it('goes on when the worker that sends is killed', async () => {
    const [first] = platform.workers;
    first?.kill('SIGKILL');
    await platform.visit(service, '/after-the-crash');
    await eventually('the visit is logged', async () => {
      const messages = (await readLogs(platform.client, service.id)).map(({ message }) => message);
      return messages.includes('visited /after-the-crash with ***');
    });
    await expectAll();
  });
});
