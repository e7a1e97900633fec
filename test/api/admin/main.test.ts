import { expect } from 'chai';
import { findApiKey } from '../../../shared/identity/store.js';
import { matches, parseApiKey } from '../../../shared/secrets/api-key.js';
import { runAdmin, runAdminIn } from '../../support/admin.js';
import { createEmptyDatabase, createTestDatabase, type TestDatabase } from '../../support/postgres.js';

describe('npm run admin', () => {
  let database: TestDatabase;
  let workspace: string;

  const admin = (...args: string[]) => runAdmin(database.url, ...args);
  async function json(...args: string[]) {
    const { code, stdout, stderr } = await admin(...args, '--json');
    expect(code, stderr).to.equal(0);
    return JSON.parse(stdout);
  }

  before(async () => {
    database = await createTestDatabase();
    const created = await json('workspace', 'create', '--name', 'Acme', '--owner', 'Owner@Example.org');
    expect(created.owner.email).to.equal('owner@example.org');
    expect(created.owner.password).to.be.a('string');
    workspace = created.id;
  });
  after(() => database.drop());

  it('a workspace for an existing user shows no password', async () => {
    const created = await json('workspace', 'create', '--name', 'Second', '--owner', 'owner@example.org');
    expect(created.owner).to.have.keys('id', 'email');
  });

  it('a workspace is created on a plan, and put on another', async () => {
    const created = await json(
      'workspace',
      'create',
      '--name',
      'Paid',
      '--owner',
      'owner@example.org',
      '--plan',
      'pro',
    );
    expect(created.plan).to.equal('pro');
    const changed = await json('workspace', 'configure', '--workspace', created.id, '--plan', 'starter');
    expect(changed).to.include({ id: created.id, plan: 'starter' });
    expect(await database.db('workspaces').where({ id: created.id }).first('plan')).to.deep.equal({ plan: 'starter' });
    const { code, stderr } = await admin('workspace', 'configure', '--workspace', created.id, '--plan', 'gold');
    expect(code).to.equal(2);
    expect(stderr).to.match(/--plan must be one of free, starter/);
  });

  it('settings are stored with their types', async () => {
    const pairs = ['--set', 'buildConcurrency=3', '--set', 'requireMfa=true', '--set', 'description=a=b'];
    const { configuration } = await json('workspace', 'configure', '--workspace', workspace, ...pairs);
    expect(configuration).to.deep.equal({ buildConcurrency: 3, requireMfa: true, description: 'a=b' });
  });

  it('wrong settings are refused, each by its name, and nothing is stored', async () => {
    const pairs = ['--set', 'buildConcurrency=0', '--set', 'currency=EUR', '--set', 'nonsense=1', '--set', 'budget=10'];
    const { code, stdout, stderr } = await admin('workspace', 'configure', '--workspace', workspace, ...pairs);
    expect(code).to.equal(1);
    expect(stdout).to.equal('');
    expect(stderr).to.match(/buildConcurrency must be >= 1/);
    expect(stderr).to.match(/currency .*USD, NGN/);
    expect(stderr).to.match(/nonsense is not a setting/);
    const [row] = await database.db('workspaces').where({ id: workspace });
    expect(row.configuration).to.not.have.property('budget');
  });

  it('users are created verified or not, once', async () => {
    const made = await json('user', 'create', '--email', 'dev@example.org', '--verified');
    expect(made).to.include({ email: 'dev@example.org', verified: true });
    expect(made.password).to.be.a('string');
    const given = await json('user', 'create', '--email', 'new@example.org', '--password', 'long enough');
    expect(given).to.not.have.property('password');
    const rows = await database.db('users').whereIn('email', ['dev@example.org', 'new@example.org']).orderBy('email');
    expect(rows.map((row) => row.email_verified_at !== null)).to.deep.equal([true, false]);
    const again = await admin('user', 'create', '--email', 'DEV@example.org');
    expect(again.code).to.equal(1);
    expect(again.stderr).to.match(/exists already \(conflict\)/);
    expect((await admin('user', 'create', '--email', 'x@example.org', '--password', 'short')).stderr).to.match(/8/);
  });

  it('members come, change their role and go; the last owner stays', async () => {
    await json('user', 'create', '--email', 'member@example.org');
    const member = ['--workspace', workspace, '--email', 'member@example.org'];
    expect((await json('member', 'add', ...member)).role).to.equal('developer');
    expect((await json('member', 'add', ...member, '--role', 'viewer')).role).to.equal('viewer');
    expect(await database.db('memberships').where({ role: 'viewer' })).to.have.length(1);
    await json('member', 'remove', ...member);
    expect((await admin('member', 'remove', ...member)).stderr).to.match(/not a member/);
    const owner = ['--workspace', workspace, '--email', 'owner@example.org'];
    expect((await admin('member', 'remove', ...owner)).stderr).to.match(/last owner/);
    expect((await admin('member', 'add', ...owner, '--role', 'viewer')).stderr).to.match(/last owner/);
  });

  it('a key is shown once, listed without its secret, and revoked for good', async () => {
    const owner = ['--workspace', workspace, '--email', 'owner@example.org'];
    const created = await json(
      'key',
      'create',
      ...owner,
      '--scope',
      'write',
      '--name',
      'ci',
      '--expires',
      '2099-01-01',
    );
    const parsed = parseApiKey(created.key);
    const row = await findApiKey(database.db, parsed?.lookup ?? '');
    expect(row?.id).to.equal(created.id);
    expect(matches(parsed?.secret ?? '', row?.secret_hash ?? Buffer.alloc(0))).to.equal(true);
    expect(created).to.include({ name: 'ci', scope: 'write', expiresAt: '2099-01-01T00:00:00.000Z', revokedAt: null });

    const list = await json('key', 'list', '--workspace', workspace);
    expect(list).to.have.length(1);
    expect(list[0]).to.include({ id: created.id, email: 'owner@example.org' });
    expect(JSON.stringify(list)).to.not.include(parsed?.secret);

    const { revokedAt } = await json('key', 'revoke', '--id', created.id);
    expect(revokedAt).to.be.a('string');
    expect((await json('key', 'revoke', '--id', created.id)).revokedAt).to.equal(revokedAt);
  });

  it('a key needs a member', async () => {
    await json('user', 'create', '--email', 'stranger@example.org');
    const args = ['--workspace', workspace, '--email', 'stranger@example.org', '--scope', 'read', '--name', 'x'];
    const { code, stderr } = await admin('key', 'create', ...args);
    expect(code).to.equal(1);
    expect(stderr).to.match(/not a member/);
  });

  it('registries are added with the key that the environment has, listed without passwords, and removed', async () => {
    const env = { DATABASE_URL: database.url, SECRETS_KEY: Buffer.alloc(32, 3).toString('base64') };
    const args = ['--name', 'ours', '--server', 'https://registry.example.org/v2/', '--username', 'robot'];
    const add = () =>
      runAdminIn(env, 'registry', 'add', '--workspace', workspace, ...args, '--password', 'the password', '--json');
    const added = JSON.parse((await add()).stdout);
    expect(added).to.include({ name: 'ours', server: 'registry.example.org', username: 'robot' });
    expect((await add()).stderr).to.match(/has a registry "ours" already/);
    const other = { ...env, SECRETS_KEY: Buffer.alloc(32, 4).toString('base64') };
    const refused = await runAdminIn(other, 'registry', 'add', '--workspace', workspace, ...args, '--password', 'p');
    expect(refused.stderr).to.match(/SECRETS_KEY .* does not open what this database holds/);

    const list = await json('registry', 'list', '--workspace', workspace);
    expect(list).to.deep.equal([added]);
    expect(JSON.stringify(list)).not.to.contain('password');
    expect(await json('registry', 'remove', '--id', added.id)).to.deep.equal({ ...added, removed: true });
    expect((await admin('registry', 'remove', '--id', added.id)).stderr).to.match(/There is no registry/);
    const wrong = await runAdminIn(
      env,
      'registry',
      'add',
      '--workspace',
      workspace,
      ...args.with(3, 'a b'),
      '--password',
      'p',
    );
    expect(wrong.stderr).to.match(/server must be a registry such as/);
  });

  it('a wrong command line shows the usage and exits with 2', async () => {
    const wrong = [
      [],
      ['workspace', 'destroy'],
      ['key', 'list'],
      ['key', 'list', '--workspace', 'x'],
      ['key', 'list', '--nonsense'],
      ['key', 'revoke', '--id', workspace, '--verified'],
      ['user', 'create', '--email'],
      ['workspace', 'configure', '--workspace', workspace],
      ['user', 'reset-mfa'],
    ];
    for (const args of wrong) {
      const { code, stdout, stderr } = await admin(...args);
      expect(code, args.join(' ')).to.equal(2);
      expect(stdout).to.equal('');
      expect(stderr).to.include('Usage: npm run admin');
    }
  });

  it('an unmigrated database is refused with the command to run', async () => {
    const empty = await createEmptyDatabase();
    try {
      const { code, stderr } = await runAdmin(empty.url, 'key', 'list', '--workspace', workspace);
      expect(code).to.equal(1);
      expect(stderr).to.match(/npm run migrate/);
    } finally {
      await empty.drop();
    }
  });
});
