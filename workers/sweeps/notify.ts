import { type Config, serviceUrl } from '../../shared/config.js';
import type { Db } from '../../shared/db/client.js';
import { type DeploymentEnd, deleteNotification, takeNotifications } from '../../shared/db/notifications.js';
import { recipientOf } from '../../shared/domain/notification.js';
import { localTime } from '../../shared/domain/time.js';
import { workspaceConfiguration } from '../../shared/domain/workspace.js';
import { errorMessage } from '../../shared/errors.js';
import type { Logger } from '../../shared/log.js';
import type { Mail, Mailer } from '../../shared/mail.js';

export interface NotifyDeps {
  db: Db;
  mailer: Mailer;
  log: Logger;
  config: Pick<Config, 'edgeDomain' | 'edgePort' | 'edgeTls'>;
}

/** So many at a time: a mail server that hangs holds the sweep up for minutes, not for hours. */
const BATCH = 20;
/** With pauses that grow to an hour, about a day. */
const MOST_TRIES = 30;

/**
 * Tells people of deployments that ended, where the settings of this moment want it. At least once: a mail whose
 * sending was interrupted is sent again.
 */
export async function sendNotifications(deps: NotifyDeps): Promise<void> {
  for (const end of await takeNotifications(deps.db, BATCH)) await notify(deps, end);
}

async function notify({ db, mailer, log, config }: NotifyDeps, end: DeploymentEnd): Promise<void> {
  const to = recipientOf(end, {
    service: end.service_configuration,
    workspace: workspaceConfiguration(end.workspace_configuration),
  });
  try {
    if (to !== null) await mailer.send(mailOf(end, to, config));
    await deleteNotification(db, end.deployment_id);
  } catch (error) {
    const { deployment_id: deploymentId, tries } = end;
    const last = tries >= MOST_TRIES;
    const outlook = last ? 'it is given up' : 'it is tried again';
    log.warn({ deploymentId, tries }, `a notification could not be sent, ${outlook}: ${errorMessage(error)}`);
    if (last) await deleteNotification(db, deploymentId);
  }
}

const OUTCOMES = { live: 'is live', failed: 'failed', cancelled: 'was cancelled' } as const;

function mailOf(end: DeploymentEnd, to: string, config: NotifyDeps['config']): Mail {
  const { timezone } = workspaceConfiguration(end.workspace_configuration);
  const outcome = `The deployment of ${end.service_name} ${OUTCOMES[end.status]}`;
  const facts = [
    ['Workspace', end.workspace_name],
    ['Service', end.service_name],
    ['Branch', end.branch],
    ['Commit', end.commit_sha],
    ['Queued by', end.actor],
    ['Ended', localTime(end.finished_at, timezone)],
    ['Address', end.status === 'live' ? serviceUrl(config, end.service_slug) : ''],
    ['Deployment', end.deployment_id],
  ].filter(([, value]) => value !== '');
  const cause = end.error === '' ? [] : [end.error, ''];
  return {
    to,
    subject: outcome,
    text: [`${outcome}.`, '', ...cause, ...facts.map(([name, value]) => `${name}: ${value}`), ''].join('\n'),
  };
}
