import { expect } from 'chai';
import { Sensitive } from '../../shared/core/sensitive.js';
import { addRegistry, openRegistry } from '../../shared/images/registries.js';
import { Keyring } from '../../shared/secrets/keyring.js';
import { rotateSecrets } from '../../shared/secrets/rotate-secrets.js';
import { expectError, newService, startTestApi, type TestApi, type TestWorkspace } from '../support/api.js';

describe('Sources of an installation that runs containers', () => {
  let api: TestApi;
  let workspace: TestWorkspace;
  let registryId: string;

  before(async () => {
    api = await startTestApi({ runtime: 'swarm', allowLocalRepositories: false });
    workspace = await api.workspace();
    registryId = await add(workspace.id);
  });
  after(() => api.close());

  async function add(workspaceId: string): Promise<string> {
    const input = { workspaceId, name: 'ours', server: 'https://Registry.example.com/', username: 'u' };
    return (await addRegistry(api.db, new Keyring(api.config.secretsKey), { ...input, password: 'the password' })).id;
  }

  async function deploy(configuration: object) {
    const service = await newService(workspace.owner.client, workspace.path, { configuration });
    return workspace.owner.client.post(`${workspace.path}/services/${service.id}/deploys`);
  }

  it('are images, by any of the settings that say so, and Dockerfiles', async () => {
    const image = 'registry.example.com/app:1';
    for (const source of [{ sourceType: 'image' }, { buildMethod: 'image' }, { runtime: 'image' }]) {
      expect((await deploy({ ...source, image })).body.deployment).to.include({ status: 'queued', commitSha: '' });
    }
    expect((await deploy({ sourceType: 'image', image, registryId })).status).to.equal(200);
    const repository = 'https://example.com/app.git';
    expect((await deploy({ buildMethod: 'dockerfile', repository, registryId })).status).to.equal(200);
  });

  it('are refused with the field that is wrong', async () => {
    const stranger = await add((await api.workspace()).id);
    const image = 'registry.example.com/app:1';
    const refused: [configuration: object, field: string, message: RegExp][] = [
      [{ sourceType: 'image' }, 'image', /empty/],
      [{ sourceType: 'image', image: 'https://x/y' }, 'image', /not a name such as/],
      [{ sourceType: 'image', image: '127.0.0.1:5000/app' }, 'image', /private address/],
      [
        { sourceType: 'image', image, registryId: stranger },
        'registryId',
        /does not name a registry of this workspace/,
      ],
      [{ sourceType: 'image', image, registryId: 'x' }, 'registryId', /does not name a registry of this workspace/],
      [{ sourceType: 'image', image: 'nginx', registryId }, 'registryId', /is for registry.example.com, .* docker.io/],
      [
        { repository: 'https://example.com/a.git', registryId: 'x' },
        'registryId',
        /does not name a registry of this workspace/,
      ],
      [{ buildMethod: 'dockerfile' }, 'repository', /empty/],
    ];
    for (const [configuration, field, message] of refused) {
      const answer = await deploy(configuration);
      expectError(answer, 400, 'source_invalid');
      const [detail] = answer.body.error.details;
      expect(detail.path, JSON.stringify(configuration)).to.equal(`configuration.${field}`);
      expect(detail.message).to.match(message);
    }
  });

  it('have credentials that are sealed, and sealed anew when the key changes', async () => {
    const old = new Keyring(api.config.secretsKey);
    const fresh = new Keyring(new Sensitive(Buffer.alloc(32, 9).toString('base64')), api.config.secretsKey);
    const row = await api.db('registries').where({ id: registryId }).first();
    expect(JSON.stringify(row)).not.to.contain(Buffer.from('the password').toString('hex'));
    const opened = await openRegistry(api.db, old, workspace.id, registryId);
    expect(opened?.password.reveal()).to.equal('the password');
    expect(opened).to.deep.include({ server: 'registry.example.com', username: 'u' });
    expect(await openRegistry(api.db, old, (await api.workspace()).id, registryId)).to.equal(null);

    expect((await rotateSecrets(api.db, fresh)).resealed.registries).to.be.greaterThan(0);
    expect((await openRegistry(api.db, fresh, workspace.id, registryId))?.password.reveal()).to.equal('the password');
    const refusal = await openRegistry(api.db, old, workspace.id, registryId).catch((error: Error) => error.message);
    expect(refusal).to.match(/was sealed with key/);
  });
});
