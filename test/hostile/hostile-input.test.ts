import { mkdir, readdir, readFile, symlink } from 'node:fs/promises';
import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { expect } from 'chai';
import { addMember, createKey, createWorkspace } from '../../shared/identity/commands.js';
import { SEALED_COLUMNS } from '../../shared/secrets/sealed-columns.js';
import { nodeServer } from '../support/apps.js';
import { type Answer, ApiClient } from '../support/client.js';
import { createService, deploy, ended, queueDeploy, readLogs, type Service } from '../support/deployments.js';
import { makeUser } from '../support/factories.js';
import { type Platform, usePlatform } from '../support/platform.js';
import { eventually } from '../support/processes.js';
import { processorMs } from '../support/processor-time.js';
import { createPlatformRepository, type TestRepository } from '../support/repositories.js';
import { tablesWith } from '../support/tables.js';
import { Victim } from '../support/victim.js';

interface Refusal {
  error: { code: string; message: string; details?: { path: string; message: string }[] };
}

const SECRET = 'glpat-h0st1le-qu3ry';
const USER = 'tok-us3r-part';
const FRAGMENT = 'fr4gment-part';
/** Maximum processor time of the API for the requests of one attack. */
const MAX_PROCESSOR_MS = 5_000;

describe('Hostile input', function () {
  this.timeout(300_000);
  let platform: Platform;
  let victim: Victim;
  let repository: TestRepository;

  const env = { STOP_GRACE_SECONDS: '1', RESERVED_SLUGS: 'acme-corp, intern' };
  usePlatform({ engine: 'postgres', env }, async (started) => {
    platform = started;
    repository = await platform.repositoryOf(nodeServer('one'));
    victim = await Victim.deploy(platform);
  });

  async function clientOf(role: 'developer' | 'stranger'): Promise<ApiClient> {
    const { db } = platform.database;
    const email = `${role}-${Math.random().toString(36).slice(2)}@example.test`;
    let { workspaceId } = platform.client;
    if (role === 'stranger') {
      const made = await db.transaction((trx) => createWorkspace(trx, { name: 'Other', owner: email }));
      workspaceId = made.workspace.id;
    } else {
      await makeUser(db, { email, verified: true });
      await db.transaction((trx) => addMember(trx, { workspaceId, email, role }));
    }
    const { key } = await createKey(db, { workspaceId, email, scope: 'write', name: 'test', expiresAt: null });
    return new ApiClient(platform.client.baseUrl, workspaceId, key);
  }

  it('in schedules, formats and patterns is refused at once, and nobody else waits', async () => {
    const service = await createService(platform.client, { name: 'cron', kind: 'cron', configuration: {} });
    const schedules = [
      '0-99999999 * * * *',
      '* 0-99999999 * * *',
      '0-9999999999999999999999/1 * * * *',
      '0 0 1-99999999 * *',
      '0 0 30 2 *',
      '@daily',
      '* * * * * *',
      `${'0-59,'.repeat(50_000)}0 * * * *`,
    ];
    const others = [
      { rootDirectory: `${'a/'.repeat(100_000)}..` },
      { branch: 'a'.repeat(200_000) },
      { timezone: 'Europe/'.repeat(30_000) },
      { ipAllowList: [`${':'.repeat(200_000)}/1`] },
      { ipAllowList: Array(60_000).fill('x') },
      { ignorePaths: Array(80_000).fill('') },
    ];
    const api = platform.processes.find(({ name }) => name === 'api')?.child.pid ?? 0;
    const before = await processorMs(api);
    const configurations = [...schedules.map((schedule) => ({ schedule })), ...others];
    await victim.duringAttack(async () => {
      await Promise.all(
        configurations.map(async (configuration) => {
          const answer = await platform.client.call('PATCH', `/services/${service.id}`, { configuration });
          expect(answer.status, JSON.stringify(configuration).slice(0, 80)).to.equal(400);
        }),
      );
    });
    expect(await processorMs(api), 'the API runs').to.be.greaterThan(0);
    expect((await processorMs(api)) - before, 'milliseconds of the API').to.be.lessThan(MAX_PROCESSOR_MS);
    const good = { schedule: '*/10 1-3 * * MON-FRI' };
    expect((await platform.client.call('PATCH', `/services/${service.id}`, { configuration: good })).status).to.equal(
      200,
    );
  });

  it('in paths is refused, and no answer tells what the host has', async () => {
    for (const path of [
      '\n/../../../../etc',
      'a\n/../../x',
      'a\u2028/../x',
      '..',
      'a/..',
      '/etc',
      'a\\b',
      'x\u0000',
      'a\n',
    ]) {
      for (const field of ['rootDirectory', 'publishDirectory', 'dockerContext', 'dockerfilePath']) {
        const body = { name: 'paths', kind: 'static', configuration: { [field]: path } };
        const answer = await platform.client.call<Refusal>('POST', '/services', body);
        expect(answer.status, `${field} ${JSON.stringify(path)}`).to.equal(400);
      }
    }
    for (const [field, value] of [
      ['healthCheckPath', '/ok\n'],
      ['healthCheckPath', 'http://host/'],
      ['includePaths', ['a\n..']],
      ['ignorePaths', ['a\r']],
    ] as const) {
      const body = { name: 'paths', kind: 'web', configuration: { [field]: value } };
      expect((await platform.client.call('POST', '/services', body)).status, field).to.equal(400);
    }

    // Links in the repository point to a folder that exists and to one that does not.
    const links = await createPlatformRepository({ 'index.html': 'x' });
    try {
      await mkdir(join(links.folder, 'sub'));
      await symlink('/etc', join(links.folder, 'sub/etc'));
      await links.commit('links', {});
      const errorOf = async (rootDirectory: string) => {
        const service = await createService(platform.client, {
          name: 'links',
          kind: 'static',
          configuration: { repository: links.url, rootDirectory },
        });
        const { id } = await queueDeploy(platform.client, service.id);
        const { status, error } = await ended(platform.client, service.id, id);
        expect(status).to.equal('failed');
        return error.replace(rootDirectory, '');
      };
      const [there, file, nothing] = await Promise.all(
        ['sub/etc/ssl', 'sub/etc/passwd', 'sub/etc/no-such-thing'].map(errorOf),
      );
      expect(there).to.contain('leads out of the repository');
      expect(file).to.equal(there);
      expect(nothing).to.equal(there);
    } finally {
      await links.remove();
    }
  });

  it('that can be no address of a repository is refused where it is given, with its path', async () => {
    const { id } = await createService(platform.client, { name: 'addresses', configuration: {} });
    for (const address of ['ext::sh -c id', '--upload-pack=x', 'git@-x:a/b.git', 'ssh://-oProxyCommand=x/y', 'x']) {
      const configuration = { repository: address };
      for (const answer of [
        await platform.client.call<Refusal>('POST', '/services', { name: 'x', kind: 'web', configuration }),
        await platform.client.call<Refusal>('PATCH', `/services/${id}`, { configuration }),
      ]) {
        expect(answer.status, address).to.equal(400);
        expect(answer.body.error.code).to.equal('invalid_request');
        expect(answer.body.error.details?.map(({ path }) => path)).to.deep.equal(['/configuration/repository']);
      }
    }
  });

  it('every secret part of a repository’s address is sealed, and seen in no answer, log, error, row or command line', async () => {
    const held: ServerResponse[] = [];
    const server: Server = createServer((_, response) => void held.push(response));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', () => resolve()));
    try {
      const { port } = server.address() as AddressInfo;
      const address = `http://${USER}:pw-${SECRET}@127.0.0.1:${port}/x.git?private_token=${SECRET}#${FRAGMENT}`;
      const secrets = [SECRET, USER, FRAGMENT];
      const shows = (text: string) => secrets.filter((secret) => text.includes(secret));
      const service = await createService(platform.client, { name: 'token', configuration: { repository: address } });
      expect(shows(JSON.stringify(service))).to.deep.equal([]);
      const { id } = await queueDeploy(platform.client, service.id);
      await eventually('git asks the server', () => held.length > 0 || undefined);
      expect(shows(await commandLines())).to.deep.equal([]);
      server.on('request', (_, response) => response.writeHead(404).end());
      for (const response of held) response.writeHead(404).end();
      const deployment = await ended(platform.client, service.id, id);
      expect(deployment.status).to.equal('failed');
      const lines = await readLogs(platform.client, service.id);
      const read = await platform.client.expect<{ service: Service & { configuration: object } }>(
        'GET',
        `/services/${service.id}`,
      );
      const answers = [
        read,
        await platform.client.expect('GET', '/services'),
        await platform.client.expect('GET', `/services/${service.id}/deploys`),
      ];
      expect(shows(JSON.stringify([deployment, lines, answers]))).to.deep.equal([]);
      expect(await tablesWith(platform.database.db, secrets)).to.deep.equal([]);
      expect(shows(platform.processes.map(({ output }) => output).join('\n'))).to.deep.equal([]);
      // The masked values that were shown can be sent back without an effect.
      const shown = read.service.configuration;
      await platform.client.expect('PATCH', `/services/${service.id}`, { configuration: shown });
      const masked = { configuration: { repository: `http://127.0.0.1:${port}/y.git?***` } };
      expect((await platform.client.call('PATCH', `/services/${service.id}`, masked)).status).to.equal(400);
    } finally {
      server.closeAllConnections();
      server.close();
    }
  });

  it('nothing sealed is left of a deleted service, in no row of any table', async () => {
    const { db } = platform.database;
    const service = await createService(platform.client, {
      name: 'erased',
      configuration: { repository: `${repository.url}?private_token=${SECRET}-2` },
      variables: [{ key: 'TOKEN', value: 'v4lue-of-the-erased' }],
    });
    await deploy(platform.client, service.id);
    await platform.client.expect('PATCH', `/services/${service.id}`, {
      configuration: { repository: `${repository.url}?private_token=${SECRET}-3` },
    });
    await queueDeploy(platform.client, service.id);
    await platform.client.expect('POST', `/services/${service.id}/hooks`, {
      ...{ provider: 'github', token: 'ghp_erased', apiUrl: 'http://127.0.0.1:9' },
    });
    await platform.client.expect('POST', '/drains', {
      ...{ endpoint: 'http://127.0.0.1:9', signals: ['logs'], headers: { 'X-Key': 'erased' }, serviceId: service.id },
    });
    const sealed: string[] = [];
    for (const { table, column, erased } of SEALED_COLUMNS) {
      // Databases alone have these columns; database/shared/secrets/rotate-secrets checks them.
      if (erased === null || table === 'data_servers' || table === 'backups') continue;
      const rows = await db(table)
        .where({ [erased.service]: service.id })
        .whereNotNull(column)
        .select(db.raw(`encode(??, 'hex') as sealed`, [column]));
      expect(rows.length, `${table}.${column}`).to.be.at.least(1);
      sealed.push(...rows.map((row: { sealed: string }) => row.sealed));
    }
    expect(await tablesWith(db, sealed)).to.have.length(sealed.length);
    await platform.client.expect('DELETE', `/services/${service.id}`, { confirm: service.name });
    await eventually(
      'the service is deleted',
      async () => (await platform.client.call('GET', `/services/${service.id}`)).status === 404,
    );
    expect(await tablesWith(db, [...sealed, SECRET, 'v4lue-of-the-erased'])).to.deep.equal([]);
  });

  it('planted references read nothing of an environment that was protected since', async () => {
    const developer = await clientOf('developer');
    const { project } = await platform.client.expect<{ project: { id: string; environments: { id: string }[] } }>(
      'POST',
      '/projects',
      { name: 'Planted', color: 'red' },
    );
    const environmentId = project.environments[0]?.id;
    const inside = await newService(developer, 'vault', { projectId: project.id, environmentId });
    const outside = await newService(developer, 'planter', {});
    const between = await newService(developer, 'between', {});
    const setVariable = (client: ApiClient, owner: string, body: object) =>
      client.expect<{ variable: { id: string } }>('POST', `${owner}/variables`, body);
    const { variable } = await setVariable(developer, `/services/${inside.id}`, { key: 'TOKEN', value: 'dummy' });
    await setVariable(developer, `/services/${between.id}`, refer('HOP', inside.id, 'TOKEN'));
    const direct = await setVariable(developer, `/services/${outside.id}`, refer('DIRECT', inside.id, 'TOKEN'));
    await deploy(developer, outside.id);
    const rollback = (await developer.expect<{ service: Service }>('GET', `/services/${outside.id}`)).service;

    const path = `/projects/${project.id}/environments/${environmentId}`;
    const { references } = await platform.client.expect<{
      references: { key: string; from: { name: string }; to: { name: string; key: string } }[];
    }>('PATCH', path, { protected: true });
    expect(references.map(({ key, from, to }) => [key, from.name, to.name, to.key])).to.have.deep.members([
      ['HOP', 'between', 'vault', 'TOKEN'],
      ['DIRECT', 'planter', 'vault', 'TOKEN'],
    ]);
    await platform.client.expect('PATCH', `/services/${inside.id}/variables/${variable.id}`, { value: 'the real one' });

    const deploys = `/services/${outside.id}/deploys`;
    const refused = async (answer: Answer<Refusal>, key: string) => {
      expect(answer.status, JSON.stringify(answer.body)).to.equal(403);
      expect(answer.body.error.message).to.contain(key);
      expect(answer.body.error.details?.[0]?.path).to.equal(`variables.${key}`);
    };
    await refused(await developer.call('POST', deploys, {}), 'DIRECT');
    await refused(await developer.call('POST', `/services/${outside.id}/actions`, { action: 'clear-cache' }), 'DIRECT');
    const back = await developer.call('POST', `${deploys}/${rollback.liveDeploymentId}/rollback`, {
      confirm: 'planter',
    });
    expect(back.status).to.equal(403);
    // A variable through another service, or through a group, is refused too.
    await developer.expect('DELETE', `/services/${outside.id}/variables/${direct.variable.id}`);
    const hop = await setVariable(developer, `/services/${outside.id}`, refer('BY_HOP', between.id, 'HOP'));
    await refused(await developer.call('POST', deploys, {}), 'BY_HOP');
    await developer.expect('DELETE', `/services/${outside.id}/variables/${hop.variable.id}`);
    const { environmentGroup: group } = await developer.expect<{ environmentGroup: { id: string } }>(
      'POST',
      '/environment-groups',
      { name: 'shared' },
    );
    await setVariable(developer, `/environment-groups/${group.id}`, refer('BY_GROUP', between.id, 'HOP'));
    await developer.expect('POST', `/environment-groups/${group.id}/services`, { serviceId: outside.id });
    await refused(await developer.call('POST', deploys, {}), 'BY_GROUP');
    // A user who may act in the protected environment may deploy.
    await deploy(platform.client, outside.id);
    expect((await developer.call('POST', `/services/${between.id}/deploys`, {})).status).to.equal(403);
  });

  it('a group that reaches a protected environment lends nothing to deployments of who may not act there', async () => {
    const developer = await clientOf('developer');
    const { project } = await platform.client.expect<{ project: { id: string; environments: { id: string }[] } }>(
      'POST',
      '/projects',
      { name: 'Grouped', color: 'red' },
    );
    const environmentId = project.environments[0]?.id;
    const inside = await newService(developer, 'inside', { projectId: project.id, environmentId });
    const outside = await newService(developer, 'outside', {});
    const { environmentGroup: group } = await developer.expect<{ environmentGroup: { id: string } }>(
      'POST',
      '/environment-groups',
      { name: 'across' },
    );
    await developer.expect('POST', `/environment-groups/${group.id}/variables`, { key: 'SHARED', value: 'dummy' });
    for (const { id } of [inside, outside]) {
      await developer.expect('POST', `/environment-groups/${group.id}/services`, { serviceId: id });
    }
    const path = `/projects/${project.id}/environments/${environmentId}`;
    const answer = await platform.client.expect<{ sharedGroups: { name: string }[] }>('PATCH', path, {
      protected: true,
    });
    expect(answer.sharedGroups.map(({ name }) => name)).to.deep.equal(['across']);
    const refused = await developer.call<Refusal>('POST', `/services/${outside.id}/deploys`, {});
    expect(refused.status).to.equal(403);
    expect(refused.body.error.message).to.contain('SHARED').and.contain('across');
  });

  it('variables are bounded together, and deployments with equal ones share a snapshot', async () => {
    const { db } = platform.database;
    const service = await createService(platform.client, {
      name: 'bounded',
      configuration: { repository: repository.url },
    });
    const variables = `/services/${service.id}/variables`;
    const value = 'é'.repeat(30_000);
    const statuses: number[] = [];
    for (let i = 0; i < 8; i++) {
      const answer = await platform.client.call<Refusal>('POST', variables, { key: `V${i}`, value: `${value}${i}` });
      statuses.push(answer.status);
      if (answer.status === 201) continue;
      expect(answer.body.error.code).to.equal('payload_too_large');
      expect(answer.body.error.details?.[0]?.path).to.equal('/value');
      expect(answer.body.error.message)
        .to.contain('262144')
        .and.match(/delete/);
    }
    expect(statuses).to.deep.equal([201, 201, 201, 201, 413, 413, 413, 413]);

    // References and groups lend more variables than a service may hold itself.
    const borrower = await createService(platform.client, {
      name: 'borrower',
      configuration: { repository: repository.url },
    });
    for (let i = 0; i < 5; i++) {
      const body = { key: `B${i}`, reference: { serviceId: service.id, key: `V${i % 4}` } };
      await platform.client.expect('POST', `/services/${borrower.id}/variables`, body);
    }
    const refused = await platform.client.call<Refusal>('POST', `/services/${borrower.id}/deploys`, {});
    expect(refused.status).to.equal(413);
    expect(refused.body.error.details?.[0]?.path).to.equal('variables.B4');

    // Masking these values delays neither the steps nor other tenants.
    await victim.duringAttack(() => deploy(platform.client, service.id));
    for (let i = 0; i < 3; i++) {
      const { id } = await queueDeploy(platform.client, service.id);
      await platform.client.call('POST', `/services/${service.id}/deploys/${id}/cancel`, {});
      await ended(platform.client, service.id, id);
    }
    const stored = () => db('snapshots').where({ service_id: service.id });
    expect(await stored()).to.have.length(1);
    expect(await db('deployments').where({ service_id: service.id }).whereNotNull('snapshot_id')).to.have.length(4);
    // A snapshot with other content is deleted as soon as nothing can run with it.
    await platform.client.expect('POST', variables, { key: 'OTHER', value: '1' });
    const { id } = await queueDeploy(platform.client, service.id);
    expect(await stored()).to.have.length(2);
    await platform.client.call('POST', `/services/${service.id}/deploys/${id}/cancel`, {});
    await ended(platform.client, service.id, id);
    await platform.client.expect('DELETE', `${variables}/${await idOf(service, 'OTHER')}`);
    await queueDeploy(platform.client, service.id);
    expect(await stored()).to.have.length(1);
  });

  it('slugs of the platform’s own and of services deleted lately are given to nobody else', async () => {
    const stranger = await clientOf('stranger');
    for (const name of ['www', 'API', 'admin', 'mail', 'WPAD', 'acme corp', 'intern']) {
      const { url } = await newService(stranger, name, {});
      expect(new URL(url).hostname.split('.')[0], name).to.match(/^[a-z-]+-[a-z0-9]{6}$/);
    }
    const slug = 'left-behind';
    const hostOf = (service: Service) => new URL(service.url).hostname;
    const first = await newService(platform.client, slug, {});
    expect(hostOf(first)).to.equal(`${slug}.localhost`);
    await platform.client.expect('DELETE', `/services/${first.id}`, { confirm: slug });
    const theirs = await newService(stranger, slug, {});
    expect(hostOf(theirs)).to.match(/^left-behind-[a-z0-9]{6}\.localhost$/);
    const again = await newService(platform.client, slug, {});
    expect(hostOf(again)).to.equal(`${slug}.localhost`);
    await platform.client.expect('DELETE', `/services/${again.id}`, { confirm: slug });
    await platform.database
      .db('services')
      .whereIn('id', [first.id, again.id])
      .update({ deleted_at: platform.database.db.raw(`now() - interval '31 days'`) });
    expect(hostOf(await newService(stranger, slug, {}))).to.equal(`${slug}.localhost`);
  });

  async function newService(client: ApiClient, name: string, placement: object): Promise<Service> {
    const configuration = { repository: repository.url };
    const body = { name, kind: 'web', configuration, ...placement };
    return (await client.expect<{ service: Service }>('POST', '/services', body)).service;
  }

  async function idOf(service: Service, key: string): Promise<string> {
    const { variables } = await platform.client.expect<{ variables: { id: string; key: string }[] }>(
      'GET',
      `/services/${service.id}/variables`,
    );
    return variables.find((variable) => variable.key === key)?.id ?? '';
  }
});

function refer(key: string, serviceId: string, of: string): object {
  return { key, reference: { serviceId, key: of } };
}

async function commandLines(): Promise<string> {
  const processes = (await readdir('/proc')).filter((name) => /^\d+$/.test(name));
  const lines = processes.map((pid) => readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => ''));
  return (await Promise.all(lines)).join('\n');
}
