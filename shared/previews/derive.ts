import type { Transaction } from '../core/database/client.js';
import { AppError } from '../core/errors.js';
import type { CommandDeps } from '../secrets/command-deps.js';
import { copyAddress } from '../services/repository-address.js';
import type { ServiceRow } from '../services/rows.js';
import { getService, updateServiceRow } from '../services/store.js';
import type { VariablesOf } from '../variables/resolve.js';
import { previewConfiguration } from './model.js';
import { previewOf, touchPreview } from './store.js';

/** A service that is about to be deployed, and the variables for it. */
export interface Deployable {
  service: ServiceRow;
  variables: VariablesOf;
}

/**
 * Gives a preview the configuration of its service as it is now, and records that the preview changes; any other service is
 * left alone. The service is locked. Throws conflict if the preview cannot be deployed, service_archived.
 */
export async function derivePreview(
  trx: Transaction,
  { keyring }: Pick<CommandDeps, 'keyring'>,
  service: ServiceRow,
  branch: string | undefined,
): Promise<Deployable> {
  const preview = await previewOf(trx, service.id);
  if (!preview) return { service, variables: { serviceId: service.id, scope: 'production' } };
  if (branch !== undefined && branch !== preview.branch) {
    throw new AppError(
      'conflict',
      `The service is the preview of the branch ${preview.branch}; make another preview for the branch ${branch}`,
    );
  }
  const base = await getService(trx, preview.base_id);
  if (!base || base.lifecycle_status === 'deleting') {
    throw new AppError('conflict', 'The service of this preview is deleted, and the preview will be');
  }
  if (base.archived) throw new AppError('service_archived', 'The service of this preview is archived');
  if (base.configuration.previewMode === 'off') {
    throw new AppError('conflict', 'Previews of the service are switched off, and this one will be deleted');
  }
  const configuration = previewConfiguration(base.configuration, preview.branch);
  const sealed_repository = copyAddress(keyring, base, service.id);
  await updateServiceRow(trx, service.id, { configuration, sealed_repository });
  await touchPreview(trx, service.id);
  return {
    service: { ...service, configuration, sealed_repository },
    variables: { serviceId: base.id, scope: 'preview' },
  };
}
