import type { ReplicaRow } from '../../../shared/replicas/rows.js';
import type { ToolchainStore } from '../../builders/toolchains/toolchain-store.js';
import type { DataServices } from '../../data/data-services.js';
import type { DetachedProcess, Sandbox } from '../../sandbox/sandbox.js';
import type { ReplicaRuntimeDeps } from '../replica-runtime.js';
import type { ReleaseSpec } from '../runtime-driver.js';

/** What the process runtime works with. */
export interface ProcessRuntimeDeps extends ReplicaRuntimeDeps {
  sandbox: Sandbox;
  toolchains: Pick<ToolchainStore, 'restore'>;
  /** Prepares the servers of data services; absent or null if none are run. */
  data?: DataServices | null;
}

/** Prefix of the sandboxes of replicas. The supervisor ends those that no row names. */
export const REPLICA_SANDBOX = 'replica-';
/** Prefix of the sandboxes of single commands, and of their folders beside those of the replicas. */
export const COMMAND_SANDBOX = 'command-';

/** The name of the sandbox of one attempt to run a replica. */
export function sandboxIdOf({ id, restarts }: Pick<ReplicaRow, 'id' | 'restarts'>): string {
  return `${REPLICA_SANDBOX}${id}-${restarts}`;
}

/** Stands for a process that was not recorded. Its sandbox can still be ended by the mark on its processes. */
export const NOBODY: DetachedProcess = { pid: 0, startedAt: '' };

/** The process that the row of a replica names. */
export function processOf(row: ReplicaRow): DetachedProcess {
  return { pid: row.pid ?? NOBODY.pid, startedAt: row.pid_started ?? NOBODY.startedAt };
}

/** A replica that starts waits this long for tools that have to be installed again, in milliseconds. */
const RESTORE_MS = 5 * 60_000;

/** The folders of the tools with which a release was built. They are installed again if somebody removed them. */
export function toolsOf(
  { image }: Pick<ReleaseSpec, 'image'>,
  toolchains: ProcessRuntimeDeps['toolchains'],
  signal = AbortSignal.timeout(RESTORE_MS),
): Promise<string[]> {
  const { tools = [] } = image.manifest;
  return tools.length === 0 ? Promise.resolve([]) : toolchains.restore(tools, signal);
}
