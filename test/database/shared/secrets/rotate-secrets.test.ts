import { expect } from 'chai';
import { v7 as uuidv7 } from 'uuid';
import { Sensitive } from '../../../../shared/core/sensitive.js';
import { insertSession } from '../../../../shared/identity/session-store.js';
import { eraseService } from '../../../../shared/lifecycle/store.js';
import { Keyring, SealError } from '../../../../shared/secrets/keyring.js';
import { assertKeysFit, rotateSecrets } from '../../../../shared/secrets/rotate-secrets.js';
import { openFrom, SEALED, SEALED_COLUMNS, sealIn } from '../../../../shared/secrets/sealed-columns.js';
import { replaceSealed } from '../../../../shared/secrets/sealed-values.js';
import { makeDeployment, makeService } from '../../../support/factories.js';
import { failureOf } from '../../../support/outcomes.js';
import { useTestDatabase } from '../../../support/postgres.js';
import { newEnvironment, updateRow } from '../../../support/records.js';

const key = (byte: number) => new Sensitive(Buffer.alloc(32, byte).toString('base64'));
const OLD = new Keyring(key(1));
const BOTH = new Keyring(key(2), key(1));
const NEW = new Keyring(key(2));

describe('Sealed values in the database', () => {
  const database = useTestDatabase();
  beforeEach(() => database.db.raw('truncate workspaces, users, secrets_keys cascade'));

  async function fill(): Promise<{ serviceId: string; ids: Map<string, string> }> {
    const { db } = database;
    const service = await makeService(db);
    const deployment = await makeDeployment(db, service);
    const { workspace_id, id: service_id } = service;
    const ids = new Map<string, string>(SEALED_COLUMNS.map(({ binding }) => [binding, uuidv7()]));
    ids.set('repository', service.id).set('deployment-repository', deployment.id);
    for (const name of ['data-password', 'data-admin-password']) ids.set(name, service.id);
    // A row of forge_targets has the id of its hook.
    ids.set(SEALED.forgeToken.binding, ids.get(SEALED.hookSecret.binding) ?? '');
    ids.set(SEALED.webhookUrl.binding, ids.get(SEALED.webhookSecret.binding) ?? '');
    const value = (name: keyof typeof SEALED) => {
      const id = ids.get(SEALED[name].binding) ?? '';
      return { id, sealed: sealIn(OLD, SEALED[name], id, `value of ${name}`) };
    };
    await updateRow(db, 'services', service.id, { sealed_repository: value('repository').sealed });
    const { sealed: sealed_repository } = value('deploymentRepository');
    await db('deployments').where({ id: deployment.id }).update({ sealed_repository });
    await db('variables').insert({ ...value('variable'), workspace_id, service_id, key: 'KEY' });
    const snapshot = { provider_ids: [], group_ids: [], read_protected: false, digest: Buffer.from('digest') };
    await db('snapshots').insert({ ...value('snapshot'), ...snapshot, service_id });
    const { id: registry, sealed: sealed_password } = value('registryPassword');
    await db('registries').insert({
      id: registry,
      workspace_id,
      name: 'r',
      server: 's',
      username: 'u',
      sealed_password,
    });
    const { id: detection, sealed: asked } = value('detectionRepository');
    const question = { workspace_id, branch: 'main', root_directory: '' };
    await db('detections').insert({ ...question, id: detection, sealed_repository: asked });
    const { id: source, sealed: templates } = value('templateRepository');
    const named = { workspace_id, name: 'team', branch: 'main' };
    await db('template_sources').insert({ ...named, id: source, sealed_repository: templates });
    await db('data_servers').insert({
      id: service_id,
      kind: 'postgres',
      version: '16',
      database_name: 'd',
      user_name: 'u',
      sealed_password: value('dataPassword').sealed,
      sealed_admin_password: value('dataAdminPassword').sealed,
    });
    const { id: backup, sealed: sealed_key } = value('backupKey');
    await db('backups').insert({ id: backup, workspace_id, service_id, trigger: 'manual', sealed_key });
    const { id: hook, sealed: sealed_secret } = value('hookSecret');
    await db('hooks').insert({ id: hook, service_id, provider: 'github', sealed_secret });
    const told = { forge: 'github', api_url: 'https://api.github.com', project: 'a/b' };
    const { sealed: sealed_token } = value('forgeToken');
    await db('forge_targets').insert({ id: hook, workspace_id, service_id, ...told, sealed_token });
    const { id: webhook, sealed: signing } = value('webhookSecret');
    const { sealed: sealed_url } = value('webhookUrl');
    const outgoing = { workspace_id, url: 'https://example.com/', events: ['run.failed'], sealed_url };
    await db('webhooks').insert({ id: webhook, ...outgoing, sealed_secret: signing });
    const { id: drain, sealed: sealed_headers } = value('drainHeaders');
    const drained = { name: '', endpoint: 'https://example.com/', header_names: ['Authorization'] };
    await db('drains').insert({ ...drained, id: drain, workspace_id, service_id, sealed_headers });
    const { id: pair, sealed: sealed_private_key } = value('deployKey');
    await db('deploy_keys').insert({ id: pair, workspace_id, public_key: 'k', sealed_private_key });
    const { environmentId } = await newEnvironment(db, workspace_id);
    const { id: stack_id, sealed: sealed_document } = value('stackDocument');
    await db('stacks').insert({
      id: stack_id,
      workspace_id,
      environment_id: environmentId,
      name: 's',
      sealed_document,
    });
    const { id: apply, sealed: sealed_steps } = value('stackSteps');
    const askedFor = { actor: 'a', reads_protected: false, plan: {} };
    await db('stack_applies').insert({ id: apply, workspace_id, stack_id, ...askedFor, sealed_steps });
    const { id: user, sealed: totp_sealed } = value('totp');
    await db('users').insert({ id: user, email: 'a@example.com', totp_sealed });
    const session = { userId: user, tokenHash: Buffer.alloc(32), secondFactor: false, client: null, byPassword: false };
    const { id: signIn, sealed: sealed_id_token } = value('idToken');
    const { id: session_id } = await insertSession(db, session);
    await db('provider_sign_ins').insert({ id: signIn, session_id, sealed_id_token });
    return { serviceId: service.id, ids };
  }

  it('are all sealed with the new key by a rotation, and then need the old key no more', async () => {
    const { ids } = await fill();
    await assertKeysFit(database.db, OLD);
    expect(await failureOf(assertKeysFit(database.db, NEW))).to.be.instanceOf(SealError);
    const rotation = await rotateSecrets(database.db, BOTH);
    expect(rotation.unopenable).to.deep.equal([]);
    await assertKeysFit(database.db, NEW);
    for (const [name, column] of Object.entries(SEALED)) {
      const id = ids.get(column.binding) ?? '';
      const row = await database.db(column.table).where({ id }).first();
      expect(openFrom(NEW, column, id, row[column.column]), name).to.equal(`value of ${name}`);
    }
  });

  it('that do not open keep the old key in use', async () => {
    const { ids } = await fill();
    await assertKeysFit(database.db, OLD);
    const id = ids.get(SEALED.variable.binding) ?? '';
    await updateRow(database.db, 'variables', id, { sealed: sealIn(OLD, SEALED.variable, uuidv7(), 'x') });
    const rotation = await rotateSecrets(database.db, BOTH);
    expect(rotation.unopenable.map((value) => value.id)).to.deep.equal([id]);
    expect(await failureOf(assertKeysFit(database.db, NEW))).to.be.instanceOf(SealError);
  });

  it('are replaced only if they are the ones that were opened', async () => {
    const { ids } = await fill();
    const id = ids.get(SEALED.variable.binding) ?? '';
    const fresh = sealIn(NEW, SEALED.variable, id, 'later');
    const seen = { id, sealed: sealIn(OLD, SEALED.variable, id, 'earlier') };
    expect(await replaceSealed(database.db, SEALED.variable, seen, fresh)).to.equal(false);
  });

  it('of a service are erased with it, in every column', async () => {
    const { serviceId, ids } = await fill();
    await database.db.transaction((trx) => eraseService(trx, serviceId));
    for (const { table, column, binding, erased } of SEALED_COLUMNS) {
      const row = await database
        .db(table)
        .where({ id: ids.get(binding) ?? '' })
        .first();
      if (erased === null) expect(row[column], binding).to.be.instanceOf(Buffer);
      else expect(row?.[column] ?? null, binding).to.equal(null);
    }
  });
});
