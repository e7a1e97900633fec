import { errorMessage } from '../../shared/core/error-registry.js';
import { localTime } from '../../shared/core/mail.js';
import type { ServiceRow } from '../../shared/services/rows.js';
import { workspaceConfiguration } from '../../shared/workspaces/model.js';
import { findWorkspace } from '../../shared/workspaces/store.js';
import { recipientOf } from '../notifications/model.js';
import type { JobDeps } from '../worker-deps.js';

/** Sends an e-mail about a failed backup, if the settings ask for e-mails about failures. Tries once, never throws. */
export async function mailFailedBackup(
  { db, mailer, log }: Pick<JobDeps, 'db' | 'mailer' | 'log'>,
  service: ServiceRow,
  cause: string,
): Promise<void> {
  try {
    const row = await findWorkspace(db, service.workspace_id);
    const workspace = workspaceConfiguration(row?.configuration ?? {});
    const { configuration } = service;
    const to = recipientOf(
      { status: 'failed', branch: configuration.branch, is_preview: false },
      { service: configuration, workspace },
    );
    if (to === null) return;
    await mailer.send({
      to,
      subject: `The backup of ${service.name} failed`,
      text: [
        `The backup of ${service.name} failed.`,
        '',
        cause,
        '',
        `Workspace: ${row?.name ?? ''}`,
        `Service: ${service.name}`,
        `Time: ${localTime(new Date(), workspace.timezone)}`,
        '',
        'Earlier backups that succeeded are kept. The next one is made at its usual time; POST …/backups makes one now.',
        '',
      ].join('\n'),
    });
  } catch (error) {
    log.warn({ serviceId: service.id }, `a mail about a failed backup could not be sent: ${errorMessage(error)}`);
  }
}
