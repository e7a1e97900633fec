import { expect } from 'chai';
import { MAX_ALERTS } from '../../shared/alerts/model.js';
import { deleteAlertsOfGone } from '../../shared/alerts/store.js';
import { expectError, type Json, newService, type TestApi, type TestWorkspace, useTestApi } from '../support/api.js';

const ERRORS = { metric: 'errors', above: 5, forMinutes: 10 };

describe('Alert rules', () => {
  let api: TestApi;
  let workspace: TestWorkspace;
  let path: string;

  useTestApi((given) => ({ api } = given));
  beforeEach(async () => {
    workspace = await api.workspace();
    path = `${workspace.path}/alerts`;
  });

  const add = (body: object = {}) => workspace.owner.client.post(path, { ...ERRORS, ...body });

  it('are made, read, changed and deleted', async () => {
    const { client } = workspace.owner;
    const service = await newService(client, workspace.path);
    const { status, body } = await add({ serviceId: service.id });
    expect(status, JSON.stringify(body)).to.equal(201);
    const { alert } = body;
    expect(alert).to.deep.include({ ...ERRORS, serviceId: service.id, states: [] });
    const every = (await add({ metric: 'latency_p99', above: 2500.5 })).body.alert;
    expect(every).to.include({ serviceId: null, above: 2500.5 });
    expect((await client.get(path)).body.alerts).to.deep.equal([every, alert]);
    expect((await client.get(`${path}?limit=1`)).body.page).to.include({ hasMore: true });

    const changed = await client.patch(`${path}/${alert.id}`, { above: 20 });
    expect(changed.body.alert).to.deep.equal({ ...alert, above: 20 });
    expect((await client.patch(`${path}/${alert.id}`, { forMinutes: 3 })).body.alert.forMinutes).to.equal(3);
    expect((await client.get(`${path}/${alert.id}`)).body.alert).to.deep.equal({ ...alert, above: 20, forMinutes: 3 });

    expect((await client.delete(`${path}/${alert.id}`)).body).to.deep.equal({ deleted: true });
    expectError(await client.get(`${path}/${alert.id}`), 404, 'not_found');
    expectError(await client.delete(`${path}/${alert.id}`), 404, 'not_found');
    expectError(await client.patch(`${path}/${alert.id}`, { above: 1 }), 404, 'not_found');
  });

  it('are refused with the path of the field', async () => {
    const { client } = workspace.owner;
    const stranger = await api.workspace();
    const foreign = await newService(stranger.owner.client, stranger.path);
    const cases: [object, string][] = [
      [{ metric: 'load' }, '/metric'],
      [{ above: -1 }, '/above'],
      [{ above: '5' }, '/above'],
      [{ above: 101 }, '/above'],
      [{ metric: 'certificate', above: 0 }, '/above'],
      [{ forMinutes: 0 }, '/forMinutes'],
      [{ forMinutes: 121 }, '/forMinutes'],
      [{ forMinutes: 1.5 }, '/forMinutes'],
      [{ serviceId: 'x' }, '/serviceId'],
      [{ serviceId: foreign.id }, '/serviceId'],
      [{ below: 1 }, '/below'],
    ];
    for (const [body, field] of cases) {
      const refused = await add(body);
      expectError(refused, 400, 'invalid_request');
      expect(refused.body.error.details[0].path, JSON.stringify(body)).to.equal(field);
    }
    const { alert } = (await add()).body;
    const refused = await client.patch(`${path}/${alert.id}`, { above: 101 });
    expectError(refused, 400, 'invalid_request');
    expectError(await client.patch(`${path}/${alert.id}`, { metric: 'cpu' }), 400, 'invalid_request');
  });

  it('are nobody else’s', async () => {
    const { alert } = (await add()).body;
    const other = await api.workspace();
    const { client } = other.owner;
    for (const at of [path, `${other.path}/alerts`]) {
      expectError(await client.get(`${at}/${alert.id}`), 404, 'not_found');
    }
    expectError(await client.patch(`${other.path}/alerts/${alert.id}`, { above: 1 }), 404, 'not_found');
    expectError(await client.delete(`${other.path}/alerts/${alert.id}`), 404, 'not_found');
    expect((await client.get(`${other.path}/alerts`)).body.alerts).to.deep.equal([]);
    expect((await workspace.owner.client.get(path)).body.alerts).to.have.length(1);
  });

  it('are at most fifty in a workspace, also if they are made at once', async () => {
    await Promise.all(Array.from({ length: MAX_ALERTS - 2 }, () => add()));
    const last = await Promise.all(Array.from({ length: 6 }, () => add()));
    expect(last.filter(({ status }) => status === 201)).to.have.length(2);
    expectError(await add(), 409, 'capacity_exceeded');
  });

  it('show the states of their services, those that fire first, and end with their service', async () => {
    const { client } = workspace.owner;
    const [calm, hot] = [await newService(client, workspace.path), await newService(client, workspace.path)];
    const { alert } = (await add()).body;
    await add({ serviceId: calm.id });
    const state = (service: Json, status: string, value: number) =>
      api.db('alert_states').insert({
        ...{ alert_id: alert.id, service_id: service.id, status, value, since: new Date(0), run: 0 },
        ...{ return_minutes: 5, seen_at: new Date(0) },
      });
    await state(calm, 'ok', 0.123);
    await state(hot, 'firing', 12.5);
    const read = async () => (await client.get(`${path}/${alert.id}`)).body.alert.states;
    const since = '1970-01-01T00:00:00.000Z';
    const shown = [
      { serviceId: hot.id, serviceName: hot.name, status: 'firing', value: 12.5, since },
      { serviceId: calm.id, serviceName: calm.name, status: 'ok', value: 0.12, since },
    ];
    expect(await read()).to.deep.equal(shown);
    await api.db('services').where({ id: calm.id }).update({ deleted_at: new Date() });
    expect(await read()).to.deep.equal(shown.slice(0, 1));
    expect(await deleteAlertsOfGone(api.db)).to.equal(1);
    expect((await client.get(path)).body.alerts.map(({ id }: Json) => id)).to.deep.equal([alert.id]);
  });
});
