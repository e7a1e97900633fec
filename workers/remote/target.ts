import { join } from 'node:path';
import { oneRow } from '../../shared/core/database/database-client.js';
import type { RemoteSessionRow } from '../../shared/remote/store.js';
import type { ReplicaRow } from '../replicas/rows.js';
import { processOf } from '../runtime/process/replica-sandbox.js';
import type { DetachedProcess, EntryCommand } from '../sandbox/sandbox.js';
import type { RemoteDeps } from './remote-deps.js';

export interface Target {
  replica: ReplicaRow;
  process: DetachedProcess;
  /** The image's working folder and user; null for an image without its own root file system. */
  image: NonNullable<EntryCommand['image']> | null;
}

/** Returns the replica that a session connects to; null if the replica has no process on this host. */
export async function targetOf(
  { db, hostId, sandbox, loadRelease }: RemoteDeps,
  session: RemoteSessionRow,
): Promise<Target | null> {
  const sql = 'select * from replicas where id = :id and host_id = :hostId';
  const replica = await oneRow<ReplicaRow>(db, sql, { id: session.replica_id, hostId });
  if (replica === null || replica.pid === null) return null;
  const process = processOf(replica);
  if (!(await sandbox.isAlive(process))) return null;
  const { image } = await loadRelease(replica.deployment_id, replica.run_id);
  const { process: own, workingDirectory } = image.manifest;
  return { replica, process, image: own === undefined ? null : { cwd: join('/', workingDirectory), user: own.user } };
}
