import type { Db } from '../core/database/client.js';
import { prepare, rowOfPrepared } from '../core/database/prepared.js';
import { CLAIM } from '../engine/leases.js';
import type { ImageRow } from '../images/model.js';
import type { ServiceRow } from '../services/rows.js';
import type { SnapshotRow } from '../variables/snapshot-store.js';
import { DEPLOYMENT_COLUMNS, type DeploymentRow } from './rows.js';

const SERVICE = [
  'id',
  'workspace_id',
  'environment_id',
  'kind',
  'slug',
  'user_number',
  'configuration',
  'scaled_replicas',
] as const satisfies readonly (keyof ServiceRow)[];
const IMAGE = ['id', 'digest', 'manifest'] as const satisfies readonly (keyof ImageRow)[];
const SNAPSHOT = ['id', 'sealed', 'data_references'] as const satisfies readonly (keyof SnapshotRow)[];

/** The columns of a service that its deployments need. */
export type DeployedService = Pick<ServiceRow, (typeof SERVICE)[number]>;

/** A deployment and the records that its steps need. A record that does not exist, and a deleted service, is null. */
export interface DeploymentParts {
  deployment: DeploymentRow;
  service: DeployedService | null;
  image: Pick<ImageRow, (typeof IMAGE)[number]> | null;
  snapshot: Pick<SnapshotRow, (typeof SNAPSHOT)[number]> | null;
}

/** SQL: the deployments `d` of `from` with their parts. */
function partsSql(from: string): string {
  const columns = (table: string, names: readonly string[]) =>
    names.map((name) => `${table}.${name} as "${table}.${name}"`).join(', ');
  const own = DEPLOYMENT_COLUMNS.map((name) => `d.${name}`).join(', ');
  return `select ${own}, ${columns('service', SERVICE)}, ${columns('image', IMAGE)}, ${columns('snapshot', SNAPSHOT)}
    from ${from} d
    left join services service on service.id = d.service_id and service.deleted_at is null
    left join images image on image.id = d.image_id
    left join snapshots snapshot on snapshot.id = d.snapshot_id`;
}

/** Sorts the columns of a row into its parts. */
function partsOf(row: Record<string, unknown>): DeploymentParts {
  const own = Object.fromEntries(DEPLOYMENT_COLUMNS.map((name) => [name, row[name]]));
  const part = (table: string, names: readonly string[]) =>
    row[`${table}.id`] === null ? null : Object.fromEntries(names.map((name) => [name, row[`${table}.${name}`]]));
  return {
    deployment: own,
    service: part('service', SERVICE),
    image: part('image', IMAGE),
    snapshot: part('snapshot', SNAPSHOT),
  } as unknown as DeploymentParts;
}

const PARTS = prepare<Record<string, unknown>>(`${partsSql('deployments')} where d.id = $1`);

/** A deployment with its parts, or undefined. */
export async function deploymentParts(db: Db, id: string): Promise<DeploymentParts | undefined> {
  const row = await rowOfPrepared(db, PARTS, [id]);
  return row === null ? undefined : partsOf(row);
}

export interface Claim {
  workerId: string;
  /** True if the last holder hung or crashed with the deployment. The claim counts that. */
  faulty: boolean;
  /** If false, a deployment with which a worker has hung or crashed is not claimed. */
  suspects: boolean;
}

const CLAIMED = prepare<Record<string, unknown>>(
  `with claimed as (
     update deployments d
        set takeovers = takeovers + case when worker_id is null then 0 else 1 end,
            worker_faults = worker_faults + case when $3 then 1 else 0 end,
            blocked_reason = '', due_at = null, started_at = coalesce(started_at, now()), ${CLAIM.replace(':workerId', '$2')}
      where id = $1 and finished_at is null and admitted_at is not null and ($4 or worker_faults = 0)
      returning ${DEPLOYMENT_COLUMNS.map((name) => `d.${name}`).join(', ')}
   ) ${partsSql('claimed')}`,
);

/**
 * Claims a deployment: raises its fence, so that the last holder can change nothing more, and counts a takeover if that
 * holder had not released it. Its job is no longer due. Undefined if it has ended or may not run yet.
 */
export async function claimDeployment(
  db: Db,
  id: string,
  { workerId, faulty, suspects }: Claim,
): Promise<DeploymentParts | undefined> {
  const row = await rowOfPrepared(db, CLAIMED, [id, workerId, faulty, suspects]);
  return row === null ? undefined : partsOf(row);
}
