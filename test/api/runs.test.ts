import { expect } from 'chai';
import { v7 as uuidv7 } from 'uuid';
import { revokeApiKey } from '../../shared/identity/commands.js';
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
    const deploymentId = await live();
    const wakes = api.wakes();
    const { status, body } = await post();
    expect(status).to.equal(200);
    const { id, scheduledAt, ...rest } = body.run;
    expect(rest).to.deep.equal({
      status: 'queued',
      trigger: 'manual',
      command: null,
      deploymentId,
      plan: null,
      timeoutSeconds: 3600,
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

  it('are refused beyond maxConcurrency, with what to do', async () => {
    await live();
    const answers = await Promise.all([post(), post(), post(), post()]);
    expect(answers.map(({ status }) => status).sort()).to.deep.equal([200, 200, 409, 409]);
    const refused = answers.find(({ status }) => status === 409);
    expect(refused?.body.error.message).to.include('maxConcurrency');
  });

  describe('of commands that are given', () => {
    const of = async (kind: string) => {
      const made = await newService(workspace.owner.client, workspace.path, { kind });
      return { path: `${workspace.path}/services/${made.id}/runs`, id: made.id as string };
    };

    it('exist for every kind that has processes of its own', async () => {
      for (const kind of ['web', 'private', 'worker', 'cron']) {
        const { path: runs, id } = await of(kind);
        const deploymentId = await pretendLive(api.db, id);
        const body = { command: 'npm run migrate', timeoutSeconds: 60, plan: 'starter' };
        const answer = await workspace.owner.client.post(runs, body);
        expect(answer.status, kind).to.equal(200);
        expect(answer.body.run, kind).to.include({ ...body, status: 'queued', trigger: 'manual', deploymentId });
        // A manual run is never tried again, whatever the configuration says of the schedule.
        expect(await api.db<RunRow>('runs').where({ id: answer.body.run.id }).first()).to.include({ max_retries: 0 });
      }
    });

    it('do not exist for sites and databases', async () => {
      for (const kind of ['static', 'postgres', 'redis']) {
        const { path: runs } = await of(kind);
        const answer = await workspace.owner.client.post(runs, { command: 'true' });
        expectError(answer, 400, 'invalid_request');
        expect(answer.body.error.message).to.include(`kind ${kind}`);
      }
    });

    it('last for an hour at most, unless the caller says otherwise, or for the time of the cron service', async () => {
      const web = await of('web');
      await pretendLive(api.db, web.id);
      const { run } = (await workspace.owner.client.post(web.path, { command: 'true' })).body;
      expect(run).to.include({ timeoutSeconds: 3600, plan: null });
      await workspace.owner.client.patch(path, { configuration: { timeoutSeconds: 7 } });
      await live();
      expect((await workspace.owner.client.post(`${path}/runs`, { command: 'true' })).body.run.timeoutSeconds).to.equal(
        7,
      );
    });

    it('take a program with its arguments, which no shell changes', async () => {
      const { path: runs, id } = await of('web');
      await pretendLive(api.db, id);
      const { body } = await workspace.owner.client.post(runs, { command: ['echo', '--a=b', "it's $HOME", ''] });
      expect(body.run.command).to.equal(`echo --a=b 'it'\\''s $HOME' ''`);
    });

    it('are refused without a command, with a bad one, and beyond what the plan has', async () => {
      const { path: runs, id } = await of('web');
      await pretendLive(api.db, id);
      const bad: object[] = [
        {},
        { command: '' },
        { command: [] },
        { command: 'a\u0000b' },
        { command: 'x'.repeat(16_385) },
        { command: ['x'.repeat(9_000), 'x'.repeat(9_000)] },
        { command: 'true', timeoutSeconds: 0 },
        { command: 'true', timeoutSeconds: 86_401 },
        { command: 'true', plan: 'none' },
      ];
      for (const body of bad) {
        expectError(await workspace.owner.client.post(runs, body), 400, 'invalid_request');
      }
      expect(await api.db('runs').where({ service_id: id })).to.have.length(0);
    });

    it('need a release that went live, and say what to do', async () => {
      const { path: runs } = await of('web');
      const answer = await workspace.owner.client.post(runs, { command: 'true' });
      expectError(answer, 409, 'no_runtime');
      expect(answer.body.error.message).to.include('deploy it first');
    });

    it('are for developers; an unknown service and a revoked key run nothing', async () => {
      const { path: runs, id } = await of('web');
      await pretendLive(api.db, id);
      const command = { command: 'true' };
      const viewer = await workspace.member('viewer');
      expectError(await viewer.client.post(runs, command), 403, 'forbidden');
      expectError(await workspace.owner.reader.post(runs, command), 403, 'forbidden');
      const developer = await workspace.member('developer');
      const unknown = `${workspace.path}/services/${uuidv7()}/runs`;
      expectError(await developer.client.post(unknown, command), 404, 'not_found');
      const { run } = (await developer.client.post(runs, command)).body;
      await revokeApiKey(api.db, developer.keyId);
      expectError(await developer.client.post(runs, command), 401, 'unauthenticated');
      expect((await viewer.client.get(`${runs}/${run.id}`)).body.run.id).to.equal(run.id);
    });

    it('are audited', async () => {
      const { path: runs, id } = await of('web');
      await pretendLive(api.db, id);
      const { run } = (await workspace.owner.client.post(runs, { command: 'true' })).body;
      const { entries } = (await workspace.owner.client.get(`${workspace.path}/audit?limit=1`)).body;
      expect(entries[0]).to.include({ operation: 'run.create', actor: workspace.owner.email });
      expect(entries[0].target).to.include({ id: run.id });
    });

    it('are 20 for a service at a time, and do not keep its schedule from running', async () => {
      await live();
      const answers = await Promise.all(
        Array.from({ length: 21 }, () => workspace.owner.client.post(`${path}/runs`, { command: 'true' })),
      );
      const refused = answers.filter(({ status }) => status !== 200);
      expect(refused).to.have.length(1);
      expectError(refused[0] as (typeof answers)[number], 409, 'conflict');
      expect((await post()).status).to.equal(200);
    });
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
