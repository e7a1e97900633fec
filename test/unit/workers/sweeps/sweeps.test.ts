import { expect } from 'chai';
import type { HostContents } from '../../../../shared/workers/store.js';
import { sweepDefinitions } from '../../../../workers/sweeps/sweep-definitions.js';
import { type SweepDefinition, Sweeps } from '../../../../workers/sweeps/sweeps.js';
import type { JobDeps } from '../../../../workers/worker-deps.js';

describe('Sweeps', () => {
  let runs: number;
  let lines: string[];
  let counted: [string, number][];
  const leadership = { leading: false };
  let contents: HostContents | null;
  let sweeps: Sweeps;

  beforeEach(() => {
    [runs, lines, counted, contents] = [0, [], [], null];
    const write = (_: object, line: string) => void lines.push(line);
    sweeps = new Sweeps([], {
      leadership,
      contents: () => contents,
      log: { info: write, warn: write } as never,
      countRepairs: async (name, repairs) => void counted.push([name, repairs]),
    });
  });
  afterEach(() => sweeps.close());

  const definition = (more: Partial<SweepDefinition>): SweepDefinition => ({
    name: 'mine',
    schedule: '0 0 0 1 1 *',
    scope: 'platform',
    sweep: async () => {
      runs += 1;
      return [];
    },
    ...more,
  });

  it('of the platform run only on the worker that leads', async () => {
    leadership.leading = false;
    await sweeps.run(definition({ scope: 'platform' }));
    expect(runs).to.equal(0);
    leadership.leading = true;
    await sweeps.run(definition({ scope: 'platform' }));
    expect(runs).to.equal(1);
  });

  it('of a host run on every worker', async () => {
    for (const leading of [false, true]) {
      leadership.leading = leading;
      await sweeps.run(definition({ scope: 'host' }));
    }
    expect(runs).to.equal(2);
  });

  it('of what the host has not do not run, once a heartbeat has said so', async () => {
    const mine = definition({ scope: 'host', of: 'volumes' });
    await sweeps.run(mine);
    contents = { volumes: false, databases: true, releasesToStart: true };
    await sweeps.run(mine);
    expect(runs).to.equal(1);
    contents = { ...contents, volumes: true };
    await sweeps.run(mine);
    expect(runs).to.equal(2);
  });

  it('stop when the worker no longer leads', async () => {
    leadership.leading = true;
    await sweeps.run(definition({}));
    leadership.leading = false;
    await sweeps.run(definition({}));
    expect(runs).to.equal(1);
  });

  it('log and count each repair, and count nothing if there was none', async () => {
    leadership.leading = true;
    await sweeps.run(definition({ sweep: async () => ['stopped a', 'stopped b'] }));
    await sweeps.run(definition({}));
    expect(lines).to.deep.equal(['stopped a', 'stopped b']);
    expect(counted).to.deep.equal([['mine', 2]]);
  });

  it('that fail are logged and do not reject', async () => {
    leadership.leading = true;
    await sweeps.run(definition({ sweep: () => Promise.reject(new Error('the disk is full')) }));
    expect(lines).to.deep.equal(['sweep failed, it runs again on its schedule: the disk is full']);
  });

  it('have their scope: only what belongs to a host runs on every worker', () => {
    const scopes = sweepDefinitions({ config: { metricsSeconds: 15 } } as JobDeps, {
      removeOldJobs: async () => 0,
    }).map(({ name, scope }) => [name, scope]);
    expect(Object.fromEntries(scopes)).to.deep.equal({
      dispatch: 'platform',
      canaries: 'platform',
      alerts: 'platform',
      'alert-mails': 'platform',
      jobs: 'platform',
      notifications: 'platform',
      previews: 'platform',
      polls: 'platform',
      webhooks: 'platform',
      'budget-webhooks': 'platform',
      releases: 'platform',
      'lost-users': 'platform',
      metrics: 'platform',
      scaling: 'platform',
      replicas: 'host',
      retention: 'platform',
      schedules: 'platform',
      trash: 'host',
      budgets: 'platform',
      backups: 'platform',
      'backup-removal': 'host',
      'backup-leftovers': 'host',
      domains: 'platform',
      drains: 'platform',
      images: 'host',
      storage: 'host',
      users: 'host',
      volumes: 'host',
      'service-volumes': 'host',
      'ended-jobs': 'platform',
      away: 'platform',
      'idle-releases': 'platform',
    });
  });
});
