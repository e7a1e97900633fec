import { type ChildProcess, spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'chai';
import type { LogBatchRow } from '../../../shared/logs/model.js';
import type { ReleaseSpec, RuntimeDriver } from '../../../workers/runtime/runtime-driver.js';
import { markedProcesses } from '../../../workers/sandbox/process-table.js';
import { isRoot } from '../../../workers/sandbox/service-users.js';
import { eventually } from '../../support/processes.js';
import { ask, never, TestHost } from './host.js';

async function killed(worker: ChildProcess): Promise<void> {
  worker.kill('SIGKILL');
  await once(worker, 'exit');
}

describe('Process runtime when workers come and go', () => {
  let host: TestHost;
  let driver: RuntimeDriver;

  beforeEach(async () => {
    host = await TestHost.create();
    driver = await host.runtime({ asksOnly: true });
  });
  afterEach(() => host.destroy());

  async function storedLines(spec: ReleaseSpec): Promise<string[]> {
    const batches = await host.database
      .db<LogBatchRow>('log_batches')
      .where({ deployment_id: spec.deploymentId })
      .orderBy('id');
    return batches.flatMap((batch) => batch.lines.map((line) => line.message));
  }

  it('a killed worker leaves its processes serving; the next one adopts them and follows their output without a gap', async () => {
    const first = await host.worker();
    const spec = await host.app({ live: true });
    await driver.release(spec, never);
    const [replica] = await host.replicas(spec);
    if (!replica) throw new Error('no replica');
    const identity = await ask(replica, '/say/one');
    await killed(first);
    expect(await ask(replica, '/say/two')).to.equal(identity);
    const second = await host.worker();
    expect(await ask(replica, '/say/three')).to.equal(identity);
    await eventually('all is in the log', async () => (await storedLines(spec)).includes('three'));
    expect((await storedLines(spec)).slice(1)).to.deep.equal(['one', 'two', 'three']);
    const [adopted] = await host.replicas(spec);
    expect([adopted?.pid, adopted?.state, adopted?.restarts]).to.deep.equal([replica.pid, 'ready', 0]);

    await ask(replica, '/die');
    await eventually('the adopted replica was started again', async () => {
      const [row] = await host.replicas(spec);
      return row?.state === 'ready' && row.restarts === 1;
    });
    await killed(second);
  });

  it('a worker without a PATH guards its ports, and removes the rules of a platform whose folder is gone', async function () {
    if (!isRoot() || spawnSync('nft', ['list', 'tables']).status !== 0) this.skip();
    const abandoned = `ranvier_${randomBytes(8).toString('hex')}`;
    spawnSync('nft', ['-f', '-'], { input: `table inet ${abandoned} { comment "${host.config.dataDir}/gone" }` });
    await host.worker();
    const spec = await host.app();
    await driver.release(spec, never);
    const [replica] = await host.replicas(spec);
    const rules = String(spawnSync('nft', ['list', 'ruleset']).stdout);
    expect(rules).to.contain(`comment "${host.config.dataDir}"`).and.to.contain(`${replica?.port} . `);
    expect(rules).to.not.contain(abandoned);
  });

  it('a release that cannot be read any more is stopped all the same', async () => {
    const first = await host.worker();
    const spec = await host.app({ live: true });
    await driver.release(spec, never);
    const [replica] = await host.replicas(spec);
    await killed(first);
    // Without its variables, the output of a replica cannot be masked, so it is not shown.
    await writeFile(join(host.config.dataDir, 'specs.json'), '[]');
    const second = await host.worker();
    await driver.stop(spec.deploymentId);
    expect(await driver.inspect(spec.deploymentId)).to.deep.equal([]);
    const marks = [...(await markedProcesses('')).values()];
    expect(marks.filter((mark) => mark.includes(replica?.id ?? ''))).to.deep.equal([]);
    await killed(second);
  });

  it('a replica that died while no worker lived is started again, and its exit code is known', async () => {
    const first = await host.worker();
    const spec = await host.app({ live: true });
    await driver.release(spec, never);
    const [replica] = await host.replicas(spec);
    await killed(first);
    await ask(replica ?? { port: null }, '/die');
    await host.worker();
    await eventually('the exit is seen', async () =>
      /exited with code 3/.test((await host.service(spec)).runtime_detail),
    );
    await eventually('it is ready again', async () => (await host.replicas(spec))[0]?.state === 'ready');
  });

  it('a claim whose worker died before it recorded the process is started once', async () => {
    const spec = await host.app();
    const released = driver.release(spec, never);
    await eventually('it waits', async () => (await host.replicas(spec)).length === 1);
    await host.database.db('replicas').where({ deployment_id: spec.deploymentId }).update({ state: 'starting' });
    await host.worker();
    await released;
    const [row] = await host.replicas(spec);
    expect(await processesOf(row?.id ?? '')).to.have.length(1);
  });

  it('several workers of one host start nothing twice', async () => {
    await Promise.all([host.worker(), host.worker(), host.worker()]);
    const spec = await host.app({ configuration: { replicas: 4 } });
    await driver.release(spec, never);
    const rows = await host.replicas(spec);
    expect(new Set(rows.map((row) => row.port)).size).to.equal(4);
    for (const row of rows) expect(await processesOf(row.id)).to.have.length(1);
    await driver.stop(spec.deploymentId);
    for (const row of rows) expect(await processesOf(row.id)).to.deep.equal([]);
  });

  async function processesOf(replicaId: string): Promise<number[]> {
    const found: number[] = [];
    for (const [pid, marker] of await markedProcesses('')) {
      if (!marker.includes(`replica-${replicaId}`)) continue;
      const command = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '');
      if (command.startsWith('node\0')) found.push(pid);
    }
    return found;
  }
});
