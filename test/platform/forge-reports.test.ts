import { createHmac } from 'node:crypto';
import { expect } from 'chai';
import type { Json } from '../support/api.js';
import { nodeServer } from '../support/apps.js';
import { createService, deploy } from '../support/deployments.js';
import { FakeForge } from '../support/fake-forge.js';
import { type Platform, usePlatform } from '../support/platform.js';
import { eventually } from '../support/processes.js';
import type { TestRepository } from '../support/repositories.js';

const TOKEN = 'ghp_16C7e42F292c6912E7710c838347Ae178B4a';

describe('A push and a pull request', function () {
  this.timeout(240_000);
  let platform: Platform;
  let forge: FakeForge;
  let repository: TestRepository;
  let hook: { id: string; secret: string };
  let service: { id: string };

  usePlatform({ engine: 'postgres' }, async (started) => {
    platform = started;
    forge = await FakeForge.start('github', TOKEN);
    repository = await platform.repositoryOf(nodeServer('one'));
    const configuration = { repository: repository.url, autoDeploy: 'commit', previewMode: 'automatic' };
    service = await createService(platform.client, { name: 'shop', configuration });
    await deploy(platform.client, service.id);
    // The repository has a path of this host, so the git host's project is set here.
    const made = await platform.client.expect<Json>('POST', `/services/${service.id}/hooks`, {
      ...{ provider: 'github', token: TOKEN, apiUrl: forge.url },
    });
    hook = made.hook;
    await platform.database.db('forge_targets').update({ project: 'team/shop' });
  });
  after(() => forge?.stop());

  async function deliver(event: string, payload: object): Promise<void> {
    const body = JSON.stringify(payload);
    const headers = {
      'X-GitHub-Event': event,
      'X-Hub-Signature-256': `sha256=${createHmac('sha256', hook.secret).update(body).digest('hex')}`,
    };
    const url = `http://127.0.0.1:${platform.apiPort}/api/hooks/${hook.id}`;
    expect((await fetch(url, { method: 'POST', body, headers })).status).to.equal(202);
  }

  const push = (after: string) =>
    deliver('push', { ref: 'refs/heads/main', before: '', after, head_commit: { message: '' } });
  const lastState = (sha: string) => forge.statuses.findLast((one) => one.sha === sha);

  it('show at the git host what became of them', async () => {
    const good = await repository.commit('Two', nodeServer('two'));
    await push(good);
    await eventually('the commit is deployed', async () => lastState(good)?.state === 'success', 90_000);
    const bad = await repository.commit('Three', {
      'package.json': JSON.stringify({ scripts: { build: `echo broken; exit 3`, start: 'node server.js' } }),
    });
    await push(bad);
    await eventually('the commit has failed', async () => lastState(bad)?.state === 'failure', 90_000);
    expect(lastState(bad)?.description).to.match(/^The step build failed: /);
    const deploymentIs = (ref: string, state: string) =>
      eventually(`the deployment of ${ref} is ${state}`, async () => {
        return forge.deployments.findLast((one) => one.ref === ref)?.states.at(-1)?.state === state;
      });
    await deploymentIs(good, 'success');
    await deploymentIs(bad, 'failure');

    await repository.git('checkout', '-q', '-b', 'topic', good);
    const topic = await repository.commit('Topic', {
      'package.json': JSON.stringify({ scripts: { build: `echo "this line shows why"; exit 3` } }),
    });
    const pull = {
      ...{ number: 7, state: 'open', title: 'Topic', updated_at: '2026-11-27T10:00:00Z', user: { login: 'me' } },
      ...{ head: { ref: 'topic', sha: topic, repo: { id: 1 } }, base: { ref: 'main', repo: { id: 1 } } },
    };
    await deliver('pull_request', { action: 'opened', pull_request: pull });
    await eventually(
      'the comment shows the failure',
      async () => /The step build failed/.test(forge.comments[0]?.body ?? ''),
      90_000,
    );
    expect(forge.comments[0]?.body).to.include('this line shows why');
    const mended = await repository.commit('Mended', { ...nodeServer('topic'), 'package.json': null });
    await deliver('pull_request', {
      ...{ action: 'synchronize', before: topic, after: mended },
      pull_request: { ...pull, updated_at: '2026-11-27T10:01:00Z', head: { ...pull.head, sha: mended } },
    });
    await eventually(
      'the comment has the address',
      async () => /Live[\s\S]*- Address: http/.test(forge.comments[0]?.body ?? ''),
      90_000,
    );
    // A preview that ends deactivates only deployments that the git host knows.
    await deploymentIs(mended, 'success');
    const closed = {
      ...pull,
      state: 'closed',
      updated_at: '2026-11-27T10:02:00Z',
      head: { ...pull.head, sha: mended },
    };
    await deliver('pull_request', { action: 'closed', pull_request: closed });
    await eventually(
      'the comment shows the end',
      async () => /was deleted/.test(forge.comments[0]?.body ?? ''),
      90_000,
    );
    expect(forge.comments).to.have.length(1);
    await deploymentIs(mended, 'inactive');

    expect(forge.problems).to.deep.equal([]);
    const answers = await platform.client.call('GET', `/services/${service.id}/hooks/${hook.id}`);
    const { reports } = (answers.body as Json).hook;
    expect(reports.lastError).to.equal('');
    expect(reports.lastSentAt).to.be.a('string');
    const printed = platform.processes.map((process) => process.output).join('');
    expect(printed + JSON.stringify(answers.body)).not.to.include(TOKEN);
  });

  it('are deployed although the git host refuses or never answers', async () => {
    await repository.git('checkout', '-q', 'main');
    forge.trouble = () => 'never';
    const commit = await repository.commit('Four', { ...nodeServer('four'), 'package.json': null });
    await push(commit);
    await eventually(
      'the commit is live',
      async () => {
        const row = await platform.database.db('deployments').where({ commit_sha: commit }).first();
        return row?.status === 'live';
      },
      90_000,
    );
    await eventually('the hook says so', async () => {
      const { body } = await platform.client.call('GET', `/services/${service.id}/hooks/${hook.id}`);
      return /no answer/.test((body as Json).hook.reports.lastError);
    });
  });
});
