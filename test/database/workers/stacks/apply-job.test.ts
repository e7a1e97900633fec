import { expect } from 'chai';
import { stringify } from 'yaml';
import type { Db } from '../../../../shared/core/database/database-client.js';
import { AppError } from '../../../../shared/core/error-registry.js';
import { openFrom, SEALED } from '../../../../shared/secrets/sealed-columns.js';
import { acceptApply, acceptDeletion } from '../../../../shared/stacks/accept-apply.js';
import type { ApplyRow } from '../../../../shared/stacks/model.js';
import { planDocument } from '../../../../shared/stacks/plan-document.js';
import { cancelApply, findStack, listSteps } from '../../../../shared/stacks/store.js';
import { Interrupted } from '../../../../workers/failures/interruption-errors.js';
import { applyJob } from '../../../../workers/stacks/apply-job.js';
import type { JobDeps } from '../../../../workers/worker-deps.js';
import { makeService, makeWorkspace } from '../../../support/factories.js';
import { newEnvironment, updateRow } from '../../../support/records.js';
import { jobHelpers, type TestWorkshop, useTestWorkshop } from '../../../support/workshop.js';

const SHOP = {
  services: {
    web: {
      kind: 'web',
      plan: 'starter',
      repository: 'https://git.example.com/shop.git',
      variables: {
        LOG: 'info',
        OTHER: { reference: { service: 'api', key: 'HOST' } },
        KEY: { generate: 32 },
        TOKEN: { secret: true },
      },
      volumes: { data: { mountPath: '/data', sizeGb: 1 } },
      domains: ['a.example.com'],
      groups: ['two', 'one'],
    },
    api: { kind: 'private', repository: 'https://git.example.com/api.git' },
  },
  groups: { one: { variables: { A: '1' } }, two: { variables: { A: '2' } } },
};
const VALUES = { 'web.TOKEN': 'given-token' };

describe('An apply of a stack', () => {
  let workshop: TestWorkshop;
  let db: Db;
  let place: { workspaceId: string; environmentId: string };

  useTestWorkshop((opened) => ({ workshop, db } = opened));
  beforeEach(async () => {
    const { id: workspaceId } = await makeWorkspace(db);
    place = { workspaceId, environmentId: (await newEnvironment(db, workspaceId)).environmentId };
  });

  async function accept(document: object, values: Record<string, string> = {}): Promise<string> {
    const { config } = await workshop.worker();
    const deps = { keyring: workshop.keyring, config };
    return db.transaction(async (trx) => {
      const request = {
        ...place,
        name: 'shop',
        document: stringify(document),
        values,
        authorize: ({ protectedEnvironment }: { protectedEnvironment: boolean }) => {
          if (protectedEnvironment) throw new AppError('forbidden');
        },
      };
      const { plan } = await planDocument(trx, deps, request);
      const asked = { actor: 'a@example.com', needEngine: () => undefined, confirmDestructive: 'shop' };
      return acceptApply(trx, deps, { ...request, ...asked, planHash: plan.hash });
    });
  }
  const apply = (id: string): Promise<ApplyRow> =>
    db<ApplyRow>('stack_applies').where({ id }).first() as Promise<ApplyRow>;
  const job = async (id: string, deps?: JobDeps, signal = new AbortController().signal) =>
    applyJob(deps ?? (await workshop.worker()), { applyId: id }, jobHelpers({ signal })).catch(
      (error: Error) => error.message,
    );
  const deployments = () => db('deployments').where({ workspace_id: place.workspaceId });
  const endDeployments = (status: string) =>
    deployments()
      .whereNull('finished_at')
      .update({ status, finished_at: db.fn.now(), error: status === 'live' ? '' : 'no port' });

  async function carriedOut(document: object, values?: Record<string, string>): Promise<string> {
    const id = await accept(document, values);
    await job(id);
    await endDeployments('live');
    await job(id);
    const { status, error } = await apply(id);
    expect({ status, error }).to.deep.equal({ status: 'succeeded', error: '' });
    return id;
  }

  async function environment() {
    const services = await db('services')
      .where({ environment_id: place.environmentId, deleted_at: null })
      .orderBy('name');
    const groups = await db('environment_groups').where({ environment_id: place.environmentId }).orderBy('name');
    const names = new Map([...services, ...groups].map(({ id, name }) => [id, name]));
    const variables = await db('variables').where({ workspace_id: place.workspaceId }).orderBy('key');
    const volumes = await db('volumes').where({ removed_at: null });
    const domains = await db('domains')
      .where({ workspace_id: place.workspaceId, released_at: null })
      .orderBy('hostname');
    const links = await db('environment_group_services').orderBy('created_at');
    return {
      services: services.map(({ name, kind }) => `${name} ${kind}`),
      groups: groups.map(({ name }) => name),
      variables: variables.map(
        ({ id, service_id, group_id, key, sealed, reference_service_id: to, reference_key }) =>
          `${names.get(service_id ?? group_id)}.${key} ${sealed === null ? `${names.get(to)}.${reference_key}` : shown(openFrom(workshop.keyring, SEALED.variable, id, sealed))}`,
      ),
      volumes: volumes
        .filter(({ service_id }) => names.has(service_id))
        .map(({ service_id, name }) => `${names.get(service_id)}.${name}`),
      domains: domains.map(
        ({ service_id, hostname, redirect_to: to }) => `${names.get(service_id)} ${hostname}${to ? ` → ${to}` : ''}`,
      ),
      links: links
        .filter(({ group_id }) => names.has(group_id))
        .map(({ group_id, service_id }) => `${names.get(service_id)} ${names.get(group_id)}`),
      deployments: (await deployments())
        .map(({ service_id, trigger, actor }) => `${names.get(service_id)} ${trigger} ${actor}`)
        .sort(),
    };
  }
  const shown = (value: string) => (/^[A-Za-z0-9]{32}$/.test(value) ? 'generated' : value);
  const WHOLE = {
    services: ['api private', 'web web'],
    groups: ['one', 'two'],
    variables: [
      ...['one.A 1', 'two.A 2', 'web.KEY generated', 'web.LOG info', 'web.OTHER api.HOST'],
      'web.TOKEN given-token',
    ],
    volumes: ['web.data'],
    domains: ['web a.example.com'],
    links: ['web two', 'web one'],
    deployments: ['api api a@example.com', 'web api a@example.com'],
  };
  /** Sorts variables, because the statement leaves the order of equal keys open. */
  const sorted = (seen: typeof WHOLE) => ({ ...seen, variables: [...seen.variables].sort() });

  it('makes everything that the document names, and waits for the deployments', async () => {
    const id = await accept(SHOP, VALUES);
    expect(await job(id)).to.equal('waits for deployments');
    expect(sorted(await environment())).to.deep.equal(WHOLE);
    expect((await apply(id)).status).to.equal('running');
    await endDeployments('live');
    expect(await job(id)).to.equal('succeeded');
    const { status, sealed_steps, started_at } = await apply(id);
    expect({ status, sealed_steps }).to.deep.equal({ status: 'succeeded', sealed_steps: null });
    expect(started_at).to.be.instanceOf(Date);
    const steps = await listSteps(db, id);
    expect(steps.every(({ status: each, finished_at }) => each === 'done' && finished_at !== null)).to.equal(true);
    expect(steps.filter(({ deployment_id }) => deployment_id !== null).map(({ name }) => name)).to.deep.equal([
      'web',
      'api',
    ]);
  });

  it('of an unchanged stack has succeeded at once and writes nothing', async () => {
    await carriedOut(SHOP, VALUES);
    const stamps = async () =>
      await Promise.all(
        ['services', 'variables', 'volumes', 'domains', 'stack_resources', 'deployments'].map((table) =>
          db(table).orderBy(1),
        ),
      );
    const before = JSON.stringify(await stamps());
    const id = await accept(SHOP);
    expect((await apply(id)).status).to.equal('succeeded');
    expect(await listSteps(db, id)).to.deep.equal([]);
    expect(JSON.stringify(await stamps())).to.equal(before);
  });

  it('that is killed before or after the commit of any step makes everything once', async () => {
    // The worker is killed at each of its transactions, one in each round.
    let killed = 0;
    for (let at = 1; ; at++) {
      const { id: workspaceId } = await makeWorkspace(db);
      place = { workspaceId, environmentId: (await newEnvironment(db, workspaceId)).environmentId };
      const id = await accept(SHOP, VALUES);
      const gone = new KillsWorker(at);
      const outcome = await job(id, gone.of(await workshop.worker()));
      if (!gone.killed) break;
      expect(outcome).to.equal('killed');
      killed++;
      await job(id);
      await endDeployments('live');
      expect(await job(id)).to.equal('succeeded');
      expect(sorted(await environment()), `killed at ${at}`).to.deep.equal(WHOLE);
    }
    // Ten steps and two deployments: before and after each.
    expect(killed).to.equal(24);
  });

  it('that two workers carry out at once does each step once', async () => {
    const id = await accept(SHOP, VALUES);
    await Promise.all([job(id), job(id), job(id)]);
    await job(id);
    expect(sorted(await environment())).to.deep.equal(WHOLE);
  });

  it('that another worker takes over changes nothing more in the first one', async () => {
    const id = await accept(SHOP, VALUES);
    const first = await workshop.deafWorker();
    let taken = false;
    const wake = () => {
      // Another worker claims the apply between two steps.
      if (!taken)
        void db('stack_applies')
          .where({ id })
          .increment('fence')
          .then(() => undefined);
      taken = true;
    };
    await job(id, { ...first, dispatcher: { ...first.dispatcher, wake } as JobDeps['dispatcher'] });
    const done = (await listSteps(db, id)).filter(({ status }) => status === 'done').length;
    expect(done).to.be.lessThan(12);
    await job(id);
    expect(sorted(await environment())).to.deep.equal(WHOLE);
  });

  it('is handed over at a shutdown between two steps', async () => {
    const id = await accept(SHOP, VALUES);
    const ending = new AbortController();
    ending.abort(new Interrupted('shutdown'));
    await job(id, undefined, ending.signal);
    expect((await apply(id)).status).to.equal('running');
    await job(id);
    expect(sorted(await environment())).to.deep.equal(WHOLE);
  });

  it('fails at a refused step with its reason, and a next one goes on from there', async () => {
    const id = await accept(SHOP, VALUES);
    const other = await newEnvironment(db, place.workspaceId);
    const row = { workspace_id: place.workspaceId, hostname: 'a.example.com' };
    const holder = await serviceIn(other.environmentId);
    await db('domains').insert({ id: holder, service_id: holder, ...row });
    await job(id);
    const { status, error } = await apply(id);
    expect(status).to.equal('failed');
    expect(error).to.match(
      /^domain\.create a\.example\.com: The service holder of this workspace has a\.example\.com already/,
    );
    const steps = await listSteps(db, id);
    expect(steps.find(({ status: each }) => each === 'failed')).to.include({ op: 'domain.create', error });
    expect(steps.filter(({ status: each }) => each === 'pending').map(({ op }) => op)).to.deep.equal([
      'service.deploy',
      'service.deploy',
    ]);
    await db('domains').where({ id: holder }).delete();
    const again = await accept(SHOP, VALUES);
    const ops = (await listSteps(db, again)).map(({ op }) => op);
    expect(ops[0]).to.equal('domain.create');
  });

  it('fails if a deployment fails, and deletes nothing then', async () => {
    await carriedOut(SHOP, VALUES);
    const { web } = SHOP.services;
    const { OTHER: _, ...variables } = web.variables;
    const id = await accept({ ...SHOP, services: { web: { ...web, startCommand: 'x', variables } } });
    await job(id);
    await endDeployments('failed');
    await job(id);
    expect(await apply(id)).to.include({ status: 'failed', error: 'the deployment of web failed: no port' });
    expect((await environment()).services).to.deep.equal(['api private', 'web web']);
    expect((await listSteps(db, id)).map(({ op, status }) => `${op} ${status}`).at(-1)).to.equal(
      'service.delete pending',
    );
  });

  it('that is cancelled between two steps ends there, and its deployments are cancelled', async () => {
    const id = await accept(SHOP, VALUES);
    await job(id);
    await db.transaction(async (trx) => cancelApply(trx, await apply(id)));
    expect(await job(id)).to.equal('cancelled');
    expect((await apply(id)).status).to.equal('cancelled');
    const asked = await deployments().whereNotNull('cancel_requested_at');
    expect(asked).to.have.length(2);

    const second = await accept({ ...SHOP, groups: { ...SHOP.groups, three: {} } });
    await db.transaction(async (trx) => cancelApply(trx, await apply(second)));
    expect((await apply(second)).status).to.equal('cancelled');
    expect((await environment()).groups).to.deep.equal(['one', 'two']);
  });

  it('changes, replaces and deletes what the document has no more', async () => {
    await carriedOut(SHOP, VALUES);
    const { web } = SHOP.services;
    const changed = {
      services: {
        web: {
          ...web,
          port: 3000,
          variables: { LOG: 'debug', TOKEN: { secret: true } },
          volumes: { data: { mountPath: '/other', sizeGb: 2 } },
          domains: ['b.example.com', { name: 'a.example.com', redirectTo: 'b.example.com' }],
          rules: [{ type: 'basicAuth', for: '/*', users: [{ name: 'anna' }] }],
          groups: ['one'],
        },
      },
      groups: { one: { variables: { A: '3' } } },
    };
    await carriedOut(changed);
    expect(await environment()).to.deep.include({
      services: ['web web'],
      groups: ['one'],
      variables: ['one.A 3', 'web.LOG debug', 'web.TOKEN given-token'],
      domains: ['web a.example.com → b.example.com', 'web b.example.com'],
      links: ['web one'],
    });
    const service = await db('services').where({ name: 'web', environment_id: place.environmentId }).first();
    expect(service.configuration.port).to.equal(3000);
    const volume = await db('volumes').where({ service_id: service.id, removed_at: null }).first();
    expect(volume).to.include({ mount_path: '/other', size_gb: 2 });
    const rules = () => db('service_rules').where({ service_id: service.id }).first();
    // A user without a password cannot sign in.
    expect((await rules()).rules).to.deep.equal([
      { type: 'basicAuth', for: '/*', users: [{ name: 'anna', hash: null }] },
    ]);
    await carriedOut({ services: { web: { kind: 'web', repository: web.repository } } });
    expect(await rules()).to.equal(undefined);
  });

  it('makes again what was deleted, or moved away, by hand', async () => {
    await carriedOut(SHOP, VALUES);
    const named = (name: string) =>
      db('services').where({ name, workspace_id: place.workspaceId, deleted_at: null }).first();
    const [web, api] = [await named('web'), await named('api')];
    await db('services').where({ id: web.id }).update({ deleted_at: db.fn.now(), lifecycle_status: 'deleted' });
    await db('domains').where({ service_id: web.id }).update({ released_at: db.fn.now() });
    const other = await newEnvironment(db, place.workspaceId);
    await updateRow(db, 'services', api.id, { project_id: other.projectId, environment_id: other.environmentId });
    await db('environment_groups').where({ environment_id: place.environmentId, name: 'two' }).delete();
    await db('variables').where({ service_id: web.id }).delete();
    await carriedOut(SHOP, VALUES);
    const { variables, services, groups, links } = await environment();
    expect({ services, groups }).to.deep.equal({ services: WHOLE.services, groups: WHOLE.groups });
    expect([...variables].sort()).to.deep.equal(WHOLE.variables);
    expect(links.filter((link) => link.startsWith('web'))).to.deep.equal(WHOLE.links);
    expect((await db('services').where({ id: api.id }).first()).environment_id).to.equal(other.environmentId);
  });

  it('that deletes a stack deletes what it owns, and nothing that was made by hand', async () => {
    await carriedOut(SHOP, VALUES);
    const byHand = await serviceIn(place.environmentId);
    const stack = await findStack(db, place.workspaceId, 'shop');
    if (stack === undefined) throw new Error('no stack');
    const { config } = await workshop.worker();
    const asked = { actor: 'a', authorize: () => undefined, needEngine: () => undefined };
    const id = await db.transaction((trx) =>
      acceptDeletion(trx, { keyring: workshop.keyring, config }, { stack, ...asked }),
    );
    expect(await job(id)).to.equal('succeeded');
    expect(await findStack(db, place.workspaceId, 'shop')).to.equal(undefined);
    const left = await db('services').where({
      environment_id: place.environmentId,
      deleted_at: null,
      lifecycle_status: 'draft',
    });
    expect(left.map((each) => each.id)).to.deep.equal([byHand]);
    expect(await db('stack_resources').where({ stack_id: stack.id })).to.deep.equal([]);
  });

  async function serviceIn(environmentId: string): Promise<string> {
    const workspace = await db('workspaces').where({ id: place.workspaceId }).first();
    const service = await makeService(db, workspace);
    const environment = await db('environments').where({ id: environmentId }).first();
    await updateRow(db, 'services', service.id, {
      environment_id: environmentId,
      project_id: environment.project_id,
      name: 'holder',
    });
    return service.id;
  }
});

/** A worker that is killed at its n-th chance: before or after the commit of a transaction. */
class KillsWorker {
  killed = false;
  #left: number;

  constructor(at: number) {
    this.#left = at;
  }

  of(deps: JobDeps): JobDeps {
    const { db } = deps;
    const chance = () => {
      if (this.killed || --this.#left === 0) {
        this.killed = true;
        throw new Error('killed');
      }
    };
    const transaction = async (work: Parameters<Db['transaction']>[0]) => {
      const result = await db.transaction(async (trx) => {
        const made = await (work as (trx: unknown) => Promise<unknown>)(trx);
        chance();
        return made;
      });
      chance();
      return result;
    };
    const mortal = new Proxy(db, {
      get: (target, name) => (name === 'transaction' ? transaction : Reflect.get(target, name)),
    });
    return { ...deps, db: mortal };
  }
}
