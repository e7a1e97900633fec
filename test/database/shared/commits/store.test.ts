import { expect } from 'chai';
import { v4 as uuidv4 } from 'uuid';
import {
  deleteOldCommitEvents,
  endWatches,
  findCommitEvent,
  finishCommitEvent,
  insertCommitEvent,
  knownCommits,
  liveCommit,
  recordHead,
  recordPoll,
  servicesOfRepository,
  takeDueRepositories,
  unsyncedServices,
  watchService,
} from '../../../../shared/commits/store.js';
import type { Db } from '../../../../shared/core/database/database-client.js';
import type { ServiceRow } from '../../../../shared/services/rows.js';
import { makeService } from '../../../support/factories.js';
import { useTestDatabase } from '../../../support/postgres.js';
import { newDeployment, pretendLive, updateRow } from '../../../support/records.js';

const SHA = 'a'.repeat(40);
const OTHER = 'b'.repeat(40);
const POLLED = { autoDeploy: 'commit', repository: 'https://git.example/shop.git' } as const;

describe('Reported commits', () => {
  const database = useTestDatabase();
  let db: Db;
  let service: ServiceRow;
  beforeEach(async () => {
    db = database.db;
    await db.raw('truncate workspaces, polled_repositories cascade');
    service = await makeService(db, undefined, POLLED);
  });

  async function hook(provider = 'github'): Promise<string> {
    const id = uuidv4();
    await db('hooks').insert({ id, service_id: service.id, provider, sealed_secret: Buffer.from('x') });
    return id;
  }
  const event = (fields = {}) =>
    insertCommitEvent(db, { service_id: service.id, kind: 'push', actor: 'test', branch: 'main', ...fields });
  const change = (fields: object) => db('services').where({ id: service.id }).update(fields);

  describe('an event', () => {
    it('is stored once for each delivery of a hook', async () => {
      const [first, second] = [await hook(), await hook()];
      expect(await event({ hook_id: first, delivery_id: '1' })).to.be.a('string');
      expect(await event({ hook_id: first, delivery_id: '1' })).to.equal(null);
      expect(await event({ hook_id: first, delivery_id: '2' })).to.be.a('string');
      expect(await event({ hook_id: second, delivery_id: '1' })).to.be.a('string');
      expect(await event({ hook_id: first })).to.be.a('string');
      expect(await event({ hook_id: first })).to.be.a('string');
    });

    it('ends once, with an outcome that its hook shows', async () => {
      const hookId = await hook();
      const id = (await event({ hook_id: hookId, delivery_id: '1' })) as string;
      expect(await finishCommitEvent(db, id, { outcome: 'first' })).to.equal(true);
      expect(await finishCommitEvent(db, id, { outcome: 'second' })).to.equal(false);
      expect(await findCommitEvent(db, id)).to.include({ outcome: 'first', due_at: null });
      expect(await db('hooks').where({ id: hookId }).first()).to.include({ outcome: 'first' });
    });

    it('is deleted a week after its end', async () => {
      const [old, recent, open] = [await event(), await event(), await event()] as string[];
      await updateRow(db, 'commit_events', old, { finished_at: db.raw(`now() - interval '8 days'`) });
      await updateRow(db, 'commit_events', recent, { finished_at: db.raw(`now() - interval '6 days'`) });
      expect(await deleteOldCommitEvents(db)).to.equal(1);
      expect(await db('commit_events').orderBy('created_at').pluck('id')).to.have.members([recent, open]);
    });
  });

  describe('what is known of a branch', () => {
    const known = (branch = 'main') => knownCommits(db, service.id, branch);

    it('is the commit that was looked at last, and that of its latest deployment', async () => {
      expect(await known()).to.deep.equal({ head: null, deployed: null, onlySeen: false, undecided: false });
      await recordHead(db, service.id, 'main', SHA);
      await recordHead(db, service.id, 'main', OTHER);
      await newDeployment(db, service.id, { status: 'failed', branch: 'main', commit_sha: OTHER });
      await newDeployment(db, service.id, { status: 'live', branch: 'main', commit_sha: SHA });
      await newDeployment(db, service.id, { status: 'cancelled', branch: 'main', commit_sha: '' });
      expect(await known()).to.deep.equal({ head: OTHER, deployed: SHA, onlySeen: false, undecided: false });
      expect(await known('dev')).to.deep.equal({ head: null, deployed: null, onlySeen: false, undecided: false });
    });

    it('is undecided while a deployment has not looked which commit it deploys', async () => {
      const id = await newDeployment(db, service.id, { branch: 'main' });
      expect(await known()).to.have.property('undecided', true);
      expect(await known('dev')).to.have.property('undecided', false);
      await db('deployments').where({ id }).update({ cancel_requested_at: new Date() });
      expect(await known()).to.have.property('undecided', false);
    });

    it('is the commit that runs, if it is of the branch', async () => {
      expect(await liveCommit(db, service.id, 'main')).to.equal(null);
      await pretendLive(db, service.id, { branch: 'main', commit_sha: SHA });
      expect(await liveCommit(db, service.id, 'main')).to.equal(SHA);
      expect(await liveCommit(db, service.id, 'dev')).to.equal(null);
    });
  });

  describe('a repository', () => {
    const FINGERPRINT = Buffer.alloc(32, 7);
    const watch = (firstMs = 0) => db.transaction((trx) => watchService(trx, service, FINGERPRINT, firstMs));
    const unsynced = async () => (await unsyncedServices(db, 10)).map(({ id }) => id);

    it('is polled for services that deploy its commits by themselves, and for no other', async () => {
      expect(await unsynced()).to.deep.equal([service.id]);
      const with_ = (fields: object) => ({ configuration: { ...service.configuration, ...fields } });
      const unwatched: object[] = [
        with_({ autoDeploy: 'off' }),
        with_({ sourceType: 'push' }),
        with_({ buildMethod: 'image' }),
        with_({ runtime: 'image' }),
        with_({ repository: '' }),
        { archived: true },
        { lifecycle_status: 'deleting' },
        { deleted_at: new Date() },
        { kind: 'redis' },
      ];
      const { configuration, archived, lifecycle_status, deleted_at, kind } = service;
      for (const fields of unwatched) {
        await change({ configuration, archived, lifecycle_status, deleted_at, kind });
        await watch();
        await change(fields);
        expect(await unsynced(), JSON.stringify(fields).slice(-80)).to.deep.equal([]);
        expect(await servicesOfRepository(db, FINGERPRINT)).to.deep.equal([]);
        await endWatches(db);
        expect(await db('commit_watches')).to.deep.equal([]);
        expect(await db('polled_repositories')).to.deep.equal([]);
      }
    });

    it('is compared again after its service was changed', async () => {
      await watch();
      await endWatches(db);
      expect(await unsynced()).to.deep.equal([]);
      await change({ updated_at: db.raw(`updated_at + interval '1 second'`) });
      expect(await unsynced()).to.deep.equal([service.id]);
    });

    it('is taken when it is due, by one process', async () => {
      await watch(60_000);
      expect(await takeDueRepositories(db, 10)).to.deep.equal([]);
      await recordPoll(db, FINGERPRINT, { pauseMs: -1, error: '' });
      const taken = await Promise.all([takeDueRepositories(db, 10), takeDueRepositories(db, 10)]);
      expect(taken.flat()).to.have.lengthOf(1);
      expect(await takeDueRepositories(db, 10)).to.deep.equal([]);
    });

    it('counts its failures until it answers', async () => {
      await watch();
      const failures = async () => (await db('polled_repositories').first()).failures;
      await recordPoll(db, FINGERPRINT, { pauseMs: 0, error: 'away' });
      await recordPoll(db, FINGERPRINT, { pauseMs: 0, error: 'away' });
      expect(await failures()).to.equal(2);
      await recordPoll(db, FINGERPRINT, { pauseMs: 60_000, error: '' });
      expect(await failures()).to.equal(0);
      expect(await takeDueRepositories(db, 10)).to.deep.equal([]);
    });

    it('is polled less often if a hook reports its pushes; a deploy hook does not', async () => {
      await watch();
      const hooked = async () => (await servicesOfRepository(db, FINGERPRINT)).map((one) => one.hooked);
      await hook('generic');
      expect(await hooked()).to.deep.equal([false]);
      await hook('gitlab');
      expect(await hooked()).to.deep.equal([true]);
    });
  });
});
