import type { Db } from '../../shared/core/database/database-client.js';
import { prepare, rowOfPrepared } from '../../shared/core/database/prepared.js';
import { DEPLOYMENT_COLUMNS, type DeploymentRow } from '../../shared/deployments/rows.js';
import type { ImageRow } from '../../shared/images/model.js';
import type { ServiceRow } from '../../shared/services/rows.js';
import type { SnapshotRow } from '../../shared/variables/snapshot-store.js';

const SERVICE = [
  'id',
  'workspace_id',
  'environment_id',
  'kind',
  'name',
  'slug',
  'user_number',
  'configuration',
  'scaled_replicas',
] as const satisfies readonly (keyof ServiceRow)[];
const IMAGE = ['id', 'digest', 'manifest'] as const satisfies readonly (keyof ImageRow)[];
const SNAPSHOT = ['id', 'sealed', 'data_references'] as const satisfies readonly (keyof SnapshotRow)[];

export type DeployedService = Pick<ServiceRow, (typeof SERVICE)[number]>;

/** A record is null if it is missing, or if the service was deleted. */
export interface DeploymentParts {
  deployment: DeploymentRow;
  service: DeployedService | null;
  image: Pick<ImageRow, (typeof IMAGE)[number]> | null;
  snapshot: Pick<SnapshotRow, (typeof SNAPSHOT)[number]> | null;
  hasVolumes: boolean;
  /**
   * True if another service in the same private network has the service's name as its name or slug. The service then
   * gets no alias, which would be ambiguous.
   */
  sharesName: boolean;
}

function partsSql(from: string): string {
  const columns = (table: string, names: readonly string[]) =>
    names.map((name) => `${table}.${name} as "${table}.${name}"`).join(', ');
  const own = DEPLOYMENT_COLUMNS.map((name) => `d.${name}`).join(', ');
  return `select ${own}, ${columns('service', SERVICE)}, ${columns('image', IMAGE)}, ${columns('snapshot', SNAPSHOT)},
      exists (select from volumes v where v.service_id = d.service_id and v.removed_at is null) as has_volumes,
      exists (select from services other where other.workspace_id = service.workspace_id and other.id <> service.id
                 and other.environment_id is not distinct from service.environment_id and other.deleted_at is null
                 and lower(service.name) in (other.slug, lower(other.name))) as shares_name
    from ${from} d
    left join services service on service.id = d.service_id and service.deleted_at is null
    left join images image on image.id = d.image_id
    left join snapshots snapshot on snapshot.id = d.snapshot_id`;
}

function partsOf(row: Record<string, unknown>): DeploymentParts {
  const own = Object.fromEntries(DEPLOYMENT_COLUMNS.map((name) => [name, row[name]]));
  const part = (table: string, names: readonly string[]) =>
    row[`${table}.id`] === null ? null : Object.fromEntries(names.map((name) => [name, row[`${table}.${name}`]]));
  return {
    deployment: own,
    service: part('service', SERVICE),
    image: part('image', IMAGE),
    snapshot: part('snapshot', SNAPSHOT),
    hasVolumes: row.has_volumes,
    sharesName: row.shares_name,
  } as unknown as DeploymentParts;
}

const PARTS = prepare<Record<string, unknown>>(`${partsSql('deployments')} where d.id = $1`);

/** Returns a deployment with its parts, by one query; undefined if the deployment does not exist. */
export async function deploymentParts(db: Db, id: string): Promise<DeploymentParts | undefined> {
  const row = await rowOfPrepared(db, PARTS, [id]);
  return row === null ? undefined : partsOf(row);
}
