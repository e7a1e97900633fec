import type { Transaction } from '../db/client.js';
import { cancelOpenDeployments, getDeployment } from '../db/deployments.js';
import { AppError } from '../errors.js';

/**
 * Requests the cancellation of a deployment (specification, Deployment status): once this has committed the deployment
 * cannot go live any more. Throws not_found, deployment_terminal.
 */
export async function requestCancel(
  trx: Transaction,
  { serviceId, deploymentId }: { serviceId: string; deploymentId: string },
): Promise<void> {
  if ((await cancelOpenDeployments(trx, { serviceId, deploymentId })) > 0) return;
  const deployment = await getDeployment(trx, deploymentId);
  if (deployment?.service_id !== serviceId) throw new AppError('not_found');
  throw new AppError('deployment_terminal', `The deployment cannot be cancelled any more: it is ${deployment.status}`);
}
