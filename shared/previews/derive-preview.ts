import type { Transaction } from '../core/database/database-client.js';
import { AppError, conflict } from '../core/error-registry.js';
import type { CommandDeps } from '../secrets/command-deps.js';
import { SEALED } from '../secrets/sealed-columns.js';
import type { ServiceConfiguration } from '../services/configuration.js';
import { resealAddress } from '../services/repository-address.js';
import type { ServiceRow } from '../services/rows.js';
import { getService, updateServiceRow } from '../services/store.js';
import type { VariablesOf } from '../variables/resolve-variables.js';
import { previewConfiguration } from './model.js';
import { approvedCommit } from './pull-store.js';
import { type PreviewRow, previewOf, touchPreview } from './store.js';

export interface Deployable {
  service: ServiceRow;
  /** Null if the deployment gets no variables. */
  variables: VariablesOf | null;
  commitSha: string | undefined;
  /** A preview's branch, and the setting that says which databases the preview uses; null for any other service. */
  preview: { branch: string; databases: ServiceConfiguration['previewDatabases'] } | null;
}

/**
 * Returns what to deploy for a service. If it is a preview, first updates it to its base service's configuration. The
 * caller must hold the service's lock. Throws service_archived, and conflict if the preview cannot be deployed.
 */
export async function derivePreview(
  trx: Transaction,
  { keyring }: Pick<CommandDeps, 'keyring'>,
  service: ServiceRow,
  { branch, commitSha }: { branch?: string | undefined; commitSha?: string | undefined },
): Promise<Deployable> {
  const preview = await previewOf(trx, service.id);
  if (!preview) return { service, variables: { serviceId: service.id, scope: 'production' }, commitSha, preview: null };
  if (branch !== undefined && branch !== preview.branch) {
    throw conflict(
      `The service is the preview of the branch ${preview.branch}; make another preview for the branch ${branch}`,
    );
  }
  const base = await getService(trx, preview.base_id);
  if (!base || base.lifecycle_status === 'deleting') {
    throw conflict('The service of this preview is deleted, and the preview will be');
  }
  if (base.archived) throw new AppError('service_archived', 'The service of this preview is archived');
  if (base.configuration.previewMode === 'off') {
    throw conflict('Previews of the service are switched off, and this one will be deleted');
  }
  if (preview.closed_at !== null) {
    throw conflict(`The preview has come to its end and will be deleted: ${preview.closed_reason}`);
  }
  const configuration = previewConfiguration(base.configuration, preview);
  const { repository } = SEALED;
  const sealed_repository = resealAddress(keyring, { from: repository, row: base, to: repository, id: service.id });
  await updateServiceRow(trx, service.id, { configuration, sealed_repository });
  await touchPreview(trx, service.id);
  return {
    service: { ...service, configuration, sealed_repository },
    variables: preview.fork ? null : { serviceId: base.id, scope: 'preview' },
    commitSha: preview.fork ? await approved(trx, preview, commitSha) : commitSha,
    preview: { branch: preview.branch, databases: base.configuration.previewDatabases },
  };
}

/** A preview of a fork deploys only a commit that a member has approved. */
async function approved(
  trx: Transaction,
  { base_id, pull_number }: PreviewRow,
  wanted: string | undefined,
): Promise<string> {
  const commit = pull_number === null ? null : await approvedCommit(trx, base_id, pull_number);
  if (commit !== null && (wanted === undefined || wanted === commit)) return commit;
  throw conflict(
    `Pull request #${pull_number} is of a fork; approve its commit first (POST …/pull-requests/{id}/approve)`,
  );
}
