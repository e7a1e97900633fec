import { expect } from 'chai';
import createClient, { type Client } from 'openapi-fetch';
import type { components, paths } from '../../api/pages/console/api/schema.js';
import { createSignInLink } from '../../shared/identity/sign-in.js';
import { nodeServer } from '../support/apps.js';
import { visit } from '../support/client.js';
import { ENGINES, type Platform, usePlatform } from '../support/platform.js';
import { eventually } from '../support/processes.js';
import type { TestRepository } from '../support/repositories.js';

type Schemas = components['schemas'];

const SERVICE = '/v1/workspaces/{workspaceId}/services/{serviceId}';

describe('A client generated from the document', () => {
  describe('does the main job', function () {
    this.timeout(240_000);
    let platform: Platform;
    let repository: TestRepository;
    let client: Client<paths>;
    let workspaceId: string;
    let service: Schemas['Service'];
    let first: Schemas['Deployment'];

    usePlatform({ engine: ENGINES[0] ?? 'postgres' }, async (started) => {
      platform = started;
      repository = await platform.repositoryOf(nodeServer('one'));
      workspaceId = platform.client.workspaceId;
      client = createClient<paths>({
        baseUrl: new URL('/api', platform.client.baseUrl).href,
        headers: { Authorization: `Bearer ${platform.client.key}` },
      });
    });

    const path = () => ({ workspaceId, serviceId: service.id });
    const page = async () => (await visit(service.url, platform.edgePort)).body;

    async function ended(deploymentId: string): Promise<Schemas['Deployment']> {
      return eventually(`deployment ${deploymentId} ends`, async () => {
        const { deployment } = data(
          await client.GET(`${SERVICE}/deploys/{deploymentId}`, { params: { path: { ...path(), deploymentId } } }),
        );
        return deployment.finishedAt === null ? undefined : deployment;
      });
    }

    it('signs in, although sessions are outside of the version', async () => {
      const token = await createSignInLink(platform.database.db, 'owner@example.test');
      const { user, csrfToken } = data(await client.POST('/session/link', { body: { token } }));
      expect(user?.email).to.equal('owner@example.test');
      expect(csrfToken).to.not.equal('');
    });

    it('creates a service with a variable', async () => {
      const { defaults, capabilities } = data(await client.GET('/v1/catalog'));
      expect(capabilities.workerOnline).to.equal(true);
      const created = await client.POST('/v1/workspaces/{workspaceId}/services', {
        params: { path: { workspaceId }, header: { 'Idempotency-Key': 'typed-client' } },
        body: {
          name: 'typed',
          kind: 'web',
          configuration: { repository: repository.url, plan: defaults.plan, buildCommand: 'echo built' },
          variables: [{ key: 'FIRST', value: '1' }],
        },
      });
      service = data(created).service;
      expect(service.status).to.equal('not_deployed');
    });

    it('deploys it, polls, and reads its log', async () => {
      const queued = data(await client.POST(`${SERVICE}/deploys`, { params: { path: path() }, body: {} })).deployment;
      expect(queued.status).to.equal('queued');
      first = await ended(queued.id);
      expect(first.status, first.error).to.equal('live');
      expect(first.steps.map((step) => step.name)).to.deep.equal(['queued', 'build', 'release']);
      expect(await page()).to.equal('one');
      service = data(await client.GET(SERVICE, { params: { path: path() } })).service;
      expect(service.liveDeploymentId).to.equal(first.id);
      await eventually('the build’s line is in the log', async () => {
        const query = { source: 'build', deploymentId: first.id } as const;
        const log = data(await client.GET(`${SERVICE}/logs`, { params: { path: path(), query } }));
        return log.items.some((line) => line.message === 'built');
      });
    });

    it('sets a variable, which the next deployment has', async () => {
      const created = await client.POST(`${SERVICE}/variables`, {
        params: { path: path() },
        body: { key: 'SECOND', value: '1' },
      });
      const variableId = data(created).variable.id;
      const replaced = await client.PATCH(`${SERVICE}/variables/{variableId}`, {
        params: { path: { ...path(), variableId } },
        body: { value: '2' },
      });
      expect(data(replaced).variable).to.include({ key: 'SECOND', configured: true });
      await repository.commit('two', nodeServer('two'));
      const action = data(
        await client.POST(`${SERVICE}/actions`, { params: { path: path() }, body: { action: 'deploy' } }),
      );
      if (!('deployment' in action)) throw new Error('the action answered with an operation');
      expect((await ended(action.deployment.id)).status).to.equal('live');
      const { body } = await visit(service.url, platform.edgePort, '/env');
      expect(JSON.parse(body)).to.include({ FIRST: '1', SECOND: '2' });
      const listed = data(await client.GET(`${SERVICE}/variables`, { params: { path: path(), query: { limit: 1 } } }));
      expect(listed.page?.hasMore).to.equal(true);
      const deleted = await client.DELETE(`${SERVICE}/variables/{variableId}`, {
        params: { path: { ...path(), variableId } },
      });
      expect(data(deleted).deleted).to.equal(true);
    });

    it('cancels a deployment', async () => {
      data(
        await client.PATCH(SERVICE, {
          params: { path: path() },
          body: { configuration: { buildCommand: 'echo waits; sleep 86399' } },
        }),
      );
      const { id } = data(await client.POST(`${SERVICE}/deploys`, { params: { path: path() }, body: {} })).deployment;
      const one = { params: { path: { ...path(), deploymentId: id } } };
      await eventually('it builds', async () => {
        const { deployment } = data(await client.GET(`${SERVICE}/deploys/{deploymentId}`, one));
        return deployment.status === 'building';
      });
      expect(data(await client.POST(`${SERVICE}/deploys/{deploymentId}/cancel`, one)).cancelRequested).to.equal(true);
      expect((await ended(id)).status).to.equal('cancelled');
      const again = await client.POST(`${SERVICE}/deploys/{deploymentId}/cancel`, one);
      expect(again.error?.error.code).to.equal('deployment_terminal');
    });

    it('rolls back', async () => {
      const answer = await client.POST(`${SERVICE}/deploys/{deploymentId}/rollback`, {
        params: { path: { ...path(), deploymentId: first.id } },
        body: { confirm: service.name },
      });
      const { id, sourceDeploymentId } = data(answer).deployment;
      expect(sourceDeploymentId).to.equal(first.id);
      expect((await ended(id)).status).to.equal('live');
      expect(await page()).to.equal('one');
    });

    it('deletes the service', async () => {
      const answer = await client.DELETE(SERVICE, { params: { path: path() }, body: { confirm: service.name } });
      const { operation } = data(answer);
      if (!operation) throw new Error('nothing was queued');
      await eventually('the operation succeeds', async () => {
        const read = await client.GET(`${SERVICE}/operations/{operationId}`, {
          params: { path: { ...path(), operationId: operation.id } },
        });
        return data(read).operation.status === 'succeeded';
      });
      const gone = await client.GET(SERVICE, { params: { path: path() } });
      expect(gone.error?.error.code).to.equal('not_found');
    });
  });
});

function data<T>(answer: { data?: T; error?: Schemas['ErrorResponse'] }): T {
  if (answer.data === undefined) throw new Error(JSON.stringify(answer.error));
  return answer.data;
}
