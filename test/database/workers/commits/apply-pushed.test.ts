import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { stringify } from 'yaml';
import { insertCommitEvent, type NewCommitEvent } from '../../../../shared/commits/store.js';
import type { Db } from '../../../../shared/core/database/database-client.js';
import { createLogger } from '../../../../shared/core/log.js';
import type { PartialServiceConfiguration } from '../../../../shared/services/configuration.js';
import type { ServiceRow } from '../../../../shared/services/rows.js';
import { commitJob } from '../../../../workers/commits/commit-job.js';
import { pollRepositories } from '../../../../workers/commits/poll-repositories.js';
import { GitSource } from '../../../../workers/sources/git-source.js';
import { applyJob } from '../../../../workers/stacks/apply-job.js';
import type { JobDeps } from '../../../../workers/worker-deps.js';
import { makeService, makeWorkspace } from '../../../support/factories.js';
import { newEnvironment } from '../../../support/records.js';
import { createRepository, hasGit, type TestRepository } from '../../../support/repositories.js';
import { jobHelpers, TestWorkshop } from '../../../support/workshop.js';

describe(`A push that applies a stack${hasGit ? '' : ': git is not installed'}`, () => {
  let workshop: TestWorkshop;
  let db: Db;
  let deps: JobDeps;
  let mirrors: string;
  let repository: TestRepository;
  let workspaceId: string;
  let environmentId: string;
  let web: ServiceRow;
  const user = randomUUID();

  before(async function () {
    if (!hasGit) this.skip();
    workshop = await TestWorkshop.open();
    ({ db } = workshop.database);
    mirrors = await mkdtemp(join(tmpdir(), 'ranvier-pushes-'));
  });
  after(async () => {
    await workshop?.close();
    if (mirrors) await rm(mirrors, { recursive: true, force: true });
  });
  beforeEach(async () => {
    await db.raw('truncate workers, workspaces, polled_repositories cascade');
    repository = await createRepository({ 'index.js': '1' });
    ({ id: workspaceId } = await makeWorkspace(db));
    ({ environmentId } = await newEnvironment(db, workspaceId));
    web = await made('web');
    const worker = await workshop.worker();
    const config = { ...worker.config, dataDir: mirrors, allowLocalRepositories: true, hostingEnabled: true };
    deps = { ...worker, config, source: new GitSource({ config, log: createLogger('test', 'silent') }) };
    await hook(web);
  });
  afterEach(() => repository.remove());

  async function made(name: string, configuration: PartialServiceConfiguration = {}): Promise<ServiceRow> {
    const workspace = await db('workspaces').where({ id: workspaceId }).first();
    const { project_id } = await db('environments').where({ id: environmentId }).first();
    const source = { repository: repository.url, autoDeploy: 'commit' as const, ...configuration };
    const service = await makeService(db, workspace, source);
    const placed = { name, environment_id: environmentId, project_id };
    await db('services').where({ id: service.id }).update(placed);
    return { ...service, ...placed };
  }
  const hook = async ({ id: service_id }: ServiceRow, rights = false): Promise<string> => {
    const row = { id: randomUUID(), service_id, provider: 'github', sealed_secret: Buffer.alloc(1) };
    await db('hooks').insert({ ...row, stack_by: user, reads_protected: rights });
    return row.id;
  };
  const source = (fields: object = {}) => ({ repository: repository.url, autoDeploy: 'commit', ...fields });
  const SHOP = () => ({ services: { web: { kind: 'web', ...source() }, api: { kind: 'private', ...source() } } });
  const commit = (document: object | string, files: Record<string, string> = {}) =>
    repository.commit('Change it', {
      'ranvier.yaml': typeof document === 'string' ? document : stringify(document),
      ...files,
    });

  const report = async (service = web, fields: Partial<NewCommitEvent> = {}): Promise<string> =>
    (await insertCommitEvent(db, {
      ...{ service_id: service.id, kind: 'push', actor: 'hook:github', branch: 'main' },
      ...fields,
    })) ?? '';
  const handle = (eventId: string, lastAttempt = true) => commitJob(deps, { eventId }, jobHelpers({ lastAttempt }));
  const pushed = async (service?: ServiceRow): Promise<string> => handle(await report(service));
  const applies = () => db('stack_applies').where({ workspace_id: workspaceId }).orderBy('id');
  const deployments = async (): Promise<string[]> => {
    const rows = await db('deployments as d').join('services as s', 's.id', 'd.service_id').orderBy('d.id');
    return rows.map(({ name, trigger, commit_sha }) => `${name} ${trigger} ${commit_sha}`).sort();
  };
  const live = () => db('deployments').whereNull('finished_at').update({ status: 'live', finished_at: db.fn.now() });
  async function carriedOut(): Promise<void> {
    const [{ id: applyId }] = await applies().whereNull('finished_at');
    await applyJob(deps, { applyId }, jobHelpers());
    await live();
    await applyJob(deps, { applyId }, jobHelpers());
    expect((await applies().where({ id: applyId }))[0]).to.include({ status: 'succeeded', error: '' });
  }

  it('makes the environment what the file says, and deploys each service of it once, with the pushed commit', async () => {
    const sha = await commit(SHOP());
    expect(await pushed()).to.match(/^applies the stack ranvier-repository-\w+: [0-9a-f-]{36}$/);
    await carriedOut();
    expect(await deployments()).to.deep.equal([`api commit ${sha}`, `web commit ${sha}`]);
    expect(await applies()).to.have.lengthOf(1);
    const api = await db('services').where({ name: 'api' }).first();
    expect(await pushed(), 'reported again').to.contain('was applied before');
    expect(await pushed(api), 'its own hook').to.match(/the push applies the stack .*, which deploys the service/);
    expect(await deployments()).to.have.lengthOf(2);
    expect(await applies()).to.have.lengthOf(1);
  });

  it('deploys services that the file does not change, if they deploy on commit and their path filters let them', async () => {
    const document = SHOP();
    Object.assign(document.services, {
      docs: { kind: 'static', ...source({ includePaths: ['docs/'] }) },
      off: { kind: 'web', ...source({ autoDeploy: 'off' }) },
      elsewhere: { kind: 'web', ...source({ repository: 'https://git.example.com/other.git' }) },
    });
    await commit(document);
    await pushed();
    await carriedOut();
    const before = await deployments();
    expect(before).to.have.lengthOf(5);
    await db('services').update({
      live_deployment_id: db('deployments').select('id').whereRaw('service_id = services.id'),
    });
    const sha = await repository.commit('Only code', { 'index.js': '2' });
    await pushed();
    await carriedOut();
    const after = await deployments();
    expect(after.filter((one) => !before.includes(one))).to.deep.equal([`api commit ${sha}`, `web commit ${sha}`]);
  });

  it('leaves services outside of the stack to their own auto-deploy', async () => {
    const outside = await made('outside');
    const sha = await commit(SHOP());
    await pushed();
    expect(await pushed(outside)).to.match(/^deployment /);
    expect(await deployments()).to.deep.equal([`outside commit ${sha}`]);
    const hooked = await made('hooked');
    await hook(hooked);
    await carriedOut();
    expect(await pushed(hooked), 'whose hook applies the stack').to.match(/^deployment /);
    expect(await deployments()).to.include(`hooked commit ${sha}`);
  });

  it('changes nothing if the file has a fault, deletes something or lacks a secret, and says what to do', async () => {
    await commit(SHOP());
    await pushed();
    await carriedOut();
    const count = (await deployments()).length;
    const refused = async (document: object | string): Promise<string> => {
      await commit(document);
      return pushed();
    };
    expect(await refused('services:\n  web:\n    kind: web\n    repositry: x\n')).to.equal(
      'ranvier.yaml was not applied: The document is not valid: line 4, column 5: repositry is not a known key; did you mean repository?',
    );
    expect(await refused({ services: { web: SHOP().services.web } })).to.match(
      /the plan deletes service api: look at it with rnv plan --stack \S+, and confirm it with rnv apply --stack/,
    );
    const secret = SHOP();
    Object.assign(secret.services.web, { variables: { TOKEN: { secret: true } } });
    expect(await refused(secret)).to.match(/web\.TOKEN needs a value: give it with rnv apply --stack/);
    expect(await refused('services: { web: { kind: web, variables: { PIN: 4711 } } }')).to.not.contain('4711');
    expect(await refused('a'.repeat(1_000_001))).to.contain('more than 1000000 bytes');
    await repository.commit('Remove it', { 'ranvier.yaml': null });
    expect(await pushed()).to.equal('ranvier.yaml was not applied: the commit has no such file at its root');
    await repository.commit('A link', { 'ranvier.yaml': { link: '/etc/passwd' } });
    expect(await pushed()).to.contain('no such file');
    await repository.commit('Not this [skip deploy]', { 'ranvier.yaml': stringify(SHOP()) });
    expect(await pushed()).to.contain('asks not to be deployed');
    expect(await deployments()).to.have.lengthOf(count);
    expect(await applies()).to.have.lengthOf(1);
    expect(await db('services').where({ name: 'api' }).first('lifecycle_status')).to.not.include({
      lifecycle_status: 'deleting',
    });
  });

  it('is taken up again by a poll once a person has removed the reason', async () => {
    await commit(SHOP());
    await pushed();
    await carriedOut();
    const api = await db('services').where({ name: 'api' }).first();
    const sha = await commit({ services: { web: SHOP().services.web } });
    await pushed();
    await db('stack_resources').where({ service_id: api.id }).delete();
    await pollRepositories(deps);
    await db('polled_repositories').update({ next_at: new Date(0) });
    await pollRepositories(deps);
    const events = await db('commit_events').whereNull('finished_at');
    expect(events.map(({ service_id, actor }) => [service_id, actor])).to.deep.include([web.id, 'poll']);
    const [event] = events.filter(({ service_id }) => service_id === web.id);
    expect(await handle(event.id)).to.match(/^applies the stack/);
    await carriedOut();
    expect(await deployments()).to.include(`web commit ${sha}`);
  });

  it('waits for the end of an apply that runs; a later push takes its place', async () => {
    await commit(SHOP());
    await pushed();
    await repository.commit('Two', { 'index.js': '2' });
    const second = await report();
    await db('commit_events').where({ id: second }).update({ due_at: null });
    expect(await handle(second)).to.match(/^waits for the apply/);
    const { due_at, finished_at } = await db('commit_events').where({ id: second }).first();
    expect(due_at).to.be.greaterThan(new Date());
    expect(finished_at).to.equal(null);
    const sha = await repository.commit('Three', { 'index.js': '3' });
    const third = await report();
    expect(await handle(second)).to.equal('a later push takes its place');
    await carriedOut();
    expect(await handle(third)).to.match(/^applies the stack/);
    await carriedOut();
    expect(await deployments()).to.include.members([`api commit ${sha}`, `web commit ${sha}`]);
    expect(await deployments()).to.have.lengthOf(4);
  });

  it('is applied once by two workers, and by one that dies before the commit', async () => {
    await commit(SHOP());
    const event = await report();
    const transaction = db.transaction.bind(db);
    const dies: JobDeps = {
      ...deps,
      db: new Proxy(db, {
        get: (target, name) =>
          name === 'transaction'
            ? (work: (trx: never) => Promise<unknown>) =>
                transaction(async (trx) => {
                  await work(trx as never);
                  throw new Error('killed');
                })
            : Reflect.get(target, name),
      }),
    };
    const died = await commitJob(dies, { eventId: event }, jobHelpers()).catch((error: Error) => error.message);
    expect(died).to.equal('killed');
    expect(await applies()).to.deep.equal([]);
    const both = async (one: string, other: string) => {
      const said = await Promise.all([handle(one), handle(other)]);
      expect(said.filter((says) => says.startsWith('applies the stack'))).to.have.lengthOf(1);
    };
    await both(event, await report());
    expect(await applies()).to.have.lengthOf(1);
    await carriedOut();
    // An apply that deploys nothing has ended at once, so it does not block the other worker.
    const off = { services: { web: { kind: 'web', ...source({ autoDeploy: 'off' }) } } };
    await db('stack_resources').whereNot({ service_id: web.id }).delete();
    await commit(off);
    await pushed();
    await carriedOut();
    await commit(off, { 'index.js': '2' });
    await both(await report(), await report());
    expect(await applies()).to.have.lengthOf(3);
  });

  it('has the rights of the person who made the hook, and an entry in the audit log', async () => {
    await db('environments').where({ id: environmentId }).update({ protected: true });
    await commit(SHOP());
    expect(await pushed()).to.contain('could not change protected environments: an admin has to make it again');
    expect(await applies()).to.deep.equal([]);
    const id = await hook(web, true);
    const says = await pushed();
    const [apply] = await applies();
    expect(says).to.contain(apply.id);
    expect(apply).to.include({ actor: 'hook:github', reads_protected: true });
    const entry = await db('audit_entries').where({ workspace_id: workspaceId }).first();
    expect(entry).to.include({ operation: 'stack.apply', actor: 'hook:github', user_id: user, target_id: apply.id });
    expect(entry).to.include({ credential: 'hook', credential_id: id });
  });

  it('applies nothing of another branch, and nothing without the hook', async () => {
    await commit(SHOP());
    expect(await handle(await report(web, { branch: 'dev' }))).to.contain('deploys the branch main');
    await db('hooks').delete();
    expect(await pushed()).to.match(/^deployment /);
    expect(await applies()).to.deep.equal([]);
  });
});
