import { expect } from 'chai';
import { v7 as uuidv7 } from 'uuid';
import { loadConfig } from '../../../../shared/core/config.js';
import { AppError } from '../../../../shared/core/error-registry.js';
import { Keyring } from '../../../../shared/secrets/keyring.js';
import { SEALED, sealIn } from '../../../../shared/secrets/sealed-columns.js';
import type { ServiceRow } from '../../../../shared/services/rows.js';
import { createVariable } from '../../../../shared/variables/commands.js';
import { type DeploymentScope, MAX_VARIABLES, VARIABLES_BYTES } from '../../../../shared/variables/model.js';
import { resolveVariables } from '../../../../shared/variables/resolve-variables.js';
import { makeService, makeWorkspace } from '../../../support/factories.js';
import { codeOf } from '../../../support/outcomes.js';
import { useTestDatabase } from '../../../support/postgres.js';
import { newEnvironment, updateRow } from '../../../support/records.js';

describe('Variables of a deployment', () => {
  const config = loadConfig({
    DATABASE_URL: 'postgres://x/y',
    SECRETS_KEY: Buffer.alloc(32, 1).toString('base64'),
  });
  const deps = { config, keyring: new Keyring(config.secretsKey) };
  const database = useTestDatabase();
  let consumer: ServiceRow;
  let provider: ServiceRow;
  beforeEach(async () => {
    const workspace = await makeWorkspace(database.db);
    consumer = await makeService(database.db, workspace);
    provider = await makeService(database.db, workspace);
  });

  type Owner = { service_id: string } | { group_id: string };
  async function set(owner: Owner, key: string, value: string): Promise<void> {
    const id = uuidv7();
    const sealed = sealIn(deps.keyring, SEALED.variable, id, value);
    await database.db('variables').insert({ id, workspace_id: consumer.workspace_id, ...owner, key, sealed });
  }

  async function refer(from: ServiceRow, key: string, to: ServiceRow, reference_key: string): Promise<void> {
    const row = { id: uuidv7(), workspace_id: from.workspace_id, service_id: from.id, key };
    await database.db('variables').insert({ ...row, reference_service_id: to.id, reference_key });
  }

  async function resolve(
    mayReadProtected = true,
    scope: DeploymentScope = 'production',
  ): Promise<Record<string, string> | string> {
    const authorize = () => {
      if (!mayReadProtected) throw new AppError('forbidden');
    };
    try {
      const service = { id: consumer.id, workspace_id: consumer.workspace_id };
      const variables = { serviceId: consumer.id, scope };
      const input = { service, variables, authorize };
      return (await database.db.transaction((trx) => resolveVariables(trx, deps, input))).values;
    } catch (error) {
      if (error instanceof AppError) return /in a circle/.test(error.message) ? 'circle' : error.code;
      throw error;
    }
  }

  it('only those of the scope of the deployment count, along references too', async () => {
    for (const [key, scope] of [
      ['BOTH', 'all'],
      ['LIVE', 'production'],
      ['TRIAL', 'preview'],
    ] as const) {
      await set({ service_id: consumer.id }, key, scope);
      await database.db('variables').where({ service_id: consumer.id, key }).update({ scope });
    }
    expect(await resolve()).to.deep.equal({ BOTH: 'all', LIVE: 'production' });
    expect(await resolve(true, 'preview')).to.deep.equal({ BOTH: 'all', TRIAL: 'preview' });

    await set({ service_id: provider.id }, 'SECRET', 'of production');
    await database.db('variables').where({ service_id: provider.id }).update({ scope: 'production' });
    await refer(consumer, 'LENT', provider, 'SECRET');
    expect(await resolve()).to.include({ LENT: 'of production' });
    expect(await resolve(true, 'preview'), 'a preview').to.equal('source_invalid');
  });

  it("a service's own value wins over that of a group, and the group linked last over the others", async () => {
    const { projectId, environmentId, group } = await newEnvironment(database.db, consumer.workspace_id);
    await updateRow(database.db, 'services', consumer.id, { project_id: projectId, environment_id: environmentId });
    const [one, two] = [await group('one'), await group('two')];
    for (const { id, link } of [two, one]) {
      await set({ group_id: id }, 'SHARED', id);
      await set({ group_id: id }, 'OWN', id);
      await link(consumer.id);
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    await set({ service_id: consumer.id }, 'OWN', 'own');
    expect(await resolve()).to.deep.equal({ SHARED: one.id, OWN: 'own' });
  });

  it('references are followed to their values, and to what a service offers', async () => {
    await set({ service_id: provider.id }, 'SECRET', 'value');
    await refer(consumer, 'FOLLOWED', provider, 'SECRET');
    await refer(consumer, 'OFFERED', provider, 'PORT');
    expect(await resolve()).to.deep.equal({ FOLLOWED: 'value', OFFERED: '8000' });
  });

  it('a circle, a provider that is archived, and a key that it lacks are refused', async () => {
    await refer(consumer, 'A', provider, 'B');
    expect(await resolve(), 'no such key').to.equal('source_invalid');
    await refer(provider, 'B', consumer, 'A');
    expect(await resolve()).to.equal('circle');
    await database.db('variables').where({ service_id: provider.id }).delete();
    await set({ service_id: provider.id }, 'B', 'value');
    expect(await resolve()).to.deep.equal({ A: 'value' });
    await database.db('services').where({ id: provider.id }).update({ archived: true });
    expect(await resolve(), 'archived').to.equal('source_invalid');
  });

  it('a value of a protected environment is read only by those who may act there', async () => {
    const guarded = await newEnvironment(database.db, consumer.workspace_id, { protected: true });
    await set({ service_id: provider.id }, 'SECRET', 'value');
    await refer(consumer, 'A', provider, 'SECRET');
    expect(await resolve(false)).to.deep.equal({ A: 'value' });
    const { projectId: project_id, environmentId: environment_id } = guarded;
    await database.db('services').where({ id: provider.id }).update({ project_id, environment_id });
    expect(await resolve(false)).to.equal('forbidden');
    expect(await resolve(true)).to.deep.equal({ A: 'value' });
  });

  it('a value that was copied to another row does not open', async () => {
    await set({ service_id: provider.id }, 'SECRET', 'value');
    const { sealed } = await database.db('variables').where({ service_id: provider.id }).first('sealed');
    const row = { id: uuidv7(), workspace_id: consumer.workspace_id, service_id: consumer.id, key: 'COPY', sealed };
    await database.db('variables').insert(row);
    expect(await resolve()).to.equal('source_invalid');
  });

  describe('are bounded', () => {
    const create = (key: string, value: string) =>
      codeOf(
        database.db.transaction((trx) =>
          createVariable(trx, deps, {
            workspaceId: consumer.workspace_id,
            owner: { serviceId: consumer.id },
            key,
            content: { value },
            authorize: () => undefined,
          }),
        ),
        'stored',
      );

    it('in their bytes together, keys included', async () => {
      for (const key of ['A', 'B', 'C']) expect(await create(key, 'x'.repeat(65_536))).to.equal('stored');
      const left = VARIABLES_BYTES - 3 * 65_537 - 1;
      expect(await create('D', 'x'.repeat(left + 1))).to.equal('payload_too_large');
      expect(await create('D', 'x'.repeat(left))).to.equal('stored');
      expect(await create('E', '')).to.equal('payload_too_large');
    });

    it('in their number', async () => {
      await database.db.raw(
        `insert into variables (id, workspace_id, service_id, key, sealed)
         select gen_random_uuid(), ?, ?, 'K' || n, '\\x00' from generate_series(2, ?) n`,
        [consumer.workspace_id, consumer.id, MAX_VARIABLES],
      );
      expect(await create('LAST', '')).to.equal('stored');
      expect(await create('ONE_MORE', '')).to.equal('conflict');
      expect(await create('LAST', '')).to.equal('conflict');
    });
  });
});
