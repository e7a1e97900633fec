import { expect } from 'chai';
import type { Db } from '../../../shared/core/database/database-client.js';
import type { ReleaseSpec, RuntimeDriver } from '../../../workers/runtime/runtime-driver.js';
import { never } from './host.js';
import { storeRun } from './release-record.js';

interface AttemptHost {
  database: { db: Db };
  app(options: { kind?: 'cron'; program?: string; environment?: Record<string, string> }): Promise<ReleaseSpec>;
  linesOf(spec: ReleaseSpec): string[];
}

/** Expects that a driver carries out attempts of runs once, with output, exit code and timeout. */
export async function expectRunAttempts(host: AttemptHost, runtime: RuntimeDriver): Promise<void> {
  const { db } = host.database;
  const program = `console.log('run', process.env.RANVIER_RUN_ID, process.env.PORT); setTimeout(() => process.exit(5), 500);`;
  const spec = await host.app({ kind: 'cron', program });
  await runtime.release(spec, never);
  expect(await runtime.inspect(spec.deploymentId), 'nothing runs between the runs').to.deep.equal([]);
  const attempt = await storeRun(db, spec);
  // Two workers wait for the same attempt.
  const outcomes = await Promise.all([1, 2].map(() => runtime.runAttempt(spec, attempt, never)));
  for (const outcome of outcomes) {
    expect(outcome).to.deep.equal({ type: 'exited', exitCode: 5, detail: 'exited with code 5' });
  }
  expect(host.linesOf(spec)).to.deep.equal([`run ${attempt.runId} undefined`]);
  await runtime.stopRun(attempt.runId);

  // A given command runs beside the replicas of a web service, and has no port.
  const web = await host.app({ environment: { SECRET: 'hidden-value' } });
  await runtime.release(web, never);
  const before = await runtime.inspect(web.deploymentId);
  const command = await storeRun(db, web, 60_000, 'echo "one $SECRET $PORT"; echo two >&2; exit 7');
  expect(await runtime.runAttempt(web, command, never)).to.include({ type: 'exited', exitCode: 7 });
  expect(host.linesOf(web)).to.include.members(['one *** ', 'two']);
  await runtime.stopRun(command.runId);
  expect((await runtime.inspect(web.deploymentId)).map(({ id, state }) => ({ id, state }))).to.deep.equal(
    before.map(({ id }) => ({ id, state: 'ready' })),
  );
  await runtime.stop(web.deploymentId);

  const hangs = await host.app({ kind: 'cron', program: 'setInterval(() => {}, 1000)' });
  const short = await storeRun(db, hangs, 1_000);
  expect(await runtime.runAttempt(hangs, short, never)).to.deep.equal({ type: 'timeout' });
  const [left] = await db('replicas').where({ run_id: short.runId });
  expect(left.state).to.equal('stopped');
}
