import { createHmac } from 'node:crypto';
import { expect } from 'chai';
import { createLogger } from '../../shared/core/log.js';
import { Keyring } from '../../shared/secrets/keyring.js';
import { reapPreviews } from '../../workers/sweeps/reap-previews.js';
import { showPullRequests } from '../../workers/sweeps/show-pull-requests.js';
import { expectError, type Json, newService, type TestApi, type TestWorkspace, useTestApi } from '../support/api.js';
import { snapshotValues } from '../support/records.js';

const [A, B, C] = ['a'.repeat(40), 'b'.repeat(40), 'c'.repeat(40)];

interface Facts {
  action: string;
  open: boolean;
  sha: string;
  second: number;
  fork: boolean;
  number: number;
  branch: string;
}
const time = (second: number) => `2026-11-22T10:00:${String(second).padStart(2, '0')}Z`;

const githubLike = ({ action, open, sha, second, fork, number, branch }: Facts) => ({
  action,
  number,
  pull_request: {
    id: 279147437,
    number,
    state: open ? 'open' : 'closed',
    locked: false,
    title: 'Update the README with new information.',
    user: { login: 'Codertocat', id: 21031067, type: 'User' },
    created_at: time(0),
    updated_at: time(second),
    merged: !open,
    head: {
      label: `Codertocat:${branch}`,
      ref: branch,
      sha,
      repo: { id: fork ? 7 : 186853002, full_name: 'Codertocat/Hello-World', fork },
    },
    base: {
      label: 'Codertocat:main',
      ref: 'main',
      sha: C,
      repo: { id: 186853002, full_name: 'Codertocat/Hello-World' },
    },
    draft: false,
  },
  repository: { id: 186853002, full_name: 'Codertocat/Hello-World' },
  sender: { login: 'Codertocat' },
});
const PULLS = {
  github: githubLike,
  gitea: githubLike,
  gitlab: ({ action, open, sha, second, fork, number, branch }: Facts) => ({
    object_kind: 'merge_request',
    event_type: 'merge_request',
    user: { id: 1, name: 'Administrator', username: 'Codertocat' },
    project: { id: 1, name: 'Gitlab Test', default_branch: 'main' },
    object_attributes: {
      id: 99,
      iid: number,
      target_branch: 'main',
      source_branch: branch,
      source_project_id: fork ? 14 : 15,
      target_project_id: 15,
      title: 'Update the README with new information.',
      created_at: '2026-11-22 10:00:00 UTC',
      updated_at: `${time(second).slice(0, 19).replace('T', ' ')} UTC`,
      state: open ? 'opened' : 'merged',
      last_commit: { id: sha, message: 'fixed readme', timestamp: '2012-01-03T23:36:29+02:00' },
      action,
    },
  }),
};
type Provider = keyof typeof PULLS;
const ACTIONS: Record<Provider, { opened: string; pushed: string; closed: string; reopened: string }> = {
  github: { opened: 'opened', pushed: 'synchronize', closed: 'closed', reopened: 'reopened' },
  gitea: { opened: 'opened', pushed: 'synchronized', closed: 'closed', reopened: 'reopened' },
  gitlab: { opened: 'open', pushed: 'update', closed: 'merge', reopened: 'reopen' },
};

describe('Pull requests', () => {
  let api: TestApi;
  let workspace: TestWorkspace;
  let base: Json;
  let path: string;
  let hooks: Record<string, Json>;
  let deliveries = 0;

  useTestApi((given) => ({ api, workspace } = given));
  beforeEach(async () => {
    base = await newService(workspace.owner.client, workspace.path, {
      name: 'Shop',
      configuration: { repository: 'https://example.com/shop.git', previewMode: 'automatic' },
    });
    path = `${workspace.path}/services/${base.id}`;
    hooks = {};
  });

  async function deliver(provider: Provider, payload: object, event?: string, delivery = `p-${++deliveries}`) {
    hooks[provider] ??= (await workspace.owner.client.post(`${path}/hooks`, { provider })).body.hook;
    const hook = hooks[provider];
    const body = JSON.stringify(payload);
    const hmac = createHmac('sha256', hook.secret).update(body).digest('hex');
    const headers: Record<Provider, Record<string, string>> = {
      github: {
        'X-GitHub-Event': event ?? 'pull_request',
        'X-GitHub-Delivery': delivery,
        'X-Hub-Signature-256': `sha256=${hmac}`,
      },
      gitea: {
        'X-Gitea-Event': event ?? 'pull_request',
        'X-Gitea-Delivery': delivery,
        'X-Gitea-Signature': hmac,
      },
      gitlab: {
        'X-Gitlab-Event': event === 'push' ? 'Push Hook' : 'Merge Request Hook',
        'X-Gitlab-Event-UUID': delivery,
        'X-Gitlab-Token': hook.secret,
      },
    };
    const response = await fetch(`${api.url}/api/hooks/${hook.id}`, {
      method: 'POST',
      body,
      headers: { 'Content-Type': 'application/json', ...headers[provider] },
    });
    return { status: response.status, body: (await response.json()) as Json };
  }
  const report = (
    provider: Provider,
    kind: keyof (typeof ACTIONS)['github'],
    facts: Partial<Omit<Facts, 'action' | 'open'>> = {},
  ) =>
    deliver(
      provider,
      PULLS[provider]({
        ...{ number: 7, branch: 'topic', sha: A, second: 1, fork: false, ...facts },
        ...{ action: ACTIONS[provider][kind], open: kind !== 'closed' },
      }),
      provider === 'gitea' && kind === 'pushed' ? 'pull_request_sync' : undefined,
    );
  const push = (fields: object = {}) =>
    deliver('github', { ref: 'refs/heads/topic', before: C, after: A, commits: [], ...fields }, 'push');
  const previews = async (): Promise<Json[]> => (await workspace.owner.client.get(`${path}/previews`)).body.previews;
  const pulls = async (): Promise<Json[]> =>
    (await workspace.owner.client.get(`${path}/pull-requests`)).body.pullRequests;
  const deployments = (serviceId: string) => api.db('deployments').where({ service_id: serviceId }).orderBy('number');
  const decide = (id: string, how: 'approve' | 'decline', commitSha = A) =>
    workspace.owner.client.post(`${path}/pull-requests/${id}/${how}`, how === 'approve' ? { commitSha } : {});
  const deps = () => ({
    db: api.db,
    config: api.config,
    keyring: new Keyring(api.config.secretsKey),
    log: createLogger('test', 'silent'),
    dispatcher: { wake: () => undefined } as never,
  });
  const valuesOf = async (serviceId: string) => {
    const [first] = await deployments(serviceId);
    return snapshotValues(api.db, deps().keyring, first);
  };

  for (const provider of ['github', 'gitlab', 'gitea'] as const) {
    it(`of ${provider} have a preview from the first report until they are closed, and again when they are reopened`, async () => {
      expect((await report(provider, 'opened')).body).to.deep.equal({ accepted: true, reason: 'made a preview of #7' });
      const [preview] = await previews();
      expect(preview).to.include({ branch: 'topic', pullRequest: 7 });
      const [first] = await deployments(preview?.serviceId);
      expect(first).to.include({ commit_sha: A, actor: `hook:${provider}`, trigger: 'commit' });
      const [pull] = await pulls();
      expect(pull).to.include({ number: 7, title: 'Update the README with new information.', author: 'Codertocat' });
      expect(pull).to.include({ status: 'open', fork: false, previewId: preview?.id, targetBranch: 'main' });

      const pushed = await report(provider, 'pushed', { sha: B, second: 2 });
      expect(pushed.body.reason).to.equal('accepted for the preview of #7');
      const reported = await api.db('commit_events').where({ service_id: preview?.serviceId });
      expect(reported.map(({ branch, after_sha }) => [branch, after_sha])).to.deep.equal([['topic', B]]);

      expect((await report(provider, 'closed', { sha: B, second: 3 })).status).to.equal(202);
      await reapPreviews(deps());
      expect(await previews()).to.deep.equal([]);
      expect((await pulls())[0]).to.include({ status: 'closed', previewId: null });
      expect((await report(provider, 'reopened', { sha: B, second: 4 })).body.reason).to.equal('made a preview of #7');
      expect(await previews()).to.have.length(1);
    });
  }

  it('and pushes of their branch are one preview, whichever is reported first', async () => {
    await push();
    expect((await report('github', 'opened')).status).to.equal(202);
    await report('github', 'opened', { branch: 'other', number: 8 });
    await push({ ref: 'refs/heads/other' });
    const made = await previews();
    expect(made.map(({ branch, pullRequest }) => [branch, pullRequest])).to.deep.equal([
      ['other', 8],
      ['topic', 7],
    ]);
    for (const { serviceId } of made) expect(await deployments(serviceId)).to.have.length(1);
  });

  it('are safe against reports that arrive late, twice or after the end', async () => {
    await report('github', 'opened', { second: 1 });
    await report('github', 'closed', { sha: B, second: 5 });
    await reapPreviews(deps());
    const late = await report('github', 'pushed', { sha: B, second: 4 });
    expect(late).to.deep.include({ status: 200 });
    expect(late.body.reason).to.equal('a later report of #7 was received before');
    expect((await report('github', 'pushed', { sha: B, second: 5 })).status, 'in the same second').to.equal(200);
    expect((await report('github', 'opened', { second: 1 })).status, 'redelivered').to.equal(200);
    expect((await push({ after: B })).status, 'a late push').to.equal(200);
    expect(await previews()).to.deep.equal([]);
    await report('github', 'closed', { number: 9, branch: 'before', second: 5 });
    await report('github', 'opened', { number: 9, branch: 'before', second: 1 });
    expect(await previews(), 'closed was the first report').to.deep.equal([]);
  });

  it('of one branch keep its preview until the last is closed', async () => {
    await report('github', 'opened');
    await report('github', 'opened', { number: 8 });
    expect((await previews())[0]).to.include({ pullRequest: 8 });
    await report('github', 'closed', { number: 8, second: 2 });
    await reapPreviews(deps());
    expect((await previews())[0]).to.include({ pullRequest: 7 });
    await report('github', 'closed', { second: 2 });
    await reapPreviews(deps());
    expect(await previews()).to.deep.equal([]);
  });

  it('that are reopened while their preview is being deleted get another one afterwards', async () => {
    await report('github', 'opened');
    const [preview] = await previews();
    await api
      .db('deployments')
      .where({ service_id: preview?.serviceId })
      .update({ status: 'building', fence: 1, admitted_at: new Date() });
    await report('github', 'closed', { second: 2 });
    await reapPreviews(deps());
    expect((await previews())[0]).to.include({ status: 'deleting' });
    expect((await report('github', 'reopened', { second: 3 })).body.reason).to.match(/^no preview of #7: /);
    await showPullRequests(deps());
    expect((await previews())[0], 'too early').to.include({ id: preview?.id });
    await api.db('services').where({ id: preview?.serviceId }).update({ deleted_at: new Date() });
    await reapPreviews(deps());
    await api.db('pull_requests').update({ retry_at: new Date(0) });
    expect(await showPullRequests(deps())).to.deep.equal(['made the preview of pull request #7']);
    expect(await showPullRequests(deps())).to.deep.equal([]);
    expect((await previews())[0]).to.include({ status: 'deploying', pullRequest: 7 });
  });

  it('make no preview unless previewMode is "automatic", and none of what changes no commit', async () => {
    const labelled = PULLS.github({
      ...{ number: 7, branch: 'topic', sha: A, second: 1, fork: false },
      ...{ action: 'labeled', open: true },
    });
    expect((await deliver('github', labelled)).body.reason).to.equal('the action labeled deploys nothing');
    await workspace.owner.client.patch(path, { configuration: { previewMode: 'manual' } });
    expect((await report('github', 'opened')).body.accepted).to.equal(false);
    expect(await previews()).to.deep.equal([]);
    await workspace.owner.client.post(`${path}/previews`, { branch: 'topic' });
    expect((await report('github', 'pushed', { second: 2 })).status, 'one made by hand follows').to.equal(202);
    expect((await previews())[0]).to.include({ pullRequest: 7 });
    await workspace.owner.client.patch(path, { configuration: { previewMode: 'off' } });
    expect((await report('github', 'pushed', { second: 3 })).body.reason).to.equal('previews of the service are off');
  });

  it('of forks wait for the approval of their commit, and run without any variable or database', async () => {
    const database = await newService(workspace.owner.client, workspace.path, { name: 'db', kind: 'postgres' });
    await workspace.owner.client.send('PUT', `${path}/variables`, {
      set: [
        { key: 'BOTH', value: 'both' },
        { key: 'LIVE', value: 'live', scope: 'production' },
        { key: 'TRIAL', value: 'trial', scope: 'preview' },
        { key: 'DB', reference: { serviceId: database.id, key: 'URL' } },
      ],
    });
    await workspace.owner.client.patch(path, { configuration: { previewDatabases: 'own' } });
    expect((await report('github', 'opened', { fork: true })).body.reason).to.match(/waits for the approval/);
    expect(await previews(), 'nothing runs before').to.deep.equal([]);
    const [waiting] = await pulls();
    expect(waiting).to.include({ status: 'waiting', fork: true, commitSha: A, previewId: null });
    expectError(await decide(waiting?.id, 'approve', B), 409, 'conflict');
    const viewer = await workspace.member('viewer');
    const approve = `${path}/pull-requests/${waiting?.id}/approve`;
    expectError(await viewer.client.post(approve, { commitSha: A }), 403, 'forbidden');

    const approved = await decide(waiting?.id, 'approve');
    expect(approved.status, JSON.stringify(approved.body)).to.equal(200);
    const { pullRequest, preview } = approved.body;
    expect(pullRequest).to.include({ status: 'approved', previewId: preview.id });
    expect(preview).to.deep.include({ branch: 'refs/pull/7/head', pullRequest: 7, databases: [] });
    const [deployment] = await deployments(preview.serviceId);
    expect(deployment).to.include({ commit_sha: A, branch: 'refs/pull/7/head' });
    expect(deployment.configuration).to.include({ privateNetworking: false, autoDeploy: 'off' });
    expect(await valuesOf(preview.serviceId)).to.deep.equal({});

    await report('github', 'pushed', { fork: true, sha: B, second: 2 });
    expect((await pulls())[0], 'another commit waits again').to.include({ status: 'waiting', commitSha: B });
    const deploys = `${workspace.path}/services/${preview.serviceId}/deploys`;
    expectError(await workspace.owner.client.post(deploys, { commitSha: B }), 409, 'conflict');
    expect((await workspace.owner.client.post(deploys)).body.deployment).to.include({ commitSha: A });
    expect((await decide(waiting?.id, 'approve', B)).body.preview.id).to.equal(preview.id);
    expect((await deployments(preview.serviceId)).at(-1)).to.include({ commit_sha: B });
    await report('github', 'closed', { fork: true, sha: B, second: 3 });
    await reapPreviews(deps());
    expect(await previews()).to.deep.equal([]);
    expectError(await decide(waiting?.id, 'approve', B), 409, 'conflict');
  });

  it('of forks can be declined, which ends their preview', async () => {
    await report('gitlab', 'opened', { fork: true });
    const [waiting] = await pulls();
    const { preview } = (await decide(waiting?.id, 'approve')).body;
    expect(preview.branch).to.equal('refs/merge-requests/7/head');
    await report('gitlab', 'pushed', { fork: true, sha: B, second: 2 });
    expect((await decide(waiting?.id, 'decline')).body.pullRequest).to.include({ status: 'declined' });
    await reapPreviews(deps());
    expect(await previews()).to.deep.equal([]);
    await report('gitlab', 'pushed', { fork: true, sha: C, second: 3 });
    expect((await pulls())[0]).to.include({ status: 'waiting' });
  });

  it('whose head repository is gone, or is not named, count as those of forks', async () => {
    const payload = PULLS.github({
      ...{ number: 7, branch: 'topic', sha: A, second: 1, fork: false },
      ...{ action: 'opened', open: true },
    });
    await deliver('github', { ...payload, pull_request: { ...payload.pull_request, head: { ref: 'topic', sha: A } } });
    expect((await pulls())[0]).to.include({ fork: true, status: 'waiting' });
    await workspace.owner.client.post(`${path}/previews`, { branch: 'refs/pull/7/head' }).then((answer) => {
      expectError(answer, 409, 'conflict');
    });
  });
});
