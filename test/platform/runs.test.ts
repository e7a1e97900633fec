import { expect } from 'chai';
import type { RunRow } from '../../shared/runs/model.js';
import { markedProcesses } from '../../workers/sandbox/process-table.js';
import { act, createService, deploy, readLogs, readService, type Service } from '../support/deployments.js';
import { Gate, reachOf } from '../support/gate.js';
import { type Platform, usePlatform } from '../support/platform.js';
import { eventually } from '../support/processes.js';
import type { TestRepository } from '../support/repositories.js';
import { runCommands } from './run-commands.js';

interface Run {
  id: string;
  status: string;
  trigger: string;
  attempt: number;
  scheduledAt: string;
  exitCode: number | null;
  error: string;
}

/** Waits for the gate if WAIT is set and fails if FAIL is set. Prints its run's id at the beginning and at the end. */
const JOB = {
  'job.js': `
    const id = process.env.RANVIER_RUN_ID;
    console.log('begins ' + id + ' ' + process.env.GREETING + ' ' + process.env.PORT);
    (process.env.WAIT ? fetch(process.env.GATE + '/' + id).then((r) => r.text()) : Promise.resolve()).then(() => {
      console.log('ends ' + id);
      process.exit(process.env.FAIL ? 7 : 0);
    });`,
};

describe('Runs', function () {
  this.timeout(240_000);
  let platform: Platform;
  let gateUrl: string;
  const gate = new Gate();
  after(() => gate.close());
  usePlatform(
    async () => {
      gateUrl = await gate.start();
      const env = { ...reachOf(gateUrl), RUN_RETRY_SECONDS: '1', STOP_GRACE_SECONDS: '2' };
      return { engine: 'postgres', workers: 2, env };
    },
    (started) => {
      platform = started;
    },
  );

  describe('of a cron service', () => {
    let repository: TestRepository;
    before(async () => {
      repository = await platform.repositoryOf(JOB);
    });

    async function cron(configuration: object = {}, variables: Record<string, string> = {}): Promise<Service> {
      const given = { GREETING: 'hi', GATE: gateUrl, ...variables };
      const service = await createService(platform.client, {
        name: 'report',
        kind: 'cron',
        // Once a year, so that only the tests cause ticks.
        configuration: {
          repository: repository.url,
          startCommand: 'node job.js',
          schedule: '0 0 1 1 *',
          ...configuration,
        },
        variables: Object.entries(given).map(([key, value]) => ({ key, value })),
      });
      await deploy(platform.client, service.id);
      return service;
    }
    const start = async ({ id }: Service): Promise<Run> =>
      (await platform.client.expect<{ run: Run }>('POST', `/services/${id}/runs`, {})).run;
    const read = async ({ id }: Service, run: string): Promise<Run> =>
      (await platform.client.expect<{ run: Run }>('GET', `/services/${id}/runs/${run}`)).run;
    const list = async ({ id }: Service): Promise<Run[]> =>
      (await platform.client.expect<{ runs: Run[] }>('GET', `/services/${id}/runs`)).runs;
    const runEnds = (service: Service, id: string) =>
      eventually(`run ${id} ends`, async () => {
        const run = await read(service, id);
        return ['queued', 'running'].includes(run.status) ? undefined : run;
      });
    const messages = async ({ id }: Service, source: string) =>
      (await readLogs(platform.client, id)).filter((line) => line.source === source).map((line) => line.message);
    const processes = async () => [...(await markedProcesses(await platform.sandboxToken())).values()];

    it('goes live without a process, and each run has its variables and its output in the log', async () => {
      const service = await cron();
      expect(await readService(platform.client, service.id)).to.include({
        status: 'live',
        healthStatus: 'ready',
        url: '',
      });
      expect(await processes()).to.deep.equal([]);
      const { id } = await start(service);
      expect(await runEnds(service, id)).to.include({
        status: 'succeeded',
        trigger: 'manual',
        attempt: 1,
        exitCode: 0,
        error: '',
      });
      await eventually('the output is in the log', async () =>
        (await messages(service, 'runtime')).includes(`ends ${id}`),
      );
      expect(await messages(service, 'runtime')).to.deep.equal([`begins ${id} hi undefined`, `ends ${id}`]);
      expect(await messages(service, 'system')).to.include(`Run ${id} succeeded`);
    });

    it('has exactly one run for a tick, which goes on through the death of its worker', async () => {
      const service = await cron({ timeoutSeconds: 300 }, { WAIT: 'yes' });
      const { db } = platform.database;
      await eventually('its schedule is planned', () => db('schedules').where({ service_id: service.id }).first());
      const tick = new Date(Math.floor(Date.now() / 60_000) * 60_000);
      const run = await eventually('the tick has made a run', async () => {
        // Another worker may overwrite this time while it plans the schedule. A tick makes one run, however often due.
        await db('schedules').where({ service_id: service.id }).update({ next_run_at: tick });
        return (await list(service))[0];
      });
      expect(run).to.include({ trigger: 'schedule' });
      await eventually('its command waits at the gate', () => gate.visits.has(run.id));
      const { worker_id: workerId } = (await db<RunRow>('runs').where({ id: run.id }).first()) ?? {};
      const holder = await db('workers').where({ id: workerId }).first('pid');
      await platform.workers.find((worker) => worker.child.pid === holder.pid)?.stop('SIGKILL');
      await eventually('another worker has taken it', async () => {
        const row = await db<RunRow>('runs').where({ id: run.id }).first();
        return row?.worker_id !== workerId && row?.worker_id !== null;
      });
      gate.open();
      expect(await runEnds(service, run.id)).to.include({ status: 'succeeded', attempt: 1, exitCode: 0 });
      expect(gate.visits.get(run.id)).to.equal(1);
      await eventually('the output is in the log', async () =>
        (await messages(service, 'runtime')).includes(`ends ${run.id}`),
      );
      expect(await messages(service, 'runtime')).to.deep.equal([`begins ${run.id} hi undefined`, `ends ${run.id}`]);
      expect(await list(service)).to.have.length(1);
      await platform.startWorker();
    });

    it('tries a run that fails again, and then says why it failed', async () => {
      const service = await cron({ maxRetries: 1 }, { FAIL: 'yes' });
      const { id } = await start(service);
      expect(await runEnds(service, id)).to.include({
        status: 'failed',
        attempt: 2,
        exitCode: 7,
        error: 'the command "node job.js" exited with code 7',
      });
      const said = (await messages(service, 'system')).filter((line) => line.includes(id)).join('\n');
      expect(said).to.include('attempt 2 of 2 starts in 1 s');
    });

    it('ends a run at its time limit, on cancellation and when it is suspended, with its whole process tree', async () => {
      const command = "sh -c 'sleep 1000 & sleep 1000'";
      const slow = await cron({ startCommand: command, timeoutSeconds: 1 });
      const late = await runEnds(slow, (await start(slow)).id);
      expect(late).to.include({ status: 'failed', exitCode: null, attempt: 1 });
      expect(late.error).to.include('did not end within 1 s');

      const service = await cron({ startCommand: command });
      for (const how of ['cancel', 'suspend'] as const) {
        const { id } = await start(service);
        await eventually('its processes run', async () => (await processes()).length >= 3);
        if (how === 'cancel') await platform.client.expect('POST', `/services/${service.id}/runs/${id}/cancel`, {});
        else expect(await act(platform.client, service.id, 'suspend')).to.equal('succeeded');
        expect((await runEnds(service, id)).status, how).to.equal('cancelled');
        await eventually('nothing of it is left', async () => (await processes()).length === 0);
      }
      await eventually('it has no next tick', async () => {
        const rows = await platform.database.db('schedules').where({ service_id: service.id });
        return rows.length === 0;
      });
      const { status } = await platform.client.call('POST', `/services/${service.id}/runs`, {});
      expect(status).to.equal(409);
    });
  });

  describe('of commands that are given', () => {
    runCommands(() => ({ platform, gate, gateUrl }));
  });
});
