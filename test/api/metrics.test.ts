import { expect } from 'chai';
import { Sensitive } from '../../shared/core/sensitive.js';
import { SERIES_NAMES } from '../../shared/metrics/model.js';
import { recordTraffic } from '../../workers/edge/traffic-store.js';
import { expectError, type Json, newService, type TestApi, type TestWorkspace, useTestApi } from '../support/api.js';

const TOKEN = 'a-token-of-prometheus';

describe('The figures of a service', () => {
  let api: TestApi;
  let workspace: TestWorkspace;
  let service: Json;

  useTestApi((given) => ({ api, workspace } = given), { metricsToken: new Sensitive(TOKEN), metricsServices: 2 });
  beforeEach(async () => {
    service = await newService(workspace.owner.client, workspace.path);
  });
  const get = (query = '', id = service.id) =>
    workspace.owner.client.get(`${workspace.path}/services/${id}/metrics${query}`);
  const answered = (serviceId: string, count: number) =>
    recordTraffic(api.db, [{ serviceId, classes: [count, 0, 0, 1], bytesOut: 700, latency: [0, 0, count + 1] }]);

  it('are series of the last hour, in steps of 15 seconds', async () => {
    await answered(service.id, 5);
    const { status, body } = await get();
    expect(status).to.equal(200);
    expect(body.metrics.stepSeconds).to.equal(15);
    expect(body.metrics.series.map(({ name }: Json) => name)).to.deep.equal(SERIES_NAMES);
    const of = (name: string) => body.metrics.series.find((one: Json) => one.name === name);
    const [[timestamp, value]] = of('requests_2xx').points;
    expect(Date.parse(timestamp) % 15_000).to.equal(0);
    expect(Date.now() - Date.parse(timestamp)).to.be.within(0, 60_000);
    expect(value).to.equal(5);
    expect(of('bytes_out')).to.deep.equal({ name: 'bytes_out', unit: 'bytes', points: [[timestamp, 700]] });
    expect(of('latency_p99').points[0][1]).to.be.within(2, 3);
    expect(of('cpu')).to.deep.equal({ name: 'cpu', unit: 'percent', points: [] });
  });

  it('become coarser with the hours that are asked for', async () => {
    for (const [hours, step] of [
      [3, 15],
      [24, 300],
      [744, 3600],
    ]) {
      expect((await get(`?hours=${hours}`)).body.metrics.stepSeconds).to.equal(step);
    }
  });

  it('are refused for hours out of bounds, with the field', async () => {
    for (const hours of ['0', '745', '-1', '1.5', 'all', '']) {
      const answer = await get(`?hours=${hours}`);
      expectError(answer, 400, 'invalid_request');
      expect(answer.body.error.details[0].path, hours).to.equal('query.hours');
    }
  });

  it('are nobody else’s', async () => {
    const other = await api.workspace();
    expectError(await other.owner.client.get(`${workspace.path}/services/${service.id}/metrics`), 404, 'not_found');
    expectError(await other.owner.client.get(`${other.path}/services/${service.id}/metrics`), 404, 'not_found');
  });

  it('are named in /metrics for the busiest services; all others are one sum', async () => {
    const services = [service];
    for (let n = 0; n < 3; n++) services.push(await newService(workspace.owner.client, workspace.path));
    await api.db('service_metrics').delete();
    for (const [index, { id }] of services.entries()) await answered(id, 10 * (index + 1));
    // The endpoint shows only minutes that have ended.
    await api.db.raw(`update service_metrics set at = at - interval '15 seconds'`);
    const response = await fetch(`${api.url}/metrics`, { headers: { Authorization: `Bearer ${TOKEN}` } });
    const lines = (await response.text())
      .split('\n')
      .filter((line) => line.startsWith('ranvier_service_requests_per_minute'));
    expect(lines.filter((line) => line.includes('status="2xx"'))).to.have.members([
      `ranvier_service_requests_per_minute{service="${services[3]?.internalHost}",status="2xx"} 40`,
      `ranvier_service_requests_per_minute{service="${services[2]?.internalHost}",status="2xx"} 30`,
      'ranvier_service_requests_per_minute{service="_others",status="2xx"} 30',
    ]);
  });
});
