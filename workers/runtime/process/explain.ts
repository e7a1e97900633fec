import type { ReplicaRow } from '../../../shared/db/rows.js';
import type { ReleaseSpec } from '../driver.js';
import { checkHealth } from '../health.js';
import { maskerOf } from '../masker.js';
import { type ProcessRuntimeDeps, sandboxIdOf } from './deps.js';
import { ReplicaFiles } from './files.js';

type Deps = Pick<ProcessRuntimeDeps, 'sandbox' | 'config'>;

/** Why a replica that never was healthy has ended, with what it printed last. */
export async function explainExit({ config }: Deps, spec: ReleaseSpec, row: ReplicaRow): Promise<string> {
  const said = await new ReplicaFiles(config.dataDir, row.id).lastOutput();
  const masker = maskerOf(spec);
  const output = said.map((line) => masker.mask(line)).join('\n');
  const cause = `replica ${row.position} ${row.exit_detail}`;
  // A start that failed has no "before it was healthy": nothing of the application ever ran.
  if (row.exit_detail.startsWith('could not be started')) return cause;
  return `${cause} before it was healthy; ${output === '' ? 'it printed nothing' : `its last output: ${output}`}`;
}

/** Why a release is not healthy although its processes live: what the health check gets, and where they listen instead. */
export async function explainSilence(deps: Deps, spec: ReleaseSpec, rows: readonly ReplicaRow[]): Promise<string> {
  const { sandbox, config } = deps;
  const within = `within ${config.releaseTimeoutSeconds} s`;
  const late = rows.find((row) => row.state !== 'ready');
  if (!late || late.port === null || late.pid === null) {
    return `${late ? `replica ${late.position}` : 'the release'} was not started ${within}; is a worker running on this host?`;
  }
  const { healthCheckPath: path } = spec.configuration;
  const target = { address: late.address, port: late.port, path, host: `${spec.slug}.${config.edgeDomain}` };
  const health = await checkHealth(target);
  if (health.healthy) return `replica ${late.position} answered on port ${late.port} only after ${within.slice(7)}`;
  if (health.kind === 'bad-answer') return `${health.answer} (replica ${late.position}, ${within})`;
  const process = { pid: late.pid, startedAt: late.pid_started ?? '' };
  const ports = (await sandbox.listeningPorts(sandboxIdOf(late), process)) ?? [];
  const silence = `nothing answered on port ${late.port} (PORT) ${within}: ${health.answer}`;
  const elsewhere = ports.filter((port) => port !== late.port);
  if (ports.includes(late.port)) return silence;
  if (elsewhere.length === 0) return `${silence}; the process listens on no port`;
  return `${silence}; the process listens on port ${elsewhere.join(', ')} instead`;
}
