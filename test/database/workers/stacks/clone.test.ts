import { expect } from 'chai';
import { stringify } from 'yaml';
import { cloneEnvironment } from '../../../../api/resources/stacks/clone-environment.js';
import { pullStack } from '../../../../api/resources/stacks/pull.js';
import type { Db } from '../../../../shared/core/database/database-client.js';
import type { EnvironmentRow } from '../../../../shared/environments/store.js';
import { acceptApply } from '../../../../shared/stacks/accept-apply.js';
import { readEnvironmentState } from '../../../../shared/stacks/environment-store.js';
import { applyJob } from '../../../../workers/stacks/apply-job.js';
import { makeWorkspace } from '../../../support/factories.js';
import { newEnvironment } from '../../../support/records.js';
import { jobHelpers, type TestWorkshop, useTestWorkshop } from '../../../support/workshop.js';

const SHOP = {
  services: {
    web: {
      kind: 'web',
      plan: 'starter',
      repository: 'https://me:token@git.example.com/shop.git',
      variables: {
        LOG: 'info',
        DB: { reference: { service: 'db', key: 'URL' } },
        OTHER: { value: 'a', scope: 'preview' },
        KEY: { generate: 32 },
        TOKEN: { secret: true },
      },
      volumes: { data: { mountPath: '/data', sizeGb: 1 } },
      domains: ['shop.example.com'],
      groups: ['two', 'one'],
    },
    jobs: { kind: 'cron', schedule: '0 3 * * *', archived: true },
  },
  databases: { db: { kind: 'postgres', databaseVersion: '17' } },
  groups: { one: { variables: { A: '1' } }, two: { variables: { A: { reference: { service: 'web', key: 'HOST' } } } } },
};

describe('A clone of an environment', () => {
  let workshop: TestWorkshop;
  let db: Db;

  useTestWorkshop((opened) => ({ workshop, db } = opened));

  const asked = { actor: 'a@example.com', needEngine: () => undefined, authorize: () => undefined };
  const job = async (applyId: string) => applyJob(await workshop.worker(), { applyId }, jobHelpers()).catch(String);
  const environmentOf = async (id: string) =>
    (await db<EnvironmentRow>('environments').where({ id }).first()) as EnvironmentRow;
  const state = (workspaceId: string, environmentId: string) =>
    readEnvironmentState(db, workshop.keyring, { workspaceId, environmentId });

  it('goes live together if the original does', async () => {
    const { id: workspaceId } = await makeWorkspace(db);
    const source = await newEnvironment(db, workspaceId);
    const { config } = await workshop.worker();
    const deps = { keyring: workshop.keyring, config };
    const document = stringify({ release: 'together', services: { a: { kind: 'worker' }, b: { kind: 'worker' } } });
    const place = { workspaceId, environmentId: source.environmentId };
    const request = { ...place, name: 'both', document, planHash: null, deploy: false, values: {} };
    await job(
      await db.transaction((trx) => acceptApply(trx, deps, { ...request, confirmDestructive: undefined, ...asked })),
    );
    const environment = await environmentOf((await newEnvironment(db, workspaceId)).environmentId);
    const clone = { environment, cloneFrom: source.environmentId, ...asked };
    const { apply } = await db.transaction((trx) => cloneEnvironment(trx, deps, clone));
    expect((await db('stack_applies').where({ id: apply.id }).first()).together).to.equal(true);
  });

  it('is the same without domains, with references to its own services and its own values', async () => {
    const { id: workspaceId } = await makeWorkspace(db);
    const source = await newEnvironment(db, workspaceId);
    const target = await newEnvironment(db, workspaceId);
    const { config } = await workshop.worker();
    const deps = { keyring: workshop.keyring, config };
    const made = await db.transaction((trx) =>
      acceptApply(trx, deps, {
        ...{ workspaceId, name: 'shop', document: stringify(SHOP), planHash: null, deploy: false },
        ...{ environmentId: source.environmentId, values: { 'web.TOKEN': 'one' }, confirmDestructive: undefined },
        ...asked,
      }),
    );
    await job(made);
    const environment = await environmentOf(target.environmentId);
    const { stack, apply } = await db.transaction((trx) =>
      cloneEnvironment(trx, deps, {
        ...{ environment, cloneFrom: source.environmentId, values: { 'web.TOKEN': 'two' }, ...asked },
      }),
    );
    expect(stack).not.to.equal('shop');
    await job(apply.id);
    const { status, error } = await db('stack_applies').where({ id: apply.id }).first();
    expect({ status, error }).to.deep.equal({ status: 'succeeded', error: '' });

    const [original, copy] = [
      await state(workspaceId, source.environmentId),
      await state(workspaceId, target.environmentId),
    ];
    const { domains, ...web } = pullStack(original).document.services?.web ?? {};
    expect(domains).to.deep.equal(['shop.example.com']);
    const { document } = pullStack(original);
    expect(pullStack(copy).document).to.deep.equal({ ...document, services: { ...document.services, web } });
    const valuesOf = ({ services }: typeof copy) =>
      new Map(services.flatMap(({ variables }) => variables.map(({ key, value }) => [key, value])));
    const [before, after] = [valuesOf(original), valuesOf(copy)];
    expect(after.get('LOG')).to.equal('info');
    expect(after.get('TOKEN')).to.equal('two');
    expect(after.get('KEY'))
      .to.match(/^\w{32}$/)
      .and.not.equal(before.get('KEY'));
    const repositories = copy.services.map(({ repository }) => repository);
    expect(repositories).to.include('https://me:token@git.example.com/shop.git');
    expect(await db('deployments').where({ workspace_id: workspaceId })).to.deep.equal([]);
    const slugs = await db('services').where({ workspace_id: workspaceId }).pluck('slug');
    expect(new Set(slugs).size).to.equal(6);
  });
});
