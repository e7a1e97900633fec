import { expect } from 'chai';
import type { RunRow } from '../../shared/runs/model.js';
import { markedProcesses } from '../../workers/sandbox/process-table.js';
import { nodeServer } from '../support/apps.js';
import { visit } from '../support/client.js';
import {
  createService,
  deploy,
  ended,
  type LogItem,
  queueDeploy,
  readDeployment,
  readLogs,
  readService,
  type Service,
} from '../support/deployments.js';
import { type Gate, PASS } from '../support/gate.js';
import type { Platform } from '../support/platform.js';
import { eventually } from '../support/processes.js';
import type { TestRepository } from '../support/repositories.js';

interface Run {
  id: string;
  status: string;
  trigger: string;
  command: string | null;
  attempt: number;
  exitCode: number | null;
  error: string;
  deploymentId: string;
}

const HANGS = "sh -c 'echo hangs; sleep 1000 & sleep 1000'";

/** Defines tests of commands in a live service, on the platform that the tests of runs use. */
export function runCommands(given: () => { platform: Platform; gate: Gate; gateUrl: string }): void {
  let platform: Platform;
  let gate: Gate;
  let gateUrl: string;
  let repository: TestRepository;
  let service: Service;

  before(async () => {
    ({ platform, gate, gateUrl } = given());
    gate.shut();
    repository = await platform.repositoryOf({ ...nodeServer('serves'), ...PASS });
    service = await create('shop');
    await deploy(platform.client, service.id);
  });

  const create = (name: string, configuration: object = {}): Promise<Service> =>
    createService(platform.client, {
      name,
      configuration: { repository: repository.url, ...configuration },
      variables: Object.entries({ GATE: gateUrl, GREETING: 'hi' }).map(([key, value]) => ({ key, value })),
    });
  const start = async (body: object, { id } = service): Promise<Run> =>
    (await platform.client.expect<{ run: Run }>('POST', `/services/${id}/runs`, body)).run;
  const read = async (run: string, { id } = service): Promise<Run> =>
    (await platform.client.expect<{ run: Run }>('GET', `/services/${id}/runs/${run}`)).run;
  const list = async ({ id } = service): Promise<Run[]> =>
    (await platform.client.expect<{ runs: Run[] }>('GET', `/services/${id}/runs`)).runs;
  const runEnds = (id: string, of = service) =>
    eventually(`run ${id} ends`, async () => {
      const run = await read(id, of);
      if (!['queued', 'running'].includes(run.status)) return run;
      throw new Error(`it is ${run.status}`);
    });
  const logOf = (id: string, of = service) => readLogs(platform.client, of.id, `&runId=${id}`);
  const printed = async (id: string, of = service) =>
    (await logOf(id, of)).filter(({ source }) => source === 'runtime').map(({ message }) => message);
  const serves = async () => expect((await visit(service.url, platform.edgePort)).body).to.equal('serves');
  const running = async () => (await markedProcesses(await platform.sandboxToken())).size;

  it('has the image, the variables and a log of its own, and ends with its exit code beside what serves', async () => {
    const before = await running();
    const { id } = await start({ command: 'ls server.js && echo "$GREETING $RANVIER_RUN_ID $PORT."' });
    expect(await runEnds(id)).to.deep.include({
      status: 'succeeded',
      trigger: 'manual',
      attempt: 1,
      exitCode: 0,
      error: '',
      deploymentId: (await readService(platform.client, service.id)).liveDeploymentId,
    });
    expect(await printed(id)).to.deep.equal(['server.js', `hi ${id} .`]);
    const lines: (LogItem & { runId?: string })[] = await readLogs(platform.client, service.id);
    const own = lines.filter(({ runId }) => runId === id).map(({ message }) => message);
    expect(own).to.deep.equal((await logOf(id)).map(({ message }) => message));
    expect(lines.some(({ runId }) => runId === undefined)).to.equal(true);
    await serves();
    await eventually('nothing of it is left', async () => (await running()) === before);
  });

  it('goes on through the death of its worker, and is not started a second time', async () => {
    const { id } = await start({ command: ['node', 'pass.js', 'migrate'] });
    await eventually('it waits at the gate', () => gate.visits.get('migrate') === 1);
    const { db } = platform.database;
    const { worker_id: workerId } = (await db<RunRow>('runs').where({ id }).first()) ?? {};
    const holder = await db('workers').where({ id: workerId }).first('pid');
    await platform.workers.find((worker) => worker.child.pid === holder.pid)?.stop('SIGKILL');
    await eventually('another worker has taken it', async () => {
      const row = await db<RunRow>('runs').where({ id }).first();
      return row?.worker_id !== workerId && row?.worker_id !== null;
    });
    gate.open();
    expect(await runEnds(id)).to.include({ status: 'succeeded', attempt: 1, exitCode: 0 });
    expect(gate.visits.get('migrate')).to.equal(1);
    expect(await printed(id)).to.deep.equal(['passed migrate']);
    await platform.startWorker();
  });

  it('that fails is not tried again, and says why', async () => {
    const { id } = await start({ command: 'echo no table >&2; exit 7' });
    expect(await runEnds(id)).to.include({
      status: 'failed',
      attempt: 1,
      exitCode: 7,
      error: 'the command "echo no table >&2; exit 7" exited with code 7; its last output: no table',
    });
  });

  it('ends at its time limit and on cancellation, with its whole process tree', async () => {
    const before = await running();
    const late = await runEnds((await start({ command: HANGS, timeoutSeconds: 1 })).id);
    expect(late).to.include({ status: 'failed', exitCode: null, attempt: 1 });
    expect(late.error).to.include('did not end within 1 s');
    const { id } = await start({ command: HANGS });
    await eventually('it runs', async () => (await printed(id)).includes('hangs'));
    await platform.client.expect('POST', `/services/${service.id}/runs/${id}/cancel`, {});
    expect(await runEnds(id)).to.include({ status: 'cancelled', error: '' });
    await eventually('nothing of it is left', async () => (await running()) === before);
    await serves();
  });

  it('has the memory of the plan that was asked for', async () => {
    const command = `node -e "Buffer.alloc(1e9, 1); console.log('fits')"`;
    const small = await runEnds((await start({ command, plan: 'free' })).id);
    expect(small).to.include({ status: 'failed' });
    const large = await runEnds((await start({ command, plan: 'standard' })).id);
    expect(large).to.include({ status: 'succeeded', plan: 'standard' });
  });

  it('that ended with the platform is not started again', async () => {
    const { id } = await start({ command: HANGS });
    await eventually('it runs', async () => (await printed(id)).includes('hangs'));
    await Promise.all(platform.workers.map((worker) => (worker.ended ? null : worker.stop('SIGINT'))));
    await platform.startWorker();
    const run = await runEnds(id);
    expect(run).to.include({ status: 'failed', attempt: 1, exitCode: null });
    expect(run.error).to.include('is not started again');
    expect((await printed(id)).filter((line) => line === 'hangs')).to.have.length(1);
  });

  describe('before each release', () => {
    it('is a run with a record, a log and an exit code; the step of its deployment names it', async () => {
      const made = await create('migrates', { preDeployCommand: 'echo "migrated $GREETING"' });
      const { id, steps } = await deploy(platform.client, made.id);
      const [run, ...others] = await list(made);
      expect(others).to.deep.equal([]);
      expect(run).to.include({
        trigger: 'deployment',
        status: 'succeeded',
        exitCode: 0,
        command: 'echo "migrated $GREETING"',
        deploymentId: id,
      });
      expect(steps.at(-1)).to.include({ name: 'release', runId: run?.id });
      expect(await printed(run?.id ?? '', made)).to.deep.equal(['migrated hi']);
      const shown = await readLogs(platform.client, made.id, `&deploymentId=${id}`);
      expect(shown.map(({ message }) => message)).to.include('migrated hi');
    });

    it('that fails leaves the release that serves alone', async () => {
      const { liveDeploymentId } = await readService(platform.client, service.id);
      const configuration = { preDeployCommand: 'echo no table; exit 4' };
      await platform.client.expect('PATCH', `/services/${service.id}`, { configuration });
      const { status, error } = await ended(
        platform.client,
        service.id,
        (await queueDeploy(platform.client, service.id)).id,
      );
      expect({ status, error }).to.deep.equal({
        status: 'failed',
        error: 'release: the command "echo no table; exit 4" exited with code 4; its last output: no table',
      });
      expect((await readService(platform.client, service.id)).liveDeploymentId).to.equal(liveDeploymentId);
      expect((await list())[0]).to.include({ trigger: 'deployment', status: 'failed', exitCode: 4 });
      await serves();
    });

    it('ends with the cancellation of its deployment, and a deployment ends with that of its run', async () => {
      await platform.client.expect('PATCH', `/services/${service.id}`, { configuration: { preDeployCommand: HANGS } });
      const before = await running();
      for (const how of ['deployment', 'run'] as const) {
        const { id } = await queueDeploy(platform.client, service.id);
        const run = await eventually('its command runs', async () => {
          const [newest] = await list();
          return newest?.deploymentId === id && (await printed(newest.id)).includes('hangs') ? newest : undefined;
        });
        expect((await readDeployment(platform.client, service.id, id)).status).to.equal('releasing');
        const path = how === 'run' ? `/runs/${run.id}` : `/deploys/${id}`;
        await platform.client.expect('POST', `/services/${service.id}${path}/cancel`, {});
        const { status, error } = await ended(platform.client, service.id, id);
        expect((await read(run.id)).status).to.equal('cancelled');
        const cancelled = { status: 'cancelled', error: '' };
        const failed = { status: 'failed', error: `release: the pre-deploy command was cancelled (run ${run.id})` };
        expect({ status, error }).to.deep.equal(how === 'run' ? failed : cancelled);
        await eventually('nothing of it is left', async () => (await running()) === before);
      }
      await serves();
    });
  });
}
