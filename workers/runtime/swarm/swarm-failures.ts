import { errorMessage } from '../../../shared/core/errors.js';
import { limitsOf } from '../../../shared/services/catalog.js';
import { isDataKind } from '../../../shared/services/model.js';
import type { ReplicaRow } from '../../replicas/rows.js';
import { LineSplitter } from '../../sandbox/line-splitter.js';
import { exitMessage, neverRan, SEARCHED_LINES } from '../failure-text.js';
import { checkHealth } from '../health-check.js';
import { maskerOf } from '../retained-release.js';
import type { ReleaseSpec } from '../runtime-driver.js';
import { containerPort } from './service-spec.js';
import type { SwarmRuntimeDeps } from './swarm-services.js';
import { readOutput } from './task-output.js';

type Deps = Pick<SwarmRuntimeDeps, 'engine' | 'config' | 'log'>;

/** Why a replica ended before it was ever ready, with its last output. */
export async function explainSwarmExit(deps: Deps, spec: ReleaseSpec, row: ReplicaRow): Promise<string> {
  if (row.task_id === null) return `replica ${row.position} ${row.exit_detail}`;
  const output = neverRan(row.exit_detail) ? [] : await lastOutput(deps, spec, row.task_id);
  return exitMessage(row, output, limitsOf(spec.kind, spec.configuration.plan).memoryMb);
}

async function lastOutput({ engine, log }: Deps, spec: ReleaseSpec, taskId: string): Promise<string[]> {
  const masker = maskerOf(spec);
  const splitter = new LineSplitter(masker);
  try {
    const output = await readOutput(engine, taskId, { tail: SEARCHED_LINES });
    const lines = [...output.flatMap(({ bytes }) => splitter.push(bytes)), ...splitter.end()];
    return lines.filter((line) => line.trim() !== '').map((line) => masker.mask(line));
  } catch (error) {
    log.warn({ taskId }, `the last output of a task cannot be read: ${errorMessage(error)}`);
    return [];
  }
}

/** Why a release is not ready in time although no task has failed: what keeps a task, or the result of a health check. */
export async function explainSwarmSilence(deps: Deps, spec: ReleaseSpec, rows: readonly ReplicaRow[]): Promise<string> {
  const { config } = deps;
  const seconds = `${config.releaseTimeoutSeconds} s`;
  const within = `within ${seconds}`;
  const late = rows.find((row) => row.state !== 'ready');
  if (!late) return `the release was not ready ${within}`;
  if (late.task_id === null) {
    const hint = late.exit_detail === '' ? 'is a worker running that reaches the swarm?' : late.exit_detail;
    return `replica ${late.position} was not started ${within}: ${hint}`;
  }
  if (late.port === null) return `replica ${late.position} was started only after ${seconds}`;
  if (isDataKind(spec.kind)) {
    const output = await lastOutput(deps, spec, late.task_id);
    const said = output.length === 0 ? '' : `; its last output: ${output.slice(-5).join(' | ')}`;
    return `the server accepted no connections ${within}${said}`;
  }
  const path = spec.configuration.healthCheckPath;
  const health = await checkHealth({
    address: late.address,
    port: late.port,
    path,
    host: `${spec.slug}.${config.edgeDomain}`,
  });
  if (health.healthy) return `replica ${late.position} answered only after ${seconds}`;
  if (health.kind === 'bad-answer') return `${health.answer} (replica ${late.position}, ${within})`;
  const port = containerPort(spec);
  return `nothing answered on port ${port} (PORT) ${within}: ${health.answer}; does the application listen on 0.0.0.0 and that port?`;
}
