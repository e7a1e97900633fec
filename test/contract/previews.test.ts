import { expect } from 'chai';
import { visit } from '../support/client.js';
import { createService, deploy, ended, readService } from '../support/deployments.js';
import { type Platform, startPlatform } from '../support/platform.js';
import { eventually } from '../support/processes.js';
import { createRepository, packageJson, type TestRepository } from '../support/repositories.js';

interface Preview {
  id: string;
  serviceId: string;
  url: string;
  status: string;
}

/** Answers with a word and what a variable holds. */
const server = (word: string) => ({
  'package.json': packageJson({ scripts: { start: 'node server.js' } }),
  'server.js': `require('node:http')
  .createServer((_, response) => response.end('${word} with ' + process.env.STAGE + ' and ' + process.env.ONLY_LIVE))
  .listen(process.env.PORT);\n`,
});

describe('A preview of a branch', function () {
  this.timeout(240_000);
  let platform: Platform;
  let repository: TestRepository;

  before(async () => {
    platform = await startPlatform({ engine: 'postgres' });
    repository = await createRepository(server('main'));
    await repository.git('checkout', '-q', '-b', 'topic');
    await repository.commit(server('topic'));
  });
  after(async () => {
    await platform?.stop();
    await repository?.remove();
  });

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
    const made = await client.expect<{ preview: Preview }>('POST', `/services/${base.id}/previews`, {
      branch: 'topic',
    });
    const { id, serviceId, url } = made.preview;
    const deploymentId = (await readService(client, serviceId)).deploymentId ?? '';
    expect(await ended(client, serviceId, deploymentId)).to.include({ status: 'live', error: '' });
    expect((await visit(url, edgePort)).body).to.equal('topic with trial and undefined');
    expect((await visit(base.url, edgePort)).body).to.equal('main with undefined and secret');

    const { db } = database;
    await db('previews')
      .where({ service_id: serviceId })
      .update({ changed_at: new Date(0) });
    const path = `/services/${base.id}/previews/${id}`;
    await eventually('the preview is gone', async () => (await client.call('GET', path)).status === 404, 90_000);
    expect((await visit(url, edgePort)).status, 'its address').to.equal(404);
    for (const table of ['replicas', 'variables', 'snapshots', 'log_lines', 'log_batches']) {
      expect(await db(table).where({ service_id: serviceId }), table).to.deep.equal([]);
    }
    expect(await db('previews').where({ service_id: serviceId }), 'previews').to.deep.equal([]);
    expect(await db('images').where({ service_id: serviceId }).whereNull('removed_at'), 'images').to.deep.equal([]);
    expect((await visit(base.url, edgePort)).body).to.equal('main with undefined and secret');
  });
});
