import { type Config, serviceUrl } from '../../shared/core/config.js';
import { errorMessage } from '../../shared/core/error-registry.js';
import { localTime, type Mail } from '../../shared/core/mail.js';
import { workspaceConfiguration } from '../../shared/workspaces/model.js';
import { concurrently } from '../core/concurrently.js';
import type { JobDeps } from '../worker-deps.js';
import { recipientOf } from './model.js';
import { claimNotifications, type DeploymentEnd, deleteNotification } from './store.js';

type AddressConfig = Pick<Config, 'edgeDomain' | 'edgePort' | 'edgeTls'>;

type DeploymentMailDeps = Pick<JobDeps, 'db' | 'mailer' | 'log'> & { config: AddressConfig };

/** Number of mails per run. If the mail server hangs, a run then takes minutes and not hours. */
const BATCH = 20;
const AT_ONCE = 4;
/** The pause between tries grows to an hour, so the last try is about a day after the first. */
const MAX_TRIES = 30;

/**
 * Sends mails about deployments that have ended, if the current settings ask for them. After a crash, a mail may be
 * sent twice.
 */
export async function sendDeploymentMails(deps: DeploymentMailDeps): Promise<void> {
  await concurrently(await claimNotifications(deps.db, BATCH), AT_ONCE, (end) => sendMail(deps, end));
}

async function sendMail({ db, mailer, log, config }: DeploymentMailDeps, end: DeploymentEnd): Promise<void> {
  const { deployment_id: deploymentId, tries } = end;
  try {
    const mail = deploymentMail(end, config);
    if (mail !== null) await mailer.send(mail);
    await deleteNotification(db, deploymentId);
  } catch (error) {
    const last = isLastTry(tries);
    const outlook = last ? 'it is not tried again' : 'it is tried again';
    log.warn({ deploymentId, tries }, `a notification could not be sent, ${outlook}: ${errorMessage(error)}`);
    if (last) await deleteNotification(db, deploymentId);
  }
}

/** Returns true if no further try follows. `tries` includes the failed try. */
export function isLastTry(tries: number): boolean {
  return tries >= MAX_TRIES;
}

const OUTCOMES = { live: 'is live', failed: 'failed', cancelled: 'was cancelled' } as const;

/** Returns the mail about the end of a deployment; null if the settings ask for none. */
export function deploymentMail(end: DeploymentEnd, config: AddressConfig): Mail | null {
  const workspace = workspaceConfiguration(end.workspace_configuration);
  const to = recipientOf(end, { service: end.service_configuration, workspace });
  if (to === null) return null;
  const outcome = `The deployment of ${end.service_name} ${OUTCOMES[end.status]}`;
  const facts = [
    ['Workspace', end.workspace_name],
    ['Service', end.service_name],
    ['Branch', end.branch],
    ['Commit', end.commit_sha],
    ['Queued by', end.actor],
    ['Ended', localTime(end.finished_at, workspace.timezone)],
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
