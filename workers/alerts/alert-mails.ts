import { alertTitle, ruleText, valueText } from '../../shared/alerts/model.js';
import type { Config } from '../../shared/core/config.js';
import { errorMessage } from '../../shared/core/error-registry.js';
import { localTime, type Mail } from '../../shared/core/mail.js';
import { workspaceConfiguration } from '../../shared/workspaces/model.js';
import { concurrently } from '../core/concurrently.js';
import type { JobDeps } from '../worker-deps.js';
import { claimMails, type DueMail, endMails } from './alert-store.js';

type AlertMailDeps = Pick<JobDeps, 'db' | 'mailer' | 'log'> & { config: Pick<Config, 'publicUrl'> };

/** Maximum number of workspaces per run, so that a hung mail server delays a run only by a minute or two. */
const BATCH = 20;
const AT_ONCE = 4;
/** The last try is about a day after the first. */
const MAX_TRIES = 30;
const MAX_DESCRIBED = 20;

/** Sends one mail per workspace about the current state of its changed alerts. A crash may cause a second mail. */
export async function sendAlertMails(deps: AlertMailDeps): Promise<void> {
  const due = await claimMails(deps.db, BATCH);
  const workspaces = new Set(due.map((row) => row.workspace_id));
  const mailsOf = (id: string) => due.filter((row) => row.workspace_id === id);
  await concurrently([...workspaces], AT_ONCE, (id) => sendMail(deps, mailsOf(id)));
}

async function sendMail({ db, mailer, log, config }: AlertMailDeps, rows: readonly DueMail[]): Promise<void> {
  try {
    const mail = alertMail(rows, config);
    if (mail !== null) await mailer.send(mail);
    await endMails(db, rows);
  } catch (error) {
    const workspaceId = rows[0]?.workspace_id;
    log.warn({ workspaceId }, `a mail about alerts could not be sent: ${errorMessage(error)}`);
    const givenUp = rows.filter(({ tries }) => tries >= MAX_TRIES);
    await endMails(db, givenUp);
  }
}

function alertMail(rows: readonly DueMail[], { publicUrl }: Pick<Config, 'publicUrl'>): Mail | null {
  const [first] = rows;
  if (first === undefined) return null;
  const { notificationEmail: to, timezone } = workspaceConfiguration(first.workspace_configuration);
  if (to === '') return null;
  const title = (row: DueMail) => alertTitle(row.metric, row.service_name, row.status === 'firing');
  const described = rows
    .slice(0, MAX_DESCRIBED)
    .flatMap((row) => [
      `${title(row)}.`,
      `Rule: ${ruleText({ metric: row.metric, above: row.above, forMinutes: row.for_minutes })}`,
      ...(row.value === null ? [] : [`Value: ${valueText(row.metric, row.value)}`]),
      ...(row.since === null ? [] : [`Since: ${localTime(row.since, timezone)}`]),
      '',
    ]);
  const more = rows.length - MAX_DESCRIBED;
  return {
    to,
    subject: rows.length === 1 ? title(first) : `${rows.length} alerts of ${first.workspace_name}`,
    text: [
      ...described,
      ...(more > 0 ? [`${more} more changed.`, ''] : []),
      `${publicUrl}/w/${first.workspace_id}/settings/alerts`,
      '',
    ].join('\n'),
  };
}
