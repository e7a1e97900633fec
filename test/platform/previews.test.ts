import { createHmac } from 'node:crypto';
import { readdir } from 'node:fs/promises';
import { expect } from 'chai';
import type { Db } from '../../shared/core/database/database-client.js';
import { deleteMetricsOfGone } from '../../shared/metrics/history-store.js';
import { goneServices } from '../../shared/pushes/store.js';
import { removeCaches } from '../../workers/builders/build-folder.js';
import { visit } from '../support/client.js';
import { createService, deploy, ended, readService } from '../support/deployments.js';
import { type Platform, usePlatform } from '../support/platform.js';
import { eventually, processesWith } from '../support/processes.js';
import { createRepository, packageJson, type TestRepository } from '../support/repositories.js';

interface Preview {
  id: string;
  serviceId: string;
  url: string;
  status: string;
}

const server = (word: string) => ({
  'package.json': packageJson({ scripts: { start: 'node server.js' } }),
  'server.js': `require('node:http')
  .createServer((_, response) => response.end('${word} with ' + process.env.STAGE + ' and ' + process.env.ONLY_LIVE))
  .listen(process.env.PORT);\n`,
});

/** Tables that deliberately keep rows of a deleted service. */
const HISTORY = [
  ...['deployments', 'operations', 'deployment_images', 'audit'],
  ...['edge_acknowledgements', 'freed_user_numbers'],
];

async function rowsOfService(db: Db, serviceId: string): Promise<string[]> {
  const columns: { table_name: string }[] = (
    await db.raw(
      `select table_name from information_schema.columns join information_schema.tables using (table_schema, table_name)
        where table_schema = current_schema() and column_name = 'service_id' and table_type = 'BASE TABLE'`,
    )
  ).rows;
  const left: string[] = [];
  for (const { table_name: table } of columns) {
    const rows = db(table).where({ service_id: serviceId });
    if (table === 'images') rows.whereNull('removed_at');
    const count = (await rows).length;
    if (count > 0 && !HISTORY.includes(table)) left.push(`${count} in ${table}`);
  }
  return left;
}

/** Returns what a host keeps of a service: files with its id, and processes. */
async function hostState(dataDir: string, ids: readonly string[]): Promise<string[]> {
  const files = await readdir(dataDir, { recursive: true }).catch(() => []);
  const named = files.filter((path) => ids.some((id) => path.includes(id)) && !path.startsWith('logs'));
  const running = await Promise.all(ids.map((id) => processesWith(id)));
  return [...named, ...running.filter((line) => line !== '')];
}

describe('A preview of a branch', function () {
  this.timeout(240_000);
  let platform: Platform;
  let repository: TestRepository;

  usePlatform({ engine: 'postgres' }, async (started) => {
    platform = started;
    repository = await createRepository(server('main'));
    await repository.git('checkout', '-q', '-b', 'topic');
    await repository.commit('Topic', server('topic'));
  });
  after(() => repository?.remove());

  it('runs beside its service with variables of its own, and leaves nothing when it has expired', async () => {
    const { client, edgePort, database } = platform;
    const base = await createService(client, {
      name: 'shop',
      configuration: { repository: repository.url, previewMode: 'manual' },
    });
    const set = [
      { key: 'ONLY_LIVE', value: 'secret', scope: 'production' },
      { key: 'STAGE', value: 'trial', scope: 'preview' },
    ];
    await client.expect('PUT', `/services/${base.id}/variables`, { set });
    await deploy(client, base.id);
    const linked = (await platform.networks()).length;
    const made = await client.expect<{ preview: Preview }>('POST', `/services/${base.id}/previews`, {
      branch: 'topic',
    });
    const { id, serviceId, url } = made.preview;
    const deploymentId = (await readService(client, serviceId)).deploymentId ?? '';
    expect(await ended(client, serviceId, deploymentId)).to.include({ status: 'live', error: '' });
    expect((await visit(url, edgePort)).body).to.equal('topic with trial and undefined');
    expect((await visit(base.url, edgePort)).body).to.equal('main with undefined and secret');

    const { db } = database;
    const replicas = (await db('replicas').where({ service_id: serviceId })).map((row) => row.id as string);
    expect(replicas).to.have.length(1);
    expect(await hostState(platform.dataDir, [serviceId, ...replicas]), 'while it runs').not.to.deep.equal([]);
    await db('previews')
      .where({ service_id: serviceId })
      .update({ changed_at: new Date(0) });
    const path = `/services/${base.id}/previews/${id}`;
    await eventually('the preview is gone', async () => (await client.call('GET', path)).status === 404, 90_000);
    expect((await visit(url, edgePort)).status, 'its address').to.equal(404);
    // Does what sweeps do each minute.
    await db('services')
      .where({ id: serviceId })
      .update({ deleted_at: new Date(Date.now() - 120_000) });
    await eventually('nothing of it is left', async () => {
      await deleteMetricsOfGone(db);
      await removeCaches(platform.dataDir, async (ids) => new Set(await goneServices(db, ids)));
      const left = [
        ...(await rowsOfService(db, serviceId)),
        ...(await hostState(platform.dataDir, [serviceId, ...replicas])),
      ];
      const more = (await platform.networks()).length - linked;
      if (more > 0) left.push(`${more} networks`);
      if (left.length > 0) throw new Error(left.join(', '));
      return true;
    });
    expect((await visit(base.url, edgePort)).body).to.equal('main with undefined and secret');
  });

  async function polled(serviceId: string): Promise<void> {
    const { db } = platform.database;
    const watch = () => db('commit_watches').where({ service_id: serviceId }).first();
    const { fingerprint } = await eventually('it is watched', watch);
    const row = () => db('polled_repositories').where({ fingerprint }).first();
    const { polls } = await row();
    await db('polled_repositories')
      .where({ fingerprint })
      .update({ next_at: new Date(0) });
    await eventually('it is polled', async () => (await row()).polls > polls);
  }

  it('is made, updated and ended by polling; old branches and [skip ci] make none', async () => {
    const { client, edgePort } = platform;
    const base = await createService(client, {
      name: 'polled',
      configuration: { repository: repository.url, previewMode: 'automatic' },
    });
    const list = async () =>
      (await client.expect<{ previews: Preview[] }>('GET', `/services/${base.id}/previews`)).previews;
    await polled(base.id);
    await repository.git('checkout', '-q', '-b', 'quiet', 'main');
    await repository.commit('Quiet [skip ci]', server('quiet'));
    await repository.git('checkout', '-q', '-b', 'fresh', 'main');
    await repository.commit('Fresh one', server('fresh one'));
    await polled(base.id);
    const [preview] = await eventually('the new branch has a preview', async () => {
      const previews = await list();
      return previews.length > 0 && previews;
    });
    if (!preview) throw new Error('no preview');
    const shows = (word: string) =>
      eventually(`it shows ${word}`, async () => (await visit(preview.url, edgePort)).body.startsWith(word));
    await shows('fresh one');
    await repository.commit('Fresh two', server('fresh two'));
    await polled(base.id);
    await shows('fresh two');
    expect(
      (await list()).map(({ id }) => id),
      'neither topic nor quiet',
    ).to.deep.equal([preview.id]);

    await repository.git('checkout', '-q', 'main');
    await repository.git('branch', '-q', '-D', 'fresh');
    await polled(base.id);
    expect(await list(), 'missing once').to.have.length(1);
    await polled(base.id);
    await eventually('it is gone with its branch', async () => (await list()).length === 0, 90_000);
    await client.expect('DELETE', `/services/${base.id}`, { confirm: 'polled' });
  });

  it('of a fork runs the approved commit, which only its pull request has, without variables', async () => {
    const { client, edgePort } = platform;
    await repository.git('checkout', '-q', '--detach', 'main');
    const sha = await repository.commit('Fork', server('fork'));
    await repository.git('update-ref', 'refs/pull/7/head', sha);
    await repository.git('checkout', '-q', 'main');
    const base = await createService(client, {
      name: 'forked',
      configuration: { repository: repository.url, previewMode: 'automatic' },
    });
    const set = ['all', 'production', 'preview'].map((scope, i) => ({
      ...{ key: ['STAGE', 'ONLY_LIVE', 'TRIAL'][i] ?? '', value: 'secret', scope },
    }));
    await client.expect('PUT', `/services/${base.id}/variables`, { set });
    const { hook } = await client.expect<{ hook: { id: string; secret: string } }>(
      'POST',
      `/services/${base.id}/hooks`,
      { provider: 'github' },
    );
    const body = JSON.stringify({
      action: 'opened',
      pull_request: {
        ...{ number: 7, state: 'open', title: 'Mine', updated_at: '2026-11-22T10:00:00Z', user: { login: 'stranger' } },
        ...{ head: { ref: 'main', sha, repo: { id: 2 } }, base: { ref: 'main', repo: { id: 1 } } },
      },
    });
    const delivered = await fetch(`http://127.0.0.1:${platform.apiPort}/api/hooks/${hook.id}`, {
      method: 'POST',
      body,
      headers: {
        'X-GitHub-Event': 'pull_request',
        'X-Hub-Signature-256': `sha256=${createHmac('sha256', hook.secret).update(body).digest('hex')}`,
      },
    });
    expect(delivered.status).to.equal(202);
    const pulls = await client.expect<{ pullRequests: { id: string; status: string }[] }>(
      'GET',
      `/services/${base.id}/pull-requests`,
    );
    expect(pulls.pullRequests.map(({ status }) => status)).to.deep.equal(['waiting']);
    const { preview } = await client.expect<{ preview: Preview }>(
      'POST',
      `/services/${base.id}/pull-requests/${pulls.pullRequests[0]?.id}/approve`,
      { commitSha: sha },
    );
    const deploymentId = (await readService(client, preview.serviceId)).deploymentId ?? '';
    expect(await ended(client, preview.serviceId, deploymentId)).to.include({ status: 'live', error: '' });
    expect((await visit(preview.url, edgePort)).body).to.equal('fork with undefined and undefined');
  });
});
