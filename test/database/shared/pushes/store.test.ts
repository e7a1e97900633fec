import { expect } from 'chai';
import { v4 as uuidv4, v7 as uuidv7 } from 'uuid';
import type { Db } from '../../../../shared/core/database/database-client.js';
import {
  arrivingCommit,
  endedPushes,
  findOpenPush,
  giveUpPushes,
  goneServices,
  insertPush,
  keptDeployments,
  lockEndedPush,
  type PushRow,
  recordPushed,
  recordRepository,
  recordSize,
  settlePush,
} from '../../../../shared/pushes/store.js';
import type { ServiceRow } from '../../../../shared/services/rows.js';
import { makeService } from '../../../support/factories.js';
import { useTestDatabase } from '../../../support/postgres.js';
import { newDeployment, pretendLive, updateRow } from '../../../support/records.js';

const [A, B] = ['a'.repeat(40), 'b'.repeat(40)];
const MAIN = 'refs/heads/main';

describe('Pushed commits', () => {
  const database = useTestDatabase();
  const folder = uuidv4();
  let db: Db;
  let service: ServiceRow;
  beforeEach(async () => {
    db = database.db;
    await db.raw('truncate workspaces cascade');
    service = await makeService(db);
  });

  async function push(
    fields: Record<string, unknown> = {},
    changes: Partial<PushRow> & { folder_id?: string } = {},
  ): Promise<string> {
    const id = await newDeployment(db, service.id, fields);
    const row = { id, service_id: service.id, folder_id: folder, ref: MAIN, commit_sha: A, ...changes };
    await db.transaction((trx) => insertPush(trx, row));
    return id;
  }
  const wanted = { serviceId: '', ref: MAIN, commitSha: A };
  const open = (changes = {}) =>
    db.transaction((trx) => findOpenPush(trx, { ...wanted, serviceId: service.id, ...changes }));
  const lock = (id: string) => db.transaction((trx) => lockEndedPush(trx, id));

  it('a commit that is being deployed is found by its service, branch and number', async () => {
    const id = await push();
    expect(await open()).to.deep.equal({ id, deployed_service_id: service.id });
    expect(await open({ commitSha: B })).to.equal(null);
    expect(await open({ ref: 'refs/heads/dev' })).to.equal(null);
    expect(await open({ serviceId: uuidv7() })).to.equal(null);
    await db('deployments').where({ id }).update({ cancel_requested_at: new Date() });
    expect(await open()).to.equal(null);
    await updateRow(db, 'deployments', id, { cancel_requested_at: null, status: 'failed', finished_at: new Date() });
    expect(await open()).to.equal(null);
  });

  it('one that ended makes room for another try; other commits go on', async () => {
    const old = await push({ status: 'failed' });
    const other = await push({ status: 'live' }, { commit_sha: B });
    await db.transaction((trx) => giveUpPushes(trx, { serviceId: service.id, ref: MAIN, commitSha: A }));
    expect(await lock(old)).to.equal(null);
    expect(await lock(other)).to.include({ id: other });
    const id = await push();
    expect(await open()).to.deep.equal({ id, deployed_service_id: service.id });
  });

  it('waits to be settled when its deployment has ended, in the folder that has it', async () => {
    const live = await push({ status: 'live' });
    await push({}, { commit_sha: B });
    await push({ status: 'live' }, { ref: 'refs/heads/other', folder_id: uuidv4() });
    expect(await endedPushes(db, folder)).to.deep.equal([{ id: live, service_id: service.id }]);
    await db.transaction((trx) => settlePush(trx, live, true));
    expect(await endedPushes(db, folder)).to.deep.equal([]);
    expect(await lock(live)).to.equal(null);
  });

  it('says whether it went live, and whether a later push has moved the branch', async () => {
    const failed = await push({ status: 'failed' });
    const live = await push({ status: 'live' }, { commit_sha: B });
    const open = await push({}, { commit_sha: 'c'.repeat(40) });
    expect(await lock(failed)).to.include({ live: false, superseded: false });
    expect(await lock(live)).to.include({ live: true, superseded: false });
    expect(await lock(open)).to.equal(null);
    await db.transaction((trx) => settlePush(trx, live, true));
    expect(await lock(failed)).to.include({ superseded: true });
  });

  it('the branch has yet to move to the commit of the newest push that is live, unless a later one has moved it', async () => {
    const arriving = () => arrivingCommit(db, service.id, MAIN);
    await push({ status: 'live' }, { ref: 'refs/heads/dev', commit_sha: B });
    await push({ status: 'failed' }, { commit_sha: 'c'.repeat(40) });
    await push({}, { commit_sha: 'd'.repeat(40) });
    expect(await arriving()).to.equal(null);
    await push({ status: 'live' });
    expect(await arriving()).to.equal(A);
    const newest = await push({ status: 'live' }, { commit_sha: B });
    expect(await arriving()).to.equal(B);
    await db.transaction((trx) => settlePush(trx, newest, true));
    expect(await arriving()).to.equal(null);
  });

  it('a push that moved nothing, or another branch, supersedes none', async () => {
    const first = await push({ status: 'live' });
    const second = await push({ status: 'failed' }, { commit_sha: B });
    const elsewhere = await push({ status: 'live' }, { ref: 'refs/heads/dev' });
    await db.transaction((trx) => settlePush(trx, second, false));
    await db.transaction((trx) => settlePush(trx, elsewhere, true));
    expect(await lock(first)).to.include({ superseded: false });
  });

  it('a repository keeps the commits of deployments that are open, live, or newest of those that went live', async () => {
    const oldest = await newDeployment(db, service.id, { status: 'live' });
    const newer = await newDeployment(db, service.id, { status: 'live' });
    const waiting = await newDeployment(db, service.id);
    await newDeployment(db, service.id, { status: 'failed' });
    await newDeployment(db, (await makeService(db)).id);
    expect([...(await keptDeployments(db, service.id, 1))]).to.have.members([newer, waiting]);
    await db('services').where({ id: service.id }).update({ live_deployment_id: oldest });
    expect([...(await keptDeployments(db, service.id, 1))]).to.have.members([oldest, newer, waiting]);
    const live = await pretendLive(db, service.id);
    expect([...(await keptDeployments(db, service.id, 2))]).to.have.members([newer, waiting, live]);
  });

  it('the record of a repository names its first folder, and counts pushes until it is packed', async () => {
    expect(await recordRepository(db, service.id, folder)).to.include({ folder_id: folder, pushed_at: null });
    expect(await recordRepository(db, service.id, uuidv4())).to.include({ folder_id: folder });
    expect([await recordPushed(db, service.id), await recordPushed(db, service.id)]).to.deep.equal([1, 2]);
    await recordSize(db, service.id, 5, false);
    expect(await recordPushed(db, service.id)).to.equal(3);
    await recordSize(db, service.id, 5, true);
    expect(await recordPushed(db, service.id)).to.equal(1);
  });

  it('folders of deleted services, and of none, are found', async () => {
    const [deleted, never] = [await makeService(db), uuidv7()];
    await db('services').where({ id: deleted.id }).update({ deleted_at: new Date() });
    expect(await goneServices(db, [service.id, deleted.id, never])).to.have.members([deleted.id, never]);
  });
});
