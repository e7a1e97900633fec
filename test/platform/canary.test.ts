import { expect } from 'chai';
import { nodeServer, type TextFiles } from '../support/apps.js';
import { type Deployment, deploy, ended, queueDeploy, readDeployment, readService } from '../support/deployments.js';
import { rawRequest } from '../support/http.js';
import { type Platform, usePlatform } from '../support/platform.js';
import { eventually } from '../support/processes.js';

interface Visit {
  status: number;
  body: string;
  cookie: string;
}

function brokenServer(): TextFiles {
  const files = nodeServer('broken');
  return {
    ...files,
    'server.js': (files['server.js'] ?? '').replace(
      "if (request.url === '/env')",
      "if (request.url === '/') response.statusCode = 500;\n        if (request.url === '/env')",
    ),
  };
}

describe('A canary', function () {
  this.timeout(240_000);
  let platform: Platform;
  usePlatform({ engine: 'postgres' }, (started) => {
    platform = started;
  });

  type Started = Awaited<ReturnType<Platform['serviceOf']>> & { first: Deployment };

  async function started(name: string): Promise<Started> {
    const made = await platform.serviceOf(name, nodeServer('one'), { healthCheckPath: '/pid' });
    const rules = [{ type: 'canary', percent: 50, minutes: 60 }];
    await platform.client.expect('PUT', `/services/${made.service.id}/rules`, { rules });
    return { ...made, first: await deploy(platform.client, made.service.id) };
  }

  async function visit({ service }: Started, cookie = ''): Promise<Visit> {
    const host = new URL(service.url).host;
    const { status, body, headers } = await rawRequest(`http://127.0.0.1:${platform.edgePort}/`, {
      headers: { host, ...(cookie === '' ? {} : { cookie }) },
    });
    return { status, body, cookie: /ranvier_canary=[^;]*/.exec(String(headers['set-cookie'] ?? ''))?.[0] ?? '' };
  }

  async function canaryOf({ service, repository }: Started, files: TextFiles): Promise<Deployment> {
    await repository.commit('next', files);
    const { id } = await queueDeploy(platform.client, service.id);
    return eventually(
      'the canary begins',
      async () => {
        const deployment = await readDeployment(platform.client, service.id, id);
        expect(deployment.finishedAt, deployment.error).to.equal(null);
        return deployment.steps.at(-1)?.name === 'canary' && deployment;
      },
      120_000,
    );
  }

  async function visitorOf(service: Started, side: 'new' | 'previous'): Promise<string> {
    return eventually(`a visitor of the ${side} release`, async () => {
      const { cookie } = await visit(service);
      return cookie.endsWith(side) && cookie;
    });
  }

  it('of a release that fails goes back by itself, and visitors of the previous one see no failure', async () => {
    const service = await started('bad canary');
    const { id, status } = await canaryOf(service, brokenServer());
    expect(status).to.equal('releasing');
    const previous = await visitorOf(service, 'previous');
    const fresh = await visitorOf(service, 'new');
    expect(await visit(service, fresh)).to.include({ status: 500, cookie: '' });
    // Without a worker, the canary is not judged, but the edge goes on.
    for (const worker of platform.workers) await worker.stop('SIGKILL');
    const seen = new Set<string>();
    for (let count = 0; count < 30; count++) {
      const { status, body } = await visit(service, previous);
      seen.add(`${status} ${body}`);
      expect((await visit(service, fresh)).status).to.equal(500);
    }
    await platform.startWorker();
    const failed = await eventually(
      'the canary goes back',
      async () => {
        const { status, body } = await visit(service, previous);
        seen.add(`${status} ${body}`);
        const deployment = await readDeployment(platform.client, service.service.id, id);
        return deployment.finishedAt !== null && deployment;
      },
      60_000,
    );
    expect([...seen]).to.deep.equal(['200 one']);
    expect(failed.status).to.equal('failed');
    expect(failed.error).to.match(/^canary: [\d.]+ % of \d+ requests failed, 0 % of \d+ before$/);
    expect((await readService(platform.client, service.service.id)).liveDeploymentId).to.equal(service.first.id);
    for (const cookie of ['', fresh, previous]) {
      expect(await visit(service, cookie)).to.deep.equal({ status: 200, body: 'one', cookie: '' });
    }
    const { canary } = await platform.client.expect<{ canary: { outcome: string; reason: string } }>(
      'GET',
      `/services/${service.service.id}/deploys/${id}/canary`,
    );
    expect(canary.outcome).to.equal('withdrawn');
    expect(failed.error).to.equal(`canary: ${canary.reason}`);
  });

  it('of a good release is promoted at its end, or before by hand, and no visitor sees a failure', async () => {
    const service = await started('good canary');
    const seen = new Set<string>();
    const note = ({ status, body }: Visit) => seen.add(`${status} ${body}`);
    for (const [word, promote] of [
      [
        'two',
        (id: string) => platform.database.db('canaries').where({ deployment_id: id }).update({ ends_at: new Date() }),
      ],
      [
        'three',
        (id: string) => platform.client.expect('POST', `/services/${service.service.id}/deploys/${id}/promote`),
      ],
    ] as const) {
      const { id } = await canaryOf(service, nodeServer(word));
      const fresh = await visitorOf(service, 'new');
      const previous = await visitorOf(service, 'previous');
      for (let count = 0; count < 25; count++) note(await visit(service, previous));
      for (let count = 0; count < 25; count++) expect((await visit(service, fresh)).body).to.equal(word);
      await promote(id);
      const all = ended(platform.client, service.service.id, id);
      let isOver = false;
      void all.finally(() => {
        isOver = true;
      });
      while (!isOver) note(await visit(service, previous));
      expect((await all).status).to.equal('live');
      expect(await visit(service, previous)).to.deep.equal({ status: 200, body: word, cookie: '' });
    }
    expect([...seen].sort()).to.deep.equal(['200 one', '200 three', '200 two']);
  });

  it('is cancelled by a newer deployment, which is compared with the same previous release', async () => {
    const service = await started('newer canary');
    const { id } = await canaryOf(service, nodeServer('two'));
    const newer = await canaryOf(service, nodeServer('three'));
    const older = await readDeployment(platform.client, service.service.id, id);
    expect(older).to.include({ status: 'cancelled', error: '' });
    const { canary } = await platform.client.expect<{ canary: { previousDeploymentId: string } }>(
      'GET',
      `/services/${service.service.id}/deploys/${newer.id}/canary`,
    );
    expect(canary.previousDeploymentId).to.equal(service.first.id);
    expect((await visit(service, await visitorOf(service, 'new'))).body).to.equal('three');
    await platform.client.expect('POST', `/services/${service.service.id}/deploys/${newer.id}/cancel`);
    expect((await ended(platform.client, service.service.id, newer.id)).status).to.equal('cancelled');
    expect(await visit(service)).to.deep.equal({ status: 200, body: 'one', cookie: '' });
  });
});
