import { expect } from 'chai';
import { v7 as uuidv7 } from 'uuid';
import { loadConfig } from '../../../../shared/core/config.js';
import { createLogger } from '../../../../shared/core/log.js';
import { Sensitive } from '../../../../shared/core/sensitive.js';
import type { DeploymentState } from '../../../../shared/deployments/model.js';
import { takeDue } from '../../../../shared/engine/due-records.js';
import { FORGE_REPORTS } from '../../../../shared/forge/kind.js';
import { Keyring } from '../../../../shared/secrets/keyring.js';
import { SEALED, sealIn } from '../../../../shared/secrets/sealed-columns.js';
import type { ServiceRow } from '../../../../shared/services/rows.js';
import { forgeReportJob } from '../../../../workers/forge/forge-report-job.js';
import { deleteOldReports } from '../../../../workers/forge/store.js';
import type { SenderDeps } from '../../../../workers/webhooks/post-json.js';
import { makeDeployment, makeService, makeWorkspace } from '../../../support/factories.js';
import { FakeForge, type ForgeKind } from '../../../support/fake-forge.js';
import { useTestDatabase } from '../../../support/postgres.js';
import { eventually } from '../../../support/processes.js';
import { updateRow } from '../../../support/records.js';

const SECRETS_KEY = Buffer.alloc(32, 3).toString('base64');
const TOKEN = 'ghp_16C7e42F292c6912E7710c838347Ae178B4a';
const [A, B] = ['a'.repeat(40), 'b'.repeat(40)];
const KINDS: readonly ForgeKind[] = ['github', 'gitlab', 'gitea'];

describe('Reports to git hosts', () => {
  const database = useTestDatabase();
  let deps: SenderDeps;
  let forge: FakeForge;
  let base: ServiceRow;
  let hookId: string;

  before(() => {
    const config = loadConfig({ DATABASE_URL: database.url, SECRETS_KEY, ALLOW_LOCAL_REPOSITORIES: 'true' });
    const keyring = new Keyring(new Sensitive(SECRETS_KEY));
    deps = { db: database.db, keyring, config, log: createLogger('test', 'silent') };
  });
  afterEach('every request is one that the git host describes', async () => {
    forge.stop();
    expect(forge.problems).to.deep.equal([]);
    // The deletion also shows that no remaining row refers to the workspace.
    await database.db('workspaces').delete();
    expect(await database.db('forge_reports')).to.deep.equal([]);
  });

  async function useForge(kind: ForgeKind): Promise<void> {
    forge = await FakeForge.start(kind, TOKEN);
    base = await makeService(database.db, await makeWorkspace(database.db));
    hookId = await hookOf(base, kind, forge.url);
  }

  async function hookOf({ id: service_id, workspace_id }: ServiceRow, kind: string, api_url: string): Promise<string> {
    const { db } = database;
    const id = uuidv7();
    await db('hooks').insert({ id, service_id, provider: kind, sealed_secret: Buffer.alloc(1) });
    const sealed_token = sealIn(deps.keyring, SEALED.forgeToken, id, TOKEN);
    const target = { id, workspace_id, service_id, forge: kind, api_url, project: 'team/shop', sealed_token };
    await db('forge_targets').insert(target);
    return id;
  }

  async function previewOf(service: ServiceRow, pullNumber: number | null): Promise<ServiceRow> {
    const workspace = await database.db('workspaces').where({ id: service.workspace_id }).first();
    const preview = await makeService(database.db, workspace);
    const shown = { service_id: preview.id, base_id: service.id, branch: 'topic', pull_number: pullNumber };
    await database.db('previews').insert(shown);
    return preview;
  }

  async function pushed(service: ServiceRow, commitSha: string, trigger = 'commit'): Promise<string> {
    const { id } = await makeDeployment(database.db, service);
    await database.db('deployments').where({ id }).update({ trigger, commit_sha: commitSha });
    await become(id, 'building');
    return id;
  }

  async function become(id: string, status: DeploymentState, fields: object = {}): Promise<void> {
    const ended = ['live', 'failed', 'cancelled'].includes(status) ? { finished_at: database.db.fn.now() } : {};
    await updateRow(database.db, 'deployments', id, { status, ...ended, ...fields });
  }

  async function goLive(id: string): Promise<void> {
    const { service_id } = await database.db('deployments').where({ id }).first();
    await database.db('services').where({ id: service_id }).update({ live_deployment_id: id });
    await become(id, 'live');
  }

  const run = (forgeReportId: string) =>
    forgeReportJob(deps, { forgeReportId }, { signal: new AbortController().signal });

  async function work(): Promise<void> {
    for (;;) {
      const due = await database.db.transaction((trx) => takeDue(trx, FORGE_REPORTS, 100));
      if (due.length === 0) return;
      for (const { id } of due) await run(id);
    }
  }

  async function afterWaiting(): Promise<void> {
    await database.db('forge_targets').update({ not_before: new Date(0) });
    await database
      .db('forge_reports')
      .whereNotNull('due_at')
      .update({ due_at: new Date(0) });
    await work();
  }

  const reports = (where: object = {}) => database.db('forge_reports').where(where);
  const statesOf = (sha: string) => forge.statuses.filter((one) => one.sha === sha).map(({ state }) => state);

  for (const kind of KINDS) {
    it(`to ${kind} are statuses of the commit, from its first state to its last`, async () => {
      await useForge(kind);
      const id = await pushed(base, A);
      await work();
      await become(id, 'releasing');
      await work();
      await goLive(id);
      await work();
      await work();
      const told = kind === 'gitlab' ? ['running', 'success'] : ['pending', 'pending', 'success'];
      expect(statesOf(A)).to.deep.equal(told);
      const last = forge.statuses.at(-1) ?? { sha: '' };
      expect(last).to.include({
        description: 'Live',
        target_url: `${deps.config.publicUrl}/w/${base.workspace_id}/s/${base.id}/d/${id}`,
        [kind === 'gitlab' ? 'name' : 'context']: `ranvier/${base.slug}`,
      });
      const other = await pushed(base, B);
      await become(other, 'failed', {
        error: 'npm run build: exit code 1',
        steps: JSON.stringify([{ name: 'build' }]),
      });
      await work();
      expect(forge.statuses.at(-1)).to.include({
        sha: B,
        state: kind === 'gitlab' ? 'failed' : 'failure',
        description: 'The step build failed: npm run build: exit code 1',
      });
    });

    it(`to ${kind} are one comment in a pull request, edited until the preview is gone`, async () => {
      await useForge(kind);
      const preview = await previewOf(base, 7);
      const first = await pushed(preview, A);
      await work();
      expect(forge.comments).to.have.length(1);
      expect(forge.comments[0]).to.include({ number: '7' });
      await goLive(first);
      await work();
      expect(forge.comments[0]?.body).to.match(new RegExp(`Live.*- Address: http://${preview.slug}\\.`, 's'));

      const second = await pushed(preview, B);
      const lines = [`GET with ${TOKEN}`, 'Error: no such file'];
      const day = new Date(Date.now() + 86_400_000).toISOString().slice(0, 10);
      for (const [i, message] of lines.entries()) {
        const line = {
          service_id: preview.id,
          id: i + 1,
          deployment_id: second,
          source: 'build',
          level: 'error',
          message,
        };
        await database.db('log_lines').insert({ ...line, logged_at: database.db.fn.now(), expires_on: day });
      }
      await become(second, 'failed', { error: `clone of ${TOKEN}`, steps: JSON.stringify([{ name: 'build' }]) });
      await work();
      const [{ id, body } = { id: 0, body: '' }] = forge.comments;
      expect(body).to.include('The step build failed').and.to.include('clone of ***');
      expect(body).to.include('GET with ***\nError: no such file').and.to.include('- Address: http://');

      forge.comments.length = 0;
      await become(second, 'failed', { error: 'x' });
      await database
        .db('previews')
        .where({ service_id: preview.id })
        .update({ closed_at: new Date(0), closed_reason: 'c' });
      await work();
      expect(
        forge.comments.map((one) => one.id !== id),
        'a new one for the one that a person deleted',
      ).to.deep.equal([true]);
      await database.db('previews').where({ service_id: preview.id }).delete();
      await work();
      expect(forge.comments).to.have.length(1);
      expect(forge.comments[0]?.body).to.include('was deleted');
      forge.comments.length = 0;
      await database.db('forge_reports').update({ sent: null, due_at: new Date(0), finished_at: null });
      await work();
      expect(forge.comments, 'none for a preview that is gone').to.deep.equal([]);
    });

    it(`to ${kind} make no second comment if the answer to the first was lost`, async () => {
      await useForge(kind);
      const preview = await previewOf(base, 7);
      forge.trouble = ({ method, path }) =>
        method === 'POST' && /comments|notes/.test(path) ? { status: 502, done: true } : null;
      const id = await pushed(preview, A);
      await afterWaiting();
      await goLive(id);
      await afterWaiting();
      await afterWaiting();
      expect(forge.comments).to.have.length(1);
      expect(forge.comments[0]?.body).to.include('Live');
    });
  }

  it('send only the newest state, and a state that changes meanwhile afterwards', async () => {
    await useForge('gitea');
    const id = await pushed(base, A);
    await become(id, 'releasing');
    await work();
    expect(forge.statuses.map(({ description }) => description)).to.deep.equal(['Releasing']);
    const again = await pushed(base, B);
    forge.trouble = async () => {
      forge.trouble = () => null;
      await become(again, 'cancelled');
      return null;
    };
    await work();
    expect(statesOf(B)).to.deep.equal(['pending', 'error']);
  });

  it('never replace the state of a newer deployment of the commit by that of an older one', async () => {
    await useForge('gitea');
    const older = await pushed(base, A);
    const newer = await pushed(base, A, 'manual');
    await goLive(newer);
    await work();
    await become(older, 'failed', { error: 'late' });
    await work();
    expect(statesOf(A)).to.deep.equal(['success']);
  });

  it('fail no deployment whose hook is deleted at the same moment', async () => {
    await useForge('gitea');
    const id = await pushed(base, A);
    let moved = Promise.resolve();
    await database.db.transaction(async (trx) => {
      await trx('hooks').where({ id: hookId }).delete();
      moved = become(id, 'releasing');
      await eventually('the deployment waits', async () => {
        const { rows } = await database.db.raw(
          `select 1 from pg_stat_activity where wait_event_type = 'Lock' and query like 'update "deployments"%'`,
        );
        return rows.length > 0;
      });
    });
    await moved;
    expect(await reports()).to.deep.equal([]);
    expect((await database.db('deployments').where({ id }).first()).status).to.equal('releasing');
  });

  it('leave out deployments that no push caused', async () => {
    await useForge('github');
    await goLive(await pushed(base, A, 'manual'));
    await work();
    expect(await reports()).to.deep.equal([]);
    const preview = await previewOf(base, null);
    await goLive(await pushed(preview, A, 'manual'));
    await work();
    expect(forge.statuses.map(({ context }) => context)).to.deep.equal([`ranvier/${preview.slug}`]);
    expect(forge.comments).to.deep.equal([]);
  });

  it('are deployments of GitHub, of which one is active', async () => {
    await useForge('github');
    const first = await pushed(base, A);
    await work();
    await goLive(first);
    await work();
    await goLive(await pushed(base, B));
    await work();
    const shown = forge.deployments.map(({ ref, environment, states }) => ({
      ref,
      environment,
      states: states.map((s) => s.state),
    }));
    expect(shown).to.deep.equal([
      { ref: A, environment: base.slug, states: ['in_progress', 'success', 'inactive'] },
      { ref: B, environment: base.slug, states: ['success'] },
    ]);
    expect(forge.deployments[1]?.states[0]?.environment_url).to.match(new RegExp(`^http://${base.slug}\\.`));
  });

  it('make no second deployment of GitHub if the answer to the first was lost', async () => {
    await useForge('github');
    const other = await makeService(database.db, await makeWorkspace(database.db));
    forge.deployments.push({ id: 1, ref: A, environment: base.slug, payload: { ranvier: other.id }, states: [] });
    forge.trouble = ({ method, path }) =>
      method === 'POST' && path.endsWith('/deployments') ? { status: 502, done: true } : null;
    const id = await pushed(base, A);
    await afterWaiting();
    await goLive(id);
    await afterWaiting();
    await afterWaiting();
    const states = forge.deployments.map((one) => one.states.map(({ state }) => state));
    expect(states).to.deep.equal([[], ['success']]);
  });

  for (const status of [401, 403, 404]) {
    it(`are not tried again after ${status}; the error is kept without the token, until a report is sent`, async () => {
      await useForge('gitea');
      forge.trouble = () => ({ status, json: { message: `no access with ${TOKEN}` } });
      const id = await pushed(base, A);
      await work();
      await afterWaiting();
      expect(forge.requests).to.equal(1);
      const [{ error }] = await reports();
      expect(error).to.equal(`The status of a commit was refused: answered with ${status}: no access with ***`);
      forge.trouble = () => null;
      await goLive(id);
      await work();
      expect(statesOf(A)).to.deep.equal(['success']);
      expect((await reports())[0]).to.include({ error: '' });
    });
  }

  it('wait as long as the git host asks, also with later states', async () => {
    await useForge('gitea');
    forge.trouble = () => ({ status: 429, headers: { 'Retry-After': '120' } });
    const id = await pushed(base, A);
    await work();
    await become(id, 'releasing');
    await pushed(base, B);
    await work();
    expect(forge.requests).to.equal(1);
    const times = [
      ...(await reports()).map(({ due_at }) => due_at),
      (await database.db('forge_targets').first()).not_before,
    ];
    for (const at of times) expect(at.getTime()).to.be.above(Date.now() + 100_000);
    forge.trouble = () => null;
    await afterWaiting();
    await afterWaiting();
    expect([statesOf(A), statesOf(B)]).to.deep.equal([['pending'], ['pending']]);
    expect(await database.db('forge_targets').first()).to.include({ failures: 0, busy_until: null });
  });

  it('to a git host that does not answer delay no other hook, and end after a day', async () => {
    await useForge('gitea');
    forge.trouble = () => 'never';
    const id = await pushed(base, A);
    const [slow] = await database.db.transaction((trx) => takeDue(trx, FORGE_REPORTS, 1));
    const hanging = run(slow?.id ?? '');
    await database.db.raw('select 1');
    const neighbour = await makeService(database.db, await makeWorkspace(database.db));
    const quick = await FakeForge.start('gitea', TOKEN);
    await hookOf(neighbour, 'gitea', quick.url);
    await pushed(neighbour, B);
    await work();
    expect(quick.statuses).to.have.length(1);
    quick.stop();
    expect(await hanging).to.match(/^later: no answer/);
    const [row] = await reports({ hook_id: hookId });
    expect(row.error).to.match(/was not sent: no answer/);
    expect(row.due_at.getTime()).to.be.above(Date.now() + 10_000);
    forge.trouble = () => ({ status: 500 });
    await reports({ id: row.id }).update({ changed_at: new Date(Date.now() - 2 * 86_400_000) });
    await afterWaiting();
    expect((await reports({ id: row.id }))[0].finished_at).not.to.equal(null);
    expect((await database.db('deployments').where({ id }).first()).status).to.equal('building');
  }).timeout(30_000);

  it('are sent to a hook one at a time, and to two of a workspace', async () => {
    await useForge('gitea');
    const hooks = [hookId, await hookOf(base, 'gitea', forge.url), await hookOf(base, 'gitea', forge.url)];
    await pushed(base, A);
    await pushed(base, B);
    let [open, ended] = [0, 0];
    let finish = () => {};
    const gate = new Promise<void>((resolve) => {
      finish = resolve;
    });
    forge.trouble = async () => {
      open++;
      await gate;
      return null;
    };
    const due = await database.db.transaction((trx) => takeDue(trx, FORGE_REPORTS, 100));
    expect(due).to.have.length(2 * hooks.length);
    // Reports of the same hook run first, one after another.
    const jobs = (await reports().orderBy('hook_id')).map(async ({ id }) => {
      await run(id);
      ended++;
    });
    await eventually('the others wait', async () => open === 2 && ended === due.length - 2);
    const busy = await database.db('forge_targets').whereNotNull('busy_until');
    expect(busy).to.have.length(2);
    finish();
    await Promise.all(jobs);
    while (forge.statuses.length < due.length) await afterWaiting();
    expect(forge.statuses).to.have.length(due.length);
  });

  it('are due at once if their worker shuts down', async () => {
    await useForge('gitea');
    const ending = new AbortController();
    forge.trouble = () => {
      ending.abort(new Error('shutdown'));
      return 'never';
    };
    await pushed(base, A);
    const [due] = await database.db.transaction((trx) => takeDue(trx, FORGE_REPORTS, 1));
    expect(await forgeReportJob(deps, { forgeReportId: due?.id ?? '' }, { signal: ending.signal })).to.equal(
      'interrupted',
    );
    forge.trouble = () => null;
    await work();
    expect(forge.statuses).to.have.length(2);
  });

  it('never reach a private address in production', async () => {
    await useForge('gitea');
    const { port } = new URL(forge.url);
    await database.db('forge_targets').update({ api_url: `http://git.example.com:${port}/api` });
    const resolve = async () => [{ address: '127.0.0.1', family: 4 }];
    deps = { ...deps, config: { ...deps.config, allowLocalRepositories: false }, resolve };
    try {
      await pushed(base, A);
      await work();
    } finally {
      const { resolve: _, ...rest } = deps;
      deps = { ...rest, config: { ...rest.config, allowLocalRepositories: true } };
    }
    expect(forge.requests).to.equal(0);
    expect((await reports())[0].error).to.match(/private address/);
  });

  it('are deleted a month after they were sent; a comment stays while its pull request is known', async () => {
    await useForge('gitea');
    const pull = {
      ref: 'r',
      title: '',
      author: '',
      branch: 'topic',
      target: 'main',
      fork: false,
      head_sha: A,
      open: true,
    };
    await database
      .db('pull_requests')
      .insert({ id: uuidv7(), service_id: base.id, number: 7, reported_at: new Date(), ...pull });
    await pushed(await previewOf(base, 7), A);
    await work();
    expect(await deleteOldReports(database.db)).to.equal(0);
    await reports().update({ finished_at: new Date(Date.now() - 31 * 86_400_000) });
    expect(await deleteOldReports(database.db)).to.equal(1);
    expect((await reports()).map(({ kind }) => kind)).to.deep.equal(['comment']);
  });
});
