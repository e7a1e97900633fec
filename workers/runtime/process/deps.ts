import type { Config } from '../../../shared/config.js';
import type { Db } from '../../../shared/db/client.js';
import type { Listener } from '../../../shared/db/listener.js';
import type { ReplicaRow } from '../../../shared/db/rows.js';
import { credentialsOf } from '../../../shared/domain/source.js';
import type { Logger } from '../../../shared/log.js';
import { Masker } from '../../../shared/secrets/mask.js';
import type { DetachedProcess, Sandbox } from '../../sandbox/sandbox.js';
import type { ReleaseSpec } from '../driver.js';
import type { RuntimeLogs } from './log-tail.js';

/** What the process runtime works with. */
export interface ProcessRuntimeDeps {
  db: Db;
  listener: Listener;
  sandbox: Sandbox;
  config: Config;
  log: Logger;
  /** Names this host in the `replicas` table, and its supervisor's lock. */
  hostId: string;
  /** A release as its deployment's snapshot describes it; called whenever a replica starts. */
  loadRelease: (deploymentId: string) => Promise<ReleaseSpec>;
  logs: RuntimeLogs;
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

/** Hides the values of a service's own variables and its repository's password; what the image says itself is no secret. */
export function maskerOf(spec: ReleaseSpec): Masker {
  const own = Object.entries(spec.environment).filter(
    ([name, value]) => spec.image.manifest.environment[name] !== value,
  );
  return new Masker([...own.map(([, value]) => value), ...credentialsOf(spec.configuration.repository)]);
}
