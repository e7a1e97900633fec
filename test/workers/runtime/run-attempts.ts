import { expect } from 'chai';
import type { Db } from '../../../shared/core/database/client.js';
import type { ReleaseSpec, RuntimeDriver } from '../../../workers/runtime/runtime-driver.js';
import { never } from './host.js';
import { storeRun } from './release-record.js';

/** A host that runs releases, whichever runtime it has. */
interface AttemptHost {
  database: { db: Db };
  app(options: { kind: 'cron'; program: string }): Promise<ReleaseSpec>;
  linesOf(spec: ReleaseSpec): string[];
}

/** Expects that a runtime carries out attempts of runs: once, with their output, their end and their time limit. */
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

  const hangs = await host.app({ kind: 'cron', program: 'setInterval(() => {}, 1000)' });
  const short = await storeRun(db, hangs, 1_000);
  expect(await runtime.runAttempt(hangs, short, never)).to.deep.equal({ type: 'timeout' });
  const [left] = await db('replicas').where({ run_id: short.runId });
  expect(left.state).to.equal('stopped');
}
