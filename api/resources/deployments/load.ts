import type { Db } from '../../../shared/db/client.js';
import { type DeploymentView, findDeployment } from '../../../shared/db/deployment-views.js';
import { AppError } from '../../../shared/errors.js';

/** A deployment of this service. Throws not_found. */
export async function loadDeployment(db: Db, serviceId: string, id: string): Promise<DeploymentView> {
  const deployment = await findDeployment(db, serviceId, id);
  if (!deployment) throw new AppError('not_found');
  return deployment;
}
