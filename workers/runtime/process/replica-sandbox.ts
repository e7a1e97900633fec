import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { planOf } from '../../../shared/services/plan-catalog.js';
import type { ToolchainStore } from '../../builders/toolchains/toolchain-store.js';
import type { DataServices } from '../../data/data-services.js';
import { IMAGES_MISSING, ReleaseError } from '../../failures/explained-errors.js';
import { scopeOf } from '../../network/network-model.js';
import type { ReplicaRow } from '../../replicas/rows.js';
import type { DetachedProcess, Sandbox, SandboxSpec } from '../../sandbox/sandbox.js';
import type { ReplicaRuntimeDeps } from '../replica-runtime-deps.js';
import type { ReleaseSpec } from '../runtime-driver.js';
import { startingCpu } from './decide-process-replica.js';

export interface ProcessRuntimeDeps extends ReplicaRuntimeDeps {
  sandbox: Sandbox;
  toolchains: Pick<ToolchainStore, 'restore'>;
  /** Absent or null if this worker runs no databases. */
  data?: DataServices | null;
}

/** The supervisor kills sandboxes with this prefix that belong to no database row. */
export const REPLICA_SANDBOX = 'replica-';

/** Returns the id of the sandbox of one attempt to run a replica. */
export function sandboxIdOf({ id, restarts }: Pick<ReplicaRow, 'id' | 'restarts'>): string {
  return `${REPLICA_SANDBOX}${id}-${restarts}`;
}

/** Stands for a process that was not recorded. Its sandbox can still be killed by the sandbox's id. */
export const UNRECORDED: DetachedProcess = { pid: 0, startedAt: '' };

/** Returns the process that is recorded in a replica's database row. */
export function processOf(row: ReplicaRow): DetachedProcess {
  return { pid: row.pid ?? UNRECORDED.pid, startedAt: row.pid_started ?? UNRECORDED.startedAt };
}

/** Timeout for reinstalling removed tools, for which a starting replica waits. */
const RESTORE_MS = 5 * 60_000;

/** Returns the folders of a release's tools. Reinstalls removed tools. */
export function toolsOf(
  { image }: Pick<ReleaseSpec, 'image'>,
  toolchains: ProcessRuntimeDeps['toolchains'],
  signal = AbortSignal.timeout(RESTORE_MS),
): Promise<string[]> {
  const { tools = [] } = image.manifest;
  return tools.length === 0 ? Promise.resolve([]) : toolchains.restore(tools, signal);
}

/** Minimum grace period of a replica with a volume, which must write its data before it ends. */
const SERVER_GRACE_MS = 30_000;

export function graceMsOf({ volume_id }: Pick<ReplicaRow, 'volume_id'>, stopGraceSeconds: number): number {
  return Math.max(stopGraceSeconds * 1000, volume_id === null ? 0 : SERVER_GRACE_MS);
}

/** Returns the host's folder with the files or the root file system of a release's image. */
export function imageFolder(dataDir: string, { image }: Pick<ReleaseSpec, 'image'>): string {
  return join(dataDir, 'images', image.digest, ...(image.manifest.process === undefined ? [] : ['rootfs']));
}

/** Returns the image's process, if any. Throws `ReleaseError` if this host cannot run such images. */
export function processOfImage({ image }: Pick<ReleaseSpec, 'image'>, sandbox: Sandbox): Pick<SandboxSpec, 'process'> {
  const { process } = image.manifest;
  if (process === undefined) return {};
  if (!sandbox.runsImages) throw new ReleaseError(IMAGES_MISSING);
  return { process };
}

/** Returns the sandbox specification for one attempt of a replica. */
export function replicaSandbox(
  row: ReplicaRow,
  spec: ReleaseSpec,
  place: Pick<SandboxSpec, 'image' | 'directory' | 'tools' | 'process' | 'volumes'> & { port: number | null },
): SandboxSpec {
  const { port, ...files } = place;
  const { manifest } = spec.image;
  const { memoryMb, cpu: cores, pids } = planOf(spec.configuration.plan);
  // Only a replica that was never ready may use more CPU than its plan allows. Otherwise an application that keeps
  // crashing would always use more.
  const isFirst = row.ready_at === null && row.run_id === null;
  const cpu = isFirst ? startingCpu(cores, availableParallelism()) : cores;
  return {
    id: sandboxIdOf(row),
    command: manifest.startCommand,
    ...files,
    cwd: manifest.workingDirectory,
    env: {
      ...spec.environment,
      RANVIER_SERVICE_ID: spec.serviceId,
      RANVIER_DEPLOYMENT_ID: spec.deploymentId,
      ...(port === null ? {} : { PORT: String(port) }),
      ...(row.run_id === null ? {} : { RANVIER_RUN_ID: row.run_id }),
    },
    userNumber: spec.userNumber,
    ...(row.run_id === null ? {} : { isRun: true }),
    limits: { memoryMb, cpu, pids },
    ...(port === null ? {} : { port }),
    // Runs are not reachable under the service's name.
    network: {
      ...{ scope: scopeOf(spec), use: 'application' },
      ...(row.run_id === null ? { hostName: spec.slug, alias: spec.alias ?? '' } : { hostName: '' }),
    },
  };
}
