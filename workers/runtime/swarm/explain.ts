import type { ReplicaRow } from '../../../shared/db/rows.js';
import { errorMessage } from '../../../shared/errors.js';
import { LineSplitter } from '../../sandbox/lines.js';
import type { ReleaseSpec } from '../driver.js';
import { checkHealth } from '../health.js';
import { maskerOf } from '../masker.js';
import type { SwarmRuntimeDeps } from './deps.js';
import { containerPort } from './spec.js';
import { readOutput } from './task-output.js';

type Deps = Pick<SwarmRuntimeDeps, 'engine' | 'config' | 'log'>;

const LAST_LINES = 8;

/** Why a replica that never was healthy has ended, with what it printed last. */
export async function explainExit(deps: Deps, spec: ReleaseSpec, row: ReplicaRow): Promise<string> {
  const cause = `replica ${row.position} ${row.exit_detail}`;
  // A start that failed has no "before it was healthy": nothing of the application ever ran.
  if (row.exit_detail.startsWith('could not be started') || row.task_id === null) return cause;
  const output = (await lastOutput(deps, spec, row.task_id)).join('\n');
  return `${cause} before it was healthy; ${output === '' ? 'it printed nothing' : `its last output: ${output}`}`;
}

async function lastOutput({ engine, log }: Deps, spec: ReleaseSpec, taskId: string): Promise<string[]> {
  const masker = maskerOf(spec);
  const splitter = new LineSplitter(masker);
  try {
    const output = await readOutput(engine, taskId, { tail: LAST_LINES });
    const lines = [...output.flatMap(({ bytes }) => splitter.push(bytes)), ...splitter.end()];
    return lines.filter((line) => line.trim() !== '').map((line) => masker.mask(line));
  } catch (error) {
    log.warn({ taskId }, `the last output of a task is not to be had: ${errorMessage(error)}`);
    return [];
  }
}

/** Why a release is not healthy although its tasks have not failed: what keeps them, or what the health check gets. */
export async function explainSilence(
  { config }: Pick<Deps, 'config'>,
  spec: ReleaseSpec,
  rows: readonly ReplicaRow[],
): Promise<string> {
  const within = `within ${config.releaseTimeoutSeconds} s`;
  const late = rows.find((row) => row.state !== 'ready');
  if (!late) return `the release was not ready ${within}`;
  if (late.task_id === null) {
    const hint = late.exit_detail === '' ? 'is a worker running that reaches the swarm?' : late.exit_detail;
    return `replica ${late.position} was not started ${within}: ${hint}`;
  }
  if (late.port === null) return `replica ${late.position} was started only after ${within.slice(7)}`;
  const path = spec.configuration.healthCheckPath;
  const health = await checkHealth({
    address: late.address,
    port: late.port,
    path,
    host: `${spec.slug}.${config.edgeDomain}`,
  });
  if (health.healthy) return `replica ${late.position} answered only after ${within.slice(7)}`;
  if (health.kind === 'bad-answer') return `${health.answer} (replica ${late.position}, ${within})`;
  const port = containerPort(spec);
  return `nothing answered on port ${port} (PORT) ${within}: ${health.answer}; does the application listen on 0.0.0.0 and that port?`;
}
