import { createHmac } from 'node:crypto';
import { connect, type Socket } from 'node:net';
import { expect } from 'chai';
import { deployCommit } from '../../shared/commits/commands.js';
import { type CommitEventRow, finishCommitEvent } from '../../shared/commits/store.js';
import { Keyring } from '../../shared/secrets/keyring.js';
import { expectError, type Json, newService, type TestApi, type TestWorkspace, useTestApi } from '../support/api.js';
import { eventually } from '../support/processes.js';

const REPOSITORY = 'https://example.com/shop.git';
const [A, B, NONE] = ['a'.repeat(40), 'b'.repeat(40), '0'.repeat(40)];

const PUSHES = {
  github: (fields: object = {}) => ({
    ref: 'refs/heads/main',
    before: A,
    after: B,
    repository: { id: 186853002, full_name: 'Codertocat/Hello-World', private: false, default_branch: 'master' },
    pusher: { name: 'Codertocat', email: '21031067+Codertocat@users.noreply.github.com' },
    sender: { login: 'Codertocat', id: 21031067, type: 'User' },
    created: false,
    deleted: false,
    forced: false,
    base_ref: null,
    compare: 'https://github.com/Codertocat/Hello-World/compare/6113728f27ae...000000000000',
    commits: [],
    head_commit: { id: B, message: 'Fix the shop', timestamp: '2026-11-22T10:00:00+01:00' },
    ...fields,
  }),
  gitlab: (fields: object = {}) => ({
    object_kind: 'push',
    event_name: 'push',
    before: A,
    after: B,
    ref: 'refs/heads/main',
    ref_protected: true,
    checkout_sha: B,
    user_id: 4,
    user_name: 'John Smith',
    project_id: 15,
    project: { id: 15, name: 'Diaspora', path_with_namespace: 'mike/diaspora', default_branch: 'master' },
    commits: [{ id: B, message: 'Fix the shop\n', title: 'Fix the shop', added: [], modified: ['x'], removed: [] }],
    total_commits_count: 1,
    ...fields,
  }),
  gitea: (fields: object = {}) => ({
    ref: 'refs/heads/main',
    before: A,
    after: B,
    compare_url: 'http://localhost:3000/gitea/webhooks/compare/28e1879d...bffeb740',
    commits: [{ id: B, message: 'Fix the shop\n', url: '', author: { name: 'Gitea', username: 'gitea' } }],
    total_commits: 1,
    head_commit: { id: B, message: 'Fix the shop\n' },
    repository: { id: 140, full_name: 'gitea/webhooks', default_branch: 'master' },
    pusher: { id: 1, login: 'gitea' },
    ...fields,
  }),
};
type Signing = keyof typeof PUSHES;

const PING = { zen: 'Keep it logically awesome.', hook_id: 1, hook: { type: 'Repository', active: true } };

describe('Hooks', () => {
  let api: TestApi;
  let workspace: TestWorkspace;
  let service: Json;
  let path: string;

  useTestApi((given) => ({ api, workspace } = given));
  beforeEach(async () => {
    service = await newService(workspace.owner.client, workspace.path, {
      configuration: { repository: REPOSITORY, autoDeploy: 'commit' },
    });
    path = `${workspace.path}/services/${service.id}/hooks`;
  });

  async function newHook(provider: string): Promise<Json> {
    const { status, body } = await workspace.owner.client.post(path, { provider });
    expect(status, JSON.stringify(body)).to.equal(201);
    return body.hook;
  }

  /** Returns the headers that a git host sends with this body, with a real signature. */
  function headersOf(provider: Signing, secret: string, body: string, event: string, delivery: string) {
    const hmac = createHmac('sha256', secret).update(body).digest('hex');
    const all: Record<Signing, Record<string, string>> = {
      github: {
        'X-GitHub-Event': event,
        'X-GitHub-Delivery': delivery,
        'X-Hub-Signature-256': `sha256=${hmac}`,
        'User-Agent': 'GitHub-Hookshot/044aadd',
      },
      gitlab: {
        'X-Gitlab-Event': event === 'push' ? 'Push Hook' : event,
        'X-Gitlab-Event-UUID': delivery,
        'X-Gitlab-Token': secret,
      },
      gitea: {
        'X-Gitea-Event': event,
        'X-Gitea-Delivery': delivery,
        'X-Gitea-Signature': hmac,
        'X-GitHub-Event': event,
      },
    };
    return { 'Content-Type': 'application/json', ...all[provider] };
  }

  async function post(
    id: string,
    body: string,
    headers: Record<string, string>,
    query = '',
  ): Promise<{ status: number; body: Json }> {
    const response = await fetch(`${api.url}/api/hooks/${id}${query}`, { method: 'POST', body, headers });
    return { status: response.status, body: await response.json() };
  }

  let deliveries = 0;
  const deliver = (
    provider: Signing,
    hook: Json,
    payload: object,
    { event = 'push', delivery = `d-${++deliveries}` } = {},
  ) => {
    const body = JSON.stringify(payload);
    return post(hook.id, body, headersOf(provider, hook.secret, body, event, delivery));
  };

  const events = (): Promise<CommitEventRow[]> =>
    api.db<CommitEventRow>('commit_events').where({ service_id: service.id }).orderBy('created_at') as never;

  it('are made with a secret that is shown once, listed, read and deleted', async () => {
    const hook = await newHook('github');
    expect(hook.secret).to.match(/^[A-Za-z0-9_-]{43}$/);
    expect(hook.url).to.match(new RegExp(`/api/hooks/${hook.id}$`));
    const { secret: _, ...shown } = hook;
    const listed = (await workspace.owner.client.get(path)).body;
    expect(listed).to.deep.equal({ hooks: [shown], page: { limit: 100, hasMore: false, nextCursor: null } });
    expect((await workspace.owner.client.get(`${path}/${hook.id}`)).body).to.deep.equal({ hook: shown });
    const [row] = await api.db('hooks').where({ id: hook.id });
    expect(row.sealed_secret.includes(hook.secret)).to.equal(false);
    expect((await workspace.owner.client.delete(`${path}/${hook.id}`)).body).to.deep.equal({ deleted: true });
    expectError(await workspace.owner.client.get(`${path}/${hook.id}`), 404, 'not_found');
    expectError((await deliver('github', hook, PUSHES.github())) as never, 404, 'not_found');
    expectError(await workspace.owner.client.post(path, { provider: 'bitbucket' }), 400, 'invalid_request');
  });

  it('apply stacks if they are made so: for git hosts, and for services of an environment', async () => {
    const { client } = workspace.owner;
    const { project } = (await client.post(`${workspace.path}/projects`, { name: 'Shop', color: 'violet' })).body;
    const place = { projectId: project.id, environmentId: project.environments[0].id };
    expectError(await client.post(path, { provider: 'github', stack: true }), 409, 'conflict');
    service = await newService(client, workspace.path, { ...place, configuration: { repository: REPOSITORY } });
    path = `${workspace.path}/services/${service.id}/hooks`;
    const refused = await client.post(path, { provider: 'generic', stack: true });
    expectError(refused, 400, 'invalid_request');
    expect(refused.body.error.details).to.deep.equal([
      { path: '/stack', message: 'needs a git host: a deploy hook reports no push' },
    ]);
    expectError(await client.post(path, { provider: 'github', stack: 'yes' }), 400, 'invalid_request');
    const { hook } = (await client.post(path, { provider: 'github', stack: true })).body;
    expect(hook).to.include({ stack: true });
    expect(await newHook('gitlab')).to.include({ stack: false });
    const [row] = await api.db('hooks').where({ id: hook.id });
    expect(row).to.include({ stack_by: workspace.owner.userId, reads_protected: true });
    // With autoDeploy off, the push is for the stack.
    expect(await deliver('github', hook, PUSHES.github())).to.deep.include({ status: 202 });
    const other = { ref: 'refs/heads/other' };
    expect((await deliver('github', hook, PUSHES.github(other))).body.reason).to.contain('deploys the branch main');
    const pull = { action: 'opened', number: 1, pull_request: {} };
    expect((await deliver('github', hook, pull, { event: 'pull_request' })).status).to.equal(200);
    expect((await events()).map(({ kind, branch }) => `${kind} ${branch}`)).to.deep.equal(['push main']);
  });

  it('report pushes of other branches to previews, and make them under previewMode "automatic"', async () => {
    const hook = await newHook('github');
    const push = () => deliver('github', hook, { ...PUSHES.github(), ref: 'refs/heads/topic' });
    const previews = async () =>
      (await workspace.owner.client.get(`${workspace.path}/services/${service.id}/previews`)).body.previews;
    expect((await push()).status, 'previews are off').to.equal(200);
    await workspace.owner.client.patch(`${workspace.path}/services/${service.id}`, {
      configuration: { previewMode: 'automatic' },
    });
    expect((await push()).body).to.deep.equal({ accepted: true, reason: 'made a preview of topic' });
    const [preview] = await previews();
    expect(preview).to.include({ branch: 'topic', status: 'deploying' });
    const [deployment] = await api.db('deployments').where({ service_id: preview.serviceId });
    expect(deployment).to.include({ trigger: 'commit', actor: 'hook:github' });
    expect((await push()).body.reason).to.equal('accepted for the preview of topic');
    expect(await previews()).to.have.length(1);
    const reported = await api.db('commit_events').where({ service_id: preview.serviceId });
    expect(reported.map(({ branch }) => branch)).to.deep.equal(['topic']);
    expect(await events(), 'of the service itself').to.deep.equal([]);
  });

  for (const provider of ['github', 'gitlab', 'gitea'] as const) {
    it(`of ${provider} verify, store and accept a push; a redelivery is ignored`, async () => {
      const hook = await newHook(provider);
      const wakes = api.wakes();
      const options = { delivery: `${provider}-1` };
      expect(await deliver(provider, hook, PUSHES[provider](), options)).to.deep.equal({
        status: 202,
        body: { accepted: true, reason: 'accepted' },
      });
      expect(api.wakes()).to.equal(wakes + 1);
      const [event] = await events();
      expect(event).to.include({
        kind: 'push',
        branch: 'main',
        before_sha: A,
        after_sha: B,
        hook_id: hook.id,
        actor: `hook:${provider}`,
        finished_at: null,
      });
      const again = await deliver(provider, hook, PUSHES[provider](), options);
      expect(again).to.deep.equal({
        status: 200,
        body: { accepted: false, reason: 'this delivery was received before' },
      });
      expect(await events()).to.have.length(1);
      const { lastDeliveryAt, lastOutcome } = (await workspace.owner.client.get(`${path}/${hook.id}`)).body.hook;
      expect(lastDeliveryAt).to.be.a('string');
      expect(lastOutcome).to.equal('this delivery was received before');
    });

    it(`of ${provider} answer 401 to a wrong, missing or foreign signature, also over a changed body`, async () => {
      const hook = await newHook(provider);
      const body = JSON.stringify(PUSHES[provider]());
      const other = await newHook(provider);
      const signed = (secret: string, over = body) => headersOf(provider, secret, over, 'push', 'd');
      const tries = [{ 'Content-Type': 'application/json' }, signed('wrong'), signed(other.secret)];
      if (provider !== 'gitlab') tries.push(signed(hook.secret, `${body} `));
      for (const headers of tries) {
        expectError((await post(hook.id, body, headers as Record<string, string>)) as never, 401, 'unauthenticated');
      }
      expect(await events()).to.deep.equal([]);
    });

    it(`of ${provider} answer 200 and the reason to what deploys nothing`, async () => {
      const hook = await newHook(provider);
      const push = PUSHES[provider];
      const cases: [payload: object, reason: RegExp][] = [
        [push({ ref: 'refs/tags/v1', ...(provider === 'gitlab' ? { object_kind: 'tag_push' } : {}) }), /tag/],
        [push({ after: NONE, deleted: true }), /deleted/],
        [push({ ref: 'refs/heads/other' }), /deploys the branch main/],
        [push({ head_commit: { message: 'x [skip ci]' } }), /asks not to be deployed/],
        [push({ after: 'nonsense' }), /names no commit/],
      ];
      for (const [payload, reason] of cases) {
        const answer = await deliver(provider, hook, payload);
        expect(answer.status, JSON.stringify(payload)).to.equal(200);
        expect(answer.body.accepted).to.equal(false);
        expect(answer.body.reason).to.match(reason);
      }
      expect((await deliver(provider, hook, PING, { event: 'ping' })).body.reason).to.match(/ping deploys nothing/);
      await workspace.owner.client.patch(`${workspace.path}/services/${service.id}`, {
        configuration: { autoDeploy: 'off' },
      });
      expect((await deliver(provider, hook, push())).body.reason).to.match(/autoDeploy of the service is off/);
      expect(await events()).to.deep.equal([]);
    });
  }

  it('of gitea take the headers of Forgejo', async () => {
    const hook = await newHook('gitea');
    const body = JSON.stringify(PUSHES.gitea());
    const hmac = createHmac('sha256', hook.secret).update(body).digest('hex');
    const headers = { 'X-Forgejo-Event': 'push', 'X-Forgejo-Delivery': 'f', 'X-Forgejo-Signature': hmac };
    expect((await post(hook.id, body, headers)).status).to.equal(202);
  });

  it('of github take a form', async () => {
    const hook = await newHook('github');
    const body = new URLSearchParams({ payload: JSON.stringify(PUSHES.github()) }).toString();
    const headers = {
      ...headersOf('github', hook.secret, body, 'push', 'form'),
      'Content-Type': 'application/x-www-form-urlencoded',
    };
    expect((await post(hook.id, body, headers)).status).to.equal(202);
  });

  it('that are generic deploy for whoever knows the whole address', async () => {
    const hook = await newHook('generic');
    const { search } = new URL(hook.url);
    expect((await post(hook.id, '', {}, search)).status).to.equal(202);
    const [event] = await events();
    expect(event?.kind).to.equal('deploy');
    expectError((await post(hook.id, '', {})) as never, 401, 'unauthenticated');
    expectError((await post(hook.id, '', {}, '?key=wrong')) as never, 401, 'unauthenticated');
    const shown = (await workspace.owner.client.get(`${path}/${hook.id}`)).body.hook;
    expect(JSON.stringify(shown)).to.not.include(hook.secret);
  });

  it('that nobody made are not found, like any other path; other methods are refused', async () => {
    const unknown = await post('00000000-0000-4000-8000-000000000000', '{}', {});
    expectError(unknown as never, 404, 'not_found');
    expect(unknown.body.error.message).to.equal('There is nothing at this path');
    const hook = await newHook('github');
    const response = await fetch(`${api.url}/api/hooks/${hook.id}`);
    expect(response.status).to.equal(405);
  });

  it('take bodies up to 5 MiB', async () => {
    const hook = await newHook('github');
    const large = PUSHES.github({ padding: 'x'.repeat(5 * 1024 ** 2 - 2000) });
    expect((await deliver('github', hook, large)).status).to.equal(202);
    const body = 'x'.repeat(5 * 1024 ** 2 + 1);
    expectError((await post(hook.id, body, {})) as never, 413, 'payload_too_large');
  });

  it('are received while other workspaces send theirs slowly, and forged ones do not use up what is allowed', async () => {
    const hook = await newHook('github');
    const slow: Socket[] = [];
    let refused = 0;
    for (let i = 0; i < 5; i++) {
      const { path: hostile, owner } = await api.workspace();
      const { id } = await newService(owner.client, hostile);
      for (let j = 0; j < 2; j++) {
        const { body } = await owner.client.post(`${hostile}/services/${id}/hooks`, { provider: 'github' });
        for (let k = 0; k < 5; k++) {
          const socket = connect(Number(new URL(api.url).port), '127.0.0.1');
          socket.on('data', (data) => {
            if (data.toString().startsWith('HTTP/1.1 429')) refused += 1;
          });
          socket.on('error', () => undefined);
          socket.write(`POST /api/hooks/${body.hook.id} HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\n{`);
          slow.push(socket);
        }
      }
    }
    try {
      await eventually('the slow ones hold all places that they get', () => refused >= 10);
      for (let i = 0; i < 70; i++) {
        const { status } = await post(hook.id, '{}', { 'X-Hub-Signature-256': 'sha256=00' });
        expect(status).to.equal(i < 60 ? 401 : 429);
      }
      expect((await deliver('github', hook, PUSHES.github())).status).to.equal(202);
    } finally {
      for (const socket of slow) socket.destroy();
    }
  });

  it('are refused with the reason if they name a branch that cannot exist, or an event with control characters', async () => {
    const hook = await newHook('github');
    await workspace.owner.client.patch(`${workspace.path}/services/${service.id}`, {
      configuration: { previewMode: 'automatic' },
    });
    for (const branch of ['a\u0000b', 'a\u001b[31mb', 'a b', 'a..b', 'a\u202eb', 'x'.repeat(256), '/a', 'a.lock', ''])
      for (const after of [B, NONE]) {
        const answer = await deliver('github', hook, { ...PUSHES.github(), ref: `refs/heads/${branch}`, after });
        expectError(answer as never, 400, 'invalid_request');
        expect(answer.body.error.details[0].path).to.equal('/ref');
      }
    const unicode = await deliver('github', hook, { ...PUSHES.github(), ref: 'refs/heads/größe' });
    expect(unicode.status, JSON.stringify(unicode.body)).to.equal(202);
    const gitlab = await newHook('gitlab');
    const odd = await deliver('gitlab', gitlab, { object_kind: 'no\u0000\u001b[2Jevent' });
    expect(odd.status).to.equal(200);
    expect(odd.body.reason).to.include('no\\u0000\\u001b[2Jevent');
  });

  it('are limited to sixty deliveries a minute', async () => {
    const hook = await newHook('github');
    const statuses: number[] = [];
    for (let i = 0; i < 70; i++) statuses.push((await deliver('github', hook, PING, { event: 'ping' })).status);
    expect(statuses.filter((status) => status === 200)).to.have.length.within(60, 61);
    expect(statuses.at(-1)).to.equal(429);
  });

  it('deploy a commit once, whoever reports it', async () => {
    const hook = await newHook('github');
    const keyring = new Keyring(api.config.secretsKey);
    const deps = { keyring, config: api.config };
    for (let i = 0; i < 3; i++) await deliver('github', hook, PUSHES.github());
    const reported = await events();
    const commit = { branch: 'main', sha: B };
    const queue = (event: CommitEventRow) =>
      api.db.transaction((trx) =>
        deployCommit(trx, deps, { eventId: event.id, serviceId: service.id, actor: event.actor, commit }),
      );
    const ids = await Promise.all(reported.map(queue));
    expect(ids.filter((id) => id !== null)).to.have.length(1);
    const { items } = (await workspace.owner.client.get(`${workspace.path}/services/${service.id}/deploys`)).body;
    expect(items).to.have.length(1);
    expect(items[0]).to.include({ trigger: 'commit', actor: 'hook:github', commitSha: B, branch: 'main' });
    expect((await events()).every(({ finished_at }) => finished_at !== null)).to.equal(true);
    expect(await finishCommitEvent(api.db, reported[0]?.id ?? '', { outcome: 'again' })).to.equal(false);
  });
});
