import { limitsOf, planOf } from '../../../shared/services/catalog.js';
import { isDataKind } from '../../../shared/services/model.js';
import { withAdvice } from '../../failures/failure-advice.js';
import { socketsOfNamespace } from '../../network/listening-sockets.js';
import type { ReplicaRow } from '../../replicas/rows.js';
import { ANSWERS_BADLY, exitMessage, LISTENS_ELSEWHERE, LISTENS_NOWHERE, startAdvice } from '../failure-text.js';
import { checkHealth } from '../health-check.js';
import { maskerOf } from '../retained-release.js';
import type { ReleaseSpec } from '../runtime-driver.js';
import { portsOf } from './choose-port.js';
import { checkImage } from './image-check.js';
import { ReplicaFiles } from './replica-files.js';
import { type ProcessRuntimeDeps, processOf, sandboxIdOf } from './replica-sandbox.js';

type Deps = Pick<ProcessRuntimeDeps, 'sandbox' | 'config' | 'log'>;

/** Why a replica ended before it was ever ready, with its last output. */
export async function explainProcessExit({ config, log }: Deps, spec: ReleaseSpec, row: ReplicaRow): Promise<string> {
  return exitMessage(
    row,
    await lastOutput({ config, log }, spec, row),
    limitsOf(spec.kind, spec.configuration.plan).memoryMb,
  );
}

/** The last output of a replica, masked. */
async function lastOutput(
  { config, log }: Pick<Deps, 'config' | 'log'>,
  spec: ReleaseSpec,
  row: ReplicaRow,
): Promise<string[]> {
  const output = await new ReplicaFiles({ dataDir: config.dataDir, log }, row.id).lastOutput();
  const masker = maskerOf(spec);
  return output.map((line) => masker.mask(line));
}

/** Why a release is not ready in time although its processes live: the result of a health check, and other ports they use. */
export async function explainProcessSilence(
  { sandbox, config, log }: Deps,
  spec: ReleaseSpec,
  rows: readonly ReplicaRow[],
): Promise<string> {
  const seconds = `${config.releaseTimeoutSeconds} s`;
  const within = `within ${seconds}`;
  const late = rows.find((row) => row.state !== 'ready');
  if (!late || late.port === null || late.pid === null) {
    return `${late ? `replica ${late.position}` : 'the release'} was not started ${within}; is a worker running on this host?`;
  }
  if (isDataKind(spec.kind)) {
    const output = await lastOutput({ config, log }, spec, late);
    const said = output.length === 0 ? '' : `; its last output: ${output.slice(-5).join(' | ')}`;
    return `the server accepted no connections ${within}${said}`;
  }
  const { healthCheckPath: path } = spec.configuration;
  const target = { address: late.address, port: late.port, path, host: `${spec.slug}.${config.edgeDomain}` };
  const port = (await sandbox.allNetworks?.portBehind(late.address, late.port)) ?? late.port;
  const health = await checkHealth(target);
  const trouble = health.healthy ? await checkImage(sandbox, late, spec) : '';
  if (trouble !== '') return `${trouble} (replica ${late.position}, ${within})`;
  if (health.healthy) return `replica ${late.position} answered on port ${port} only after ${seconds}`;
  if (health.kind === 'bad-answer')
    return withAdvice(`${health.answer} (replica ${late.position}, ${within})`, ANSWERS_BADLY);
  const ports = sandbox.allNetworks?.owns(late.address)
    ? portsOf((await socketsOfNamespace(late.pid)) ?? [])
    : ((await sandbox.listeningPorts(sandboxIdOf(late), processOf(late))) ?? []);
  const silence = `nothing answered on port ${port} (PORT) ${within}: ${health.answer}`;
  if (ports.includes(port)) return silence;
  if (ports.length === 0) {
    const output = await lastOutput({ config, log }, spec, late);
    const advice = startAdvice('', output, planOf(spec.configuration.plan).memoryMb);
    return withAdvice(`${silence}; the process listens on no port`, advice ?? LISTENS_NOWHERE);
  }
  return withAdvice(`${silence}; the process listens on port ${ports.join(', ')} instead`, LISTENS_ELSEWHERE);
}
