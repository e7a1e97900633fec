import type { ReplicaRow } from '../../../shared/db/rows.js';
import type { DetachedProcess, Sandbox } from '../../sandbox/sandbox.js';
import type { ReplicaRuntimeDeps } from '../deps.js';

/** What the process runtime works with. */
export interface ProcessRuntimeDeps extends ReplicaRuntimeDeps {
  sandbox: Sandbox;
}

/** Names the sandbox of one attempt to run a replica. */
export function sandboxIdOf({ id, restarts }: { id: string; restarts: number }): string {
  return `${REPLICA_SANDBOX}${id}-${restarts}`;
}

/** Stands where no process was recorded: ending then goes by the sandbox's mark alone. */
export const NOBODY: DetachedProcess = { pid: 0, startedAt: '' };

/** The process of a replica as its row knows it. */
export function processOf(row: ReplicaRow): DetachedProcess {
  return { pid: row.pid ?? NOBODY.pid, startedAt: row.pid_started ?? NOBODY.startedAt };
}

/** Sandboxes with this prefix are the supervisor's to end where nobody wants them. */
export const REPLICA_SANDBOX = 'replica-';
/** Sandboxes, and folders beside the replicas', of single commands. */
export const COMMAND_SANDBOX = 'command-';
