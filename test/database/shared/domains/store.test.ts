import { expect } from 'chai';
import { type Db, lockUntilCommit } from '../../../../shared/core/database/database-client.js';
import { COMPLETE } from '../../../../shared/core/database/page.js';
import { addDomain, applyObservation, removeDomain } from '../../../../shared/domains/commands.js';
import type { DomainRow, Observation } from '../../../../shared/domains/model.js';
import {
  claimDueDomains,
  deleteReleasedDomains,
  findDomain,
  listDomains,
  releaseDomains,
} from '../../../../shared/domains/store.js';
import type { ServiceRow } from '../../../../shared/services/rows.js';
import { makeService } from '../../../support/factories.js';
import { codeOf } from '../../../support/outcomes.js';
import { useTestDatabase } from '../../../support/postgres.js';
import { eventually } from '../../../support/processes.js';
import { updateRow } from '../../../support/records.js';

const HOST = 'shop.example.com';
const FOUND: Observation = { proof: 'found', leadsHere: true, addresses: [] };
const MISSING: Observation = { ...FOUND, proof: 'missing' };

describe('Domains of services', () => {
  const database = useTestDatabase();
  let db: Db;
  let mine: ServiceRow;
  let theirs: ServiceRow;
  beforeEach(async () => {
    db = database.db;
    await db.raw('truncate workspaces cascade');
    [mine, theirs] = [await makeService(db), await makeService(db)];
  });

  const add = (service: ServiceRow, hostname = HOST) =>
    db.transaction((trx) => addDomain(trx, { service, hostname, own: ['platform.example'] }));
  const observe = (domain: DomainRow, seen = FOUND) => applyObservation(db, domain, seen, new Date());
  const version = async ({ id }: ServiceRow) => (await db('services').where({ id }).first()).route_version as number;
  const released = (days: number) =>
    db('domains').update({ released_at: db.raw('now() - make_interval(days => ?)', [days]) });

  it('a name is taken once in a workspace, and belongs to nobody before it is proven', async () => {
    expect(await add(mine)).to.include({ hostname: HOST, status: 'pending' });
    expect(await codeOf(add(mine))).to.equal('conflict');
    expect(await add(theirs)).to.include({ hostname: HOST, status: 'pending' });
    expect(await codeOf(add({ ...mine, archived: true }, 'b.example.com'))).to.equal('service_archived');
    expect(await codeOf(add({ ...mine, kind: 'worker' }, 'b.example.com'))).to.equal('conflict');
    expect(await codeOf(add(mine, 'a.platform.example'))).to.equal('invalid_request');
  });

  it('a proven name serves one workspace, also if two prove it at once', async () => {
    const domains = [await add(mine), await add(theirs)];
    const seen = await Promise.all(domains.map((domain) => observe(domain)));
    expect(seen.map((domain) => domain?.status).sort()).to.deep.equal(['active', 'pending']);
    expect(seen.find((domain) => domain?.status === 'pending')?.detail).to.contain('another workspace');
  });

  it('the second of two that prove a name waits for the first', async () => {
    const [own, other] = [await add(mine), await add(theirs)];
    const trx = await db.transaction();
    let seen: ReturnType<typeof observe>;
    try {
      await lockUntilCommit(trx, `domain ${HOST}`);
      await trx('domains').where({ id: other.id }).update({ status: 'active' });
      seen = observe(own);
      await eventually('the second one waits', async () => {
        const { rows } = await db.raw(`select 1 from pg_locks where locktype = 'advisory' and not granted`);
        return rows.length > 0;
      });
    } finally {
      await trx.commit();
    }
    expect(await seen).to.include({ status: 'pending' });
  });

  it('the edges learn of a name that is proven, that leads elsewhere, and that is removed', async () => {
    const domain = await add(mine);
    const versions = [await version(mine)];
    const step = async (work: Promise<unknown>) => {
      await work;
      versions.push(await version(mine));
    };
    await step(observe(domain, MISSING));
    expect(versions[1]).to.equal(versions[0]);
    await step(observe(domain));
    await step(observe(domain, { ...FOUND, leadsHere: false }));
    await step(observe(domain, { ...FOUND, leadsHere: false }));
    expect(versions[4]).to.equal(versions[3]);
    await step(db.transaction((trx) => removeDomain(trx, mine.id, domain.id)));
    const [, unproven = 0, proven = 0, elsewhere = 0, , removed = 0] = versions;
    expect([unproven < proven, proven < elsewhere, elsewhere < removed]).to.deep.equal([true, true, true]);
    expect(await observe(domain)).to.equal(undefined);
  });

  it('another service cannot remove a name', async () => {
    const domain = await add(mine);
    expect(await db.transaction((trx) => removeDomain(trx, theirs.id, domain.id))).to.equal(undefined);
    expect(await findDomain(db, domain.id)).to.include({ hostname: HOST });
  });

  it('proven names of a deleted service stay reserved for its workspace for a week, others are free', async () => {
    const proven = await add(mine);
    await observe(proven);
    await add(mine, 'unproven.example.com');
    await db.transaction((trx) => releaseDomains(trx, mine.id));
    expect((await listDomains(db, mine.id, COMPLETE)).items).to.deep.equal([]);
    expect(await db('domains').pluck('hostname')).to.deep.equal([HOST]);
    expect(await findDomain(db, proven.id)).to.equal(undefined);

    await released(6);
    const wanted = await add(theirs);
    expect(await observe(wanted)).to.include({ status: 'pending' });
    expect(await deleteReleasedDomains(db)).to.equal(0);
    const sibling = await makeService(db);
    await db('services').where({ id: sibling.id }).update({ workspace_id: mine.workspace_id });
    const again = await add({ ...sibling, workspace_id: mine.workspace_id });
    expect(await observe(again)).to.include({ status: 'active' });
    await db.transaction((trx) => removeDomain(trx, sibling.id, again.id));

    await updateRow(db, 'domains', proven.id, { released_at: db.raw(`now() - interval '8 days'`) });
    expect(await observe(wanted)).to.include({ status: 'active' });
    expect(await deleteReleasedDomains(db)).to.equal(1);
  });

  it('a check is done by one worker, and again if it died', async () => {
    const domain = await add(mine);
    await add(theirs, 'later.example.com');
    await db('domains')
      .where({ hostname: 'later.example.com' })
      .update({ next_check_at: db.raw(`now() + interval '1 minute'`) });
    const claims = await Promise.all([claimDueDomains(db, 10), claimDueDomains(db, 10)]);
    expect(claims.flat().map(({ id }) => id)).to.deep.equal([domain.id]);
    expect(await claimDueDomains(db, 10)).to.deep.equal([]);
    await updateRow(db, 'domains', domain.id, { next_check_at: db.raw(`next_check_at - interval '10 minutes'`) });
    expect((await claimDueDomains(db, 10)).map(({ id }) => id)).to.deep.equal([domain.id]);
  });
});
