import { expect } from 'chai';
import { v7 as uuidv7 } from 'uuid';
import type { RunRow } from '../../shared/runs/model.js';
import { expectError, type Json, newService, type TestApi, type TestWorkspace, useTestApi } from '../support/api.js';
import { pretendLive } from '../support/records.js';

const REPOSITORY = { repository: 'https://example.com/report.git', startCommand: 'node report.js' };

describe('Runs', () => {
  let api: TestApi;
  let workspace: TestWorkspace;
  let service: Json;
  let path: string;

  useTestApi((given) => ({ api, workspace } = given));
  beforeEach(async () => {
    service = await newService(workspace.owner.client, workspace.path, {
      kind: 'cron',
      configuration: { ...REPOSITORY, maxConcurrency: 2 },
    });
    path = `${workspace.path}/services/${service.id}`;
  });
  const live = () => pretendLive(api.db, service.id);
  const post = (rest = '/runs') => workspace.owner.client.post(`${path}${rest}`);
  const get = (rest: string) => workspace.owner.client.get(`${path}${rest}`);

  it('are queued now by a POST, and read with their fields', async () => {
    await live();
    const wakes = api.wakes();
    const { status, body } = await post();
    expect(status).to.equal(200);
    const { id, scheduledAt, ...rest } = body.run;
    expect(rest).to.deep.equal({
      status: 'queued',
      trigger: 'manual',
      attempt: 1,
      startedAt: null,
      finishedAt: null,
      exitCode: null,
      error: '',
    });
    expect(Date.parse(scheduledAt)).to.be.within(Date.now() - 60_000, Date.now());
    expect(api.wakes()).to.equal(wakes + 1);
    expect((await get(`/runs/${id}`)).body.run).to.deep.equal(body.run);
    expectError(await get(`/runs/${uuidv7()}`), 404, 'not_found');
  });

  it('are listed newest first, in pages', async () => {
    const deployment = await live();
    for (let i = 0; i < 5; i++) {
      await api.db<RunRow>('runs').insert({
        id: uuidv7(),
        workspace_id: workspace.id,
        service_id: service.id,
        deployment_id: deployment,
        trigger: 'schedule',
        status: 'skipped',
        error: 'skipped',
        max_retries: 0,
        timeout_seconds: 1,
        scheduled_at: new Date(Date.UTC(2026, 0, 1, i)),
        created_at: new Date(Date.UTC(2026, 0, 1, i)),
        finished_at: new Date(),
      });
    }
    const first = (await get('/runs?limit=3')).body;
    const rest = (await get(`/runs?limit=3&cursor=${first.page.nextCursor}`)).body;
    expect(first.page).to.include({ limit: 3, hasMore: true });
    expect(rest.page).to.include({ hasMore: false, nextCursor: null });
    const hours = [...first.runs, ...rest.runs].map((run: Json) => new Date(run.scheduledAt).getUTCHours());
    expect(hours).to.deep.equal([4, 3, 2, 1, 0]);
  });

  it('need a live release that is neither suspended nor archived', async () => {
    expectError(await post(), 409, 'no_runtime');
    await live();
    await api.db('services').where({ id: service.id }).update({ lifecycle_status: 'suspended' });
    expectError(await post(), 409, 'conflict');
    await api.db('services').where({ id: service.id }).update({ lifecycle_status: 'active', archived: true });
    expectError(await post(), 409, 'service_archived');
  });

  it('exist for services of kind cron only', async () => {
    const web = await newService(workspace.owner.client, workspace.path, { configuration: REPOSITORY });
    await pretendLive(api.db, web.id);
    const answer = await workspace.owner.client.post(`${workspace.path}/services/${web.id}/runs`);
    expectError(answer, 409, 'conflict');
    expect(answer.body.error.message).to.include('kind cron');
  });

  it('are refused beyond maxConcurrency, with what to do', async () => {
    await live();
    const answers = await Promise.all([post(), post(), post(), post()]);
    expect(answers.map(({ status }) => status).sort()).to.deep.equal([200, 200, 409, 409]);
    const refused = answers.find(({ status }) => status === 409);
    expect(refused?.body.error.message).to.include('maxConcurrency');
  });

  it('are cancelled: one that waits at once, one that has ended never', async () => {
    await live();
    const { id } = (await post()).body.run;
    expect((await post(`/runs/${id}/cancel`)).body).to.deep.equal({ cancelRequested: true });
    expect((await get(`/runs/${id}`)).body.run.status).to.equal('cancelled');
    expectError(await post(`/runs/${id}/cancel`), 409, 'conflict');
    expectError(await post(`/runs/${uuidv7()}/cancel`), 404, 'not_found');
  });

  it('end with their service', async () => {
    await live();
    const { id } = (await post()).body.run;
    await workspace.owner.client.delete(path, { confirm: service.name });
    const row = await api.db<RunRow>('runs').where({ id }).first();
    expect(row?.status).to.equal('cancelled');
  });

  it('a schedule has five fields, 256 characters and a tick within five years, and a zone that exists', async () => {
    const bad = ['* * * *', '* * * * * *', '@daily', '0 0 30 2 *', '61 * * * *', `${'0,'.repeat(200)}0 * * * *`];
    for (const schedule of bad) {
      const answer = await workspace.owner.client.patch(path, { configuration: { schedule } });
      expectError(answer, 400, 'invalid_request');
      expect(answer.body.error.details[0].path, schedule).to.equal('/configuration/schedule');
    }
    expectError(
      await workspace.owner.client.patch(path, { configuration: { timezone: 'Mars/Base' } }),
      400,
      'invalid_request',
    );
    const { status } = await workspace.owner.client.patch(path, {
      configuration: { schedule: '*/5 8-18 * * 1-5', timezone: 'Africa/Lagos' },
    });
    expect(status).to.equal(200);
  });

  it('the catalog says that cron jobs run', async () => {
    const { body } = await workspace.owner.client.get('/catalog');
    expect(body.capabilities.cronJobs).to.equal(true);
  });
});
