import type { Knex } from 'knex';
import type { Db } from './client.js';
import { fetchPage, type Page, type PageRequest } from './page.js';
import type { DeploymentRow, OperationRow } from './rows.js';

/** A deployment with what `canRollback` needs: it went live, its image is kept, the service may be deployed. */
export type DeploymentView = DeploymentRow & { can_rollback: boolean };

const CAN_ROLLBACK = `(d.status = 'live' and i.id is not null and i.removed_at is null
  and not s.archived and s.lifecycle_status not in ('deleting', 'deleted')) as can_rollback`;

function views(db: Db, serviceId: string): Knex.QueryBuilder<DeploymentView> {
  return db('deployments as d')
    .join('services as s', 's.id', 'd.service_id')
    .leftJoin('images as i', 'i.id', 'd.image_id')
    .where('d.service_id', serviceId)
    .select('d.*', db.raw(CAN_ROLLBACK));
}

/** A deployment of this service. */
export async function findDeployment(db: Db, serviceId: string, id: string): Promise<DeploymentView | undefined> {
  return (await views(db, serviceId).where('d.id', id).first()) as DeploymentView | undefined;
}

/** A service's deployments, newest first. */
export async function listDeployments(db: Db, serviceId: string, page: PageRequest): Promise<Page<DeploymentView>> {
  return fetchPage(views(db, serviceId), 'd', page);
}

/** An operation of this service, also after its deletion. */
export async function findOperation(db: Db, serviceId: string, id: string): Promise<OperationRow | undefined> {
  return db<OperationRow>('operations').where({ id, service_id: serviceId }).first();
}

/** A service's operations, newest first. */
export async function listOperations(db: Db, serviceId: string, page: PageRequest): Promise<Page<OperationRow>> {
  const query: Knex.QueryBuilder<OperationRow> = db('operations').where({ service_id: serviceId }).select('*');
  return fetchPage(query, 'operations', page);
}
