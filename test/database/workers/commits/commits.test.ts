import { expect } from 'chai';
import { deployCommit } from '../../../../shared/commits/commands.js';
import { findCommitEvent, insertCommitEvent, type NewCommitEvent } from '../../../../shared/commits/store.js';
import type { DeploymentRow } from '../../../../shared/deployments/rows.js';
import type { PartialServiceConfiguration } from '../../../../shared/services/configuration.js';
import type { ServiceRow } from '../../../../shared/services/rows.js';
import { considerEvent } from '../../../../workers/commits/consider-event.js';
import { NotYet } from '../../../../workers/commits/not-yet.js';
import { pollRepositories } from '../../../../workers/commits/poll-repositories.js';
import { SourceError } from '../../../../workers/failures/explained-errors.js';
import type { JobDeps } from '../../../../workers/worker-deps.js';
import { makeService } from '../../../support/factories.js';
import { newDeployment, pretendLive, updateRow } from '../../../support/records.js';
import { type TestWorkshop, useTestWorkshop } from '../../../support/workshop.js';

const [A, B] = ['a'.repeat(40), 'b'.repeat(40)];
const REPOSITORY = { repository: 'https://git.example/shop.git', autoDeploy: 'commit' } as const;

describe('New commits', () => {
  let workshop: TestWorkshop;
  let deps: JobDeps;
  let service: ServiceRow;
  let heads: Map<string, string>;
  let message: string;
  let changed: string[] | null;
  let failure: Error | null;
  let asked: string[];

  useTestWorkshop((opened) => ({ workshop } = opened));
  beforeEach(async () => {
    const { db } = workshop.database;
    await db.raw('truncate workers, workspaces, polled_repositories cascade');
    service = await makeService(db, undefined, REPOSITORY);
    [heads, message, changed, failure, asked] = [new Map([['main', A]]), 'Fix it', [], null, []];
    const source = {
      heads: async ({ branches }: { branches: readonly string[] }) => {
        asked.push(`heads of ${branches}`);
        if (failure) throw failure;
        return heads;
      },
      messageOf: async () => message,
      changedPaths: async ({ before, after }: { before: string; after: string }) => {
        asked.push(`changes from ${before.slice(0, 1)} to ${after.slice(0, 1)}`);
        return changed;
      },
    } as unknown as JobDeps['source'];
    const worker = await workshop.worker();
    deps = { ...worker, source, config: { ...worker.config, hostingEnabled: true } };
  });

  const configure = (configuration: PartialServiceConfiguration) =>
    updateRow(deps.db, 'services', service.id, { configuration: { ...service.configuration, ...configuration } });
  const deployments = () => deps.db<DeploymentRow>('deployments').where({ service_id: service.id }).orderBy('number');
  async function consider(fields: Partial<NewCommitEvent> = {}, last = false): Promise<string> {
    const id = await insertCommitEvent(deps.db, {
      service_id: service.id,
      kind: 'push',
      actor: 'hook',
      branch: 'main',
      after_sha: A,
      ...fields,
    });
    const event = id === null ? undefined : await findCommitEvent(deps.db, id);
    if (!event) throw new Error('no event');
    return considerEvent(deps, event, new AbortController().signal, last);
  }
  const refusal = (work: Promise<unknown>) =>
    work.then(
      () => 'done',
      (error: Error) => (error instanceof NotYet ? `not yet: ${error.message}` : error.message),
    );

  describe('that are reported', () => {
    it('are deployed once, however often they are reported', async () => {
      expect(await consider()).to.match(/^deployment /);
      const [first, ...others] = await deployments();
      expect(others).to.deep.equal([]);
      expect(first).to.include({ trigger: 'commit', branch: 'main', commit_sha: A, actor: 'hook' });
      expect(await consider()).to.contain('deployed already');
      await Promise.all([refusal(consider()), refusal(consider())]);
      expect(await deployments()).to.have.lengthOf(1);
      heads.set('main', B);
      expect(await consider()).to.match(/^deployment /);
      expect((await deployments()).map(({ commit_sha }) => commit_sha)).to.deep.equal([A, B]);
    });

    it('are deployed once if two workers consider two reports at the same time', async () => {
      const commit = { branch: 'main', sha: A };
      const reported = async () => {
        const event = { service_id: service.id, kind: 'push', actor: 'hook', branch: 'main', after_sha: A } as const;
        const eventId = (await insertCommitEvent(deps.db, event)) as string;
        const input = { eventId, serviceId: service.id, actor: 'hook', commit };
        return deps.db.transaction((trx) => deployCommit(trx, deps, input));
      };
      const ids = await Promise.all([reported(), reported()]);
      expect(ids.filter((id) => id === null)).to.have.lengthOf(1);
      expect(await deployments()).to.have.lengthOf(1);
    });

    it('are not deployed again after an earlier one took their place', async () => {
      await consider();
      await newDeployment(deps.db, service.id, { status: 'live', branch: 'main', commit_sha: B });
      expect(await consider()).to.contain('deployed already');
      expect(await deployments()).to.have.lengthOf(2);
    });

    it('are what the repository says, not what the report says', async () => {
      await consider({ after_sha: B });
      expect((await deployments())[0]).to.include({ commit_sha: A });
    });

    it('wait until the repository shows them', async () => {
      const stale = { before_sha: A, after_sha: B };
      expect(await refusal(consider(stale))).to.contain('not yet: the repository does not show');
      expect(await consider(stale, true)).to.match(/^deployment /);
    });

    it('wait for a deployment that has not looked which commit it deploys', async () => {
      const id = await newDeployment(deps.db, service.id, { branch: 'main' });
      expect(await refusal(consider())).to.contain('not yet: a deployment');
      await deps.db('deployments').where({ id }).update({ commit_sha: A });
      expect(await consider()).to.contain('deployed already');
    });

    it('are tried again while the repository cannot be read, and then given up', async () => {
      failure = new SourceError('it is away');
      expect(await refusal(consider())).to.equal('not yet: it is away');
      expect(await consider({}, true)).to.equal('it is away');
      expect(await deployments()).to.deep.equal([]);
    });

    it('are not deployed if the service does not want them', async () => {
      const unwanted: [PartialServiceConfiguration, string][] = [
        [{ autoDeploy: 'off' }, 'autoDeploy'],
        [{ branch: 'dev' }, 'the branch dev'],
        [{ sourceType: 'push' }, 'not deployed from a repository'],
        [{ buildMethod: 'image' }, 'not deployed from a repository'],
      ];
      for (const [configuration, outcome] of unwanted) {
        await configure(configuration);
        expect(await consider(), outcome).to.contain(outcome);
      }
      await configure({});
      heads.delete('main');
      expect(await consider()).to.contain('has no branch main');
      await deps.db('services').where({ id: service.id }).update({ lifecycle_status: 'deleting' });
      expect(await consider()).to.contain('the service is deleted');
      expect(await deployments()).to.deep.equal([]);
    });

    it('are not looked at again if they ask not to be deployed', async () => {
      message = 'Docs [skip ci]';
      expect(await consider()).to.contain('asks not to be deployed');
      message = 'Docs';
      expect(await consider()).to.contain('was looked at');
      expect(await deployments()).to.deep.equal([]);
    });

    it('are compared with the commit that runs, if the service has path filters', async () => {
      await pretendLive(deps.db, service.id, { branch: 'main', commit_sha: B });
      await configure({ includePaths: ['src/'] });
      changed = ['docs/index.md'];
      expect(await consider({ before_sha: 'c'.repeat(40) })).to.contain('includePaths');
      expect(asked).to.include('changes from b to a');
      heads.set('main', 'd'.repeat(40));
      changed = ['docs/index.md', 'src/main.ts'];
      expect(await consider()).to.match(/^deployment /);
      heads.set('main', 'e'.repeat(40));
      changed = null;
      expect(await consider(), 'the changes are not known').to.match(/^deployment /);
    });

    it('a deploy hook deploys, also with autoDeploy off', async () => {
      await configure({ autoDeploy: 'off' });
      expect(await consider({ kind: 'deploy', branch: '', after_sha: '' })).to.match(/^deployment /);
      expect((await deployments())[0]).to.include({ commit_sha: '', trigger: 'commit' });
      expect(asked).to.deep.equal([]);
    });
  });

  describe('that a poll finds', () => {
    const poll = async () => {
      await deps.db('polled_repositories').update({ next_at: new Date(0) });
      return pollRepositories(deps);
    };
    const events = () => deps.db('commit_events').where({ finished_at: null }).pluck('after_sha');

    it('are reported from the second on; the first only says where the branch stands', async () => {
      await pollRepositories(deps);
      await poll();
      expect(await events()).to.deep.equal([]);
      heads.set('main', B);
      expect(await poll()).to.deep.equal([`found commit ${B.slice(0, 12)} for service ${service.id}`]);
      expect(await events()).to.deep.equal([B]);
    });

    it('are deployed if a hook reports them too, although the first poll saw them before', async () => {
      await pollRepositories(deps);
      await poll();
      expect(await consider()).to.match(/^deployment /);
      expect(await consider()).to.contain('deployed already');
      expect(await deployments()).to.have.lengthOf(1);
    });

    it('are asked for once for all services of a repository', async () => {
      const other = await makeService(deps.db, undefined, { ...REPOSITORY, branch: 'dev' });
      for (const { id, branch } of [
        { id: service.id, branch: 'main' },
        { id: other.id, branch: 'dev' },
      ]) {
        await newDeployment(deps.db, id, { status: 'live', branch, commit_sha: 'c'.repeat(40) });
      }
      // The first poll is due within a minute, perhaps at once.
      heads = new Map();
      await pollRepositories(deps);
      heads = new Map([
        ['main', A],
        ['dev', B],
      ]);
      asked = [];
      await poll();
      expect(asked).to.have.lengthOf(1);
      expect(await events()).to.have.members([A, B]);
    });

    it('a repository that does not answer is asked less and less often', async () => {
      await pollRepositories(deps);
      failure = new SourceError('it is away');
      for (let i = 0; i < 3; i++) await poll();
      const row = await deps.db('polled_repositories').first();
      expect(row).to.include({ failures: 3, error: 'it is away' });
      expect(row.next_at.getTime()).to.be.within(Date.now() + 400_000, Date.now() + 490_000);
      failure = null;
      await poll();
      expect(await deps.db('polled_repositories').first()).to.include({ failures: 0, error: '' });
      for (const [error, shown] of [
        [new DOMException('aborted', 'TimeoutError'), 'it did not answer in time'],
        [Object.assign(new Error('of https://secret@host'), { code: '57P01' }), 'a fault of the platform (57P01)'],
      ] as const) {
        failure = error;
        await poll();
        expect((await deps.db('polled_repositories').first()).error).to.equal(shown);
      }
    });
  });
});
