import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect } from 'chai';
import type { Db } from '../../shared/core/database/database-client.js';
import { deploy, type Service } from '../support/deployments.js';
import { type Platform, usePlatform } from '../support/platform.js';
import { eventually } from '../support/processes.js';

const SERVER = `
  require('node:http').createServer((request, response) => {
    response.statusCode = request.url === '/fail' ? 500 : 200;
    response.end('answered');
  }).listen(process.env.PORT);
`;
const FILES = { 'index.js': SERVER, 'package.json': '{ "main": "index.js" }' };
/** Alerts are decided five seconds after each minute. */
const ROUND_MS = 150_000;

interface Delivery {
  event: string;
  data: { serviceId: string; value: number };
}

/** The real worker decides by figures of the real edge, whose times the test moves into the past. */
describe('Alerts of a platform', function () {
  this.timeout(360_000);
  let platform: Platform;
  let receiver: Server;
  let service: Service;
  const received: Delivery[] = [];

  usePlatform({ engine: 'postgres', env: { METRICS_SECONDS: '1' } }, (started) => {
    platform = started;
  });
  before(async () => {
    receiver = createServer(async (request, response) => {
      let body = '';
      for await (const chunk of request) body += chunk;
      received.push(JSON.parse(body));
      response.end();
    }).listen(0, '127.0.0.1');
    await once(receiver, 'listening');
  });
  after(() => receiver.close());

  async function visited(path: string, minutes: number): Promise<void> {
    const { db } = platform.database;
    const { rowCount } = await db.raw(
      'select from service_metrics where service_id = ? and requests_2xx + requests_5xx > 0',
      [service.id],
    );
    expect(rowCount, 'no figures before').to.equal(0);
    await platform.visit(service, path);
    await eventually('the visit is counted', async () => {
      const { rowCount: counted } = await db.raw(
        'select from service_metrics where service_id = ? and step = 15 and requests_2xx + requests_5xx > 0',
        [service.id],
      );
      return counted > 0;
    });
    // The rule that the test makes next needs figures of the same minute.
    await eventually('a minute has begun', () => new Date().getSeconds() < 50);
    await db.transaction((trx) => spread(trx, minutes));
  }

  async function spread(trx: Db, minutes: number): Promise<void> {
    await trx.raw(
      `with moved as (
         delete from service_metrics where service_id = :id and step = 15 and requests_2xx + requests_5xx > 0 returning *
       )
       insert into service_metrics as m (service_id, step, at, requests_2xx, requests_5xx, latency)
       select service_id, step, date_bin('1 minute', now(), 'epoch') - make_interval(mins => minute), sum(requests_2xx),
              sum(requests_5xx), sum_counts(latency)
         from moved cross join generate_series(0, cast(:minutes as int)) as minute group by service_id, step, minute
       on conflict (service_id, step, at) do update
         set requests_2xx = excluded.requests_2xx, requests_5xx = excluded.requests_5xx, latency = excluded.latency`,
      { id: service.id, minutes },
    );
    await trx.raw(
      `update alert_states set seen_at = date_bin('1 minute', now(), 'epoch') - make_interval(mins => cast(? as int))`,
      [minutes],
    );
  }

  it('fire for a service that answers 5xx', async () => {
    ({ service } = await platform.serviceOf('shop', FILES, { startCommand: 'node index.js' }));
    await deploy(platform.client, service.id);
    const { port } = receiver.address() as AddressInfo;
    await platform.client.expect('POST', '/webhooks', {
      ...{ url: `http://127.0.0.1:${port}/`, events: ['alert.firing'] },
    });
    await platform.database.db('service_metrics').where({ service_id: service.id }).delete();
    await visited('/fail', 3);
    const rule = { metric: 'errors', above: 50, forMinutes: 2, serviceId: service.id };
    const { alert } = await platform.client.expect<{ alert: { id: string } }>('POST', '/alerts', rule);
    const states = async () => {
      const answer = await platform.client.expect<{ alert: { states: object[] } }>('GET', `/alerts/${alert.id}`);
      return answer.alert.states;
    };
    await eventually('the failure is told', () => received.length > 0, ROUND_MS);
    expect(received[0]).to.deep.include({ event: 'alert.firing' });
    expect(received[0]?.data).to.include({ serviceId: service.id, value: 100 });
    expect(await states()).to.have.nested.property('[0].status', 'firing');
  });
});
