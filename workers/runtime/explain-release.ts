import type { Config } from '../../shared/core/config.js';
import { isDataKind } from '../../shared/services/model.js';
import { limitsOf } from '../../shared/services/plan-catalog.js';
import { withAdvice } from '../failures/failure-advice.js';
import type { ReplicaRow } from '../replicas/rows.js';
import {
  ANSWERS_BADLY,
  exitMessage,
  LISTENS_ELSEWHERE,
  LISTENS_NOWHERE,
  neverRan,
  startAdvice,
} from './failure-text.js';
import { checkHealth } from './health-check.js';
import type { ReplicaHost } from './replica-host.js';
import type { ReleaseSpec } from './runtime-driver.js';

type Host = Pick<ReplicaHost, 'lastOutput' | 'ownPort' | 'listeningPorts' | 'imageTrouble'>;

/** Returns why a replica exited before it was ever ready, with its last output. */
export async function explainExit(host: Host, spec: ReleaseSpec, row: ReplicaRow): Promise<string> {
  const output = neverRan(row.exit_detail) ? [] : await host.lastOutput(row, spec);
  return exitMessage(row, output, limitsOf(spec.kind, spec.configuration.plan).memoryMb);
}

/** Returns why a release is not ready in time although none of its replicas has exited. */
export async function explainSilence(
  host: Host,
  { releaseTimeoutSeconds, edgeDomain }: Pick<Config, 'releaseTimeoutSeconds' | 'edgeDomain'>,
  spec: ReleaseSpec,
  rows: readonly ReplicaRow[],
): Promise<string> {
  const seconds = `${releaseTimeoutSeconds} s`;
  const within = `within ${seconds}`;
  const late = rows.find((row) => row.state !== 'ready');
  if (!late) return `the release was not ready ${within}`;
  const { position, address, port: reachedAt } = late;
  if (late.pid === null && late.task_id === null) {
    return `replica ${position} was not started ${within}: ${late.exit_detail || 'is a worker running on its host?'}`;
  }
  if (reachedAt === null) return `replica ${position} was started only after ${seconds}`;
  if (isDataKind(spec.kind)) {
    const output = await host.lastOutput(late, spec);
    const said = output.length === 0 ? '' : `; its last output: ${output.slice(-5).join(' | ')}`;
    return `the server accepted no connections ${within}${said}`;
  }
  const path = spec.configuration.healthCheckPath;
  const health = await checkHealth({ address, port: reachedAt, path, host: `${spec.slug}.${edgeDomain}` });
  const port = host.ownPort === undefined ? spec.configuration.port : ((await host.ownPort(late)) ?? reachedAt);
  if (health.healthy) {
    const trouble = (await host.imageTrouble?.(late, spec)) ?? '';
    if (trouble !== '') return `${trouble} (replica ${position}, ${within})`;
    return `replica ${position} answered on port ${port} only after ${seconds}`;
  }
  if (health.kind === 'bad-answer') {
    return withAdvice(`${health.answer} (replica ${position}, ${within})`, ANSWERS_BADLY);
  }
  const silence = `nothing answered on port ${port} (PORT) ${within}: ${health.answer}`;
  const ports = await host.listeningPorts?.(late);
  if (ports === undefined) return `${silence}; does the application listen on 0.0.0.0 and that port?`;
  if (ports.includes(port)) return silence;
  if (ports.length > 0) {
    return withAdvice(`${silence}; the process listens on port ${ports.join(', ')} instead`, LISTENS_ELSEWHERE);
  }
  const { memoryMb } = limitsOf(spec.kind, spec.configuration.plan);
  const advice = startAdvice('', await host.lastOutput(late, spec), memoryMb);
  return withAdvice(`${silence}; the process listens on no port`, advice ?? LISTENS_NOWHERE);
}
