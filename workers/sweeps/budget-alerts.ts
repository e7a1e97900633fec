import {
  type AlertedWorkspace,
  markAlertSent,
  takeAlert,
  workspacesWantingAlerts,
} from '../../shared/db/budget-alerts.js';
import type { Db } from '../../shared/db/client.js';
import { pricedServices } from '../../shared/db/usage.js';
import { budgetUsedPercent, monthlyCost, reachedThresholds } from '../../shared/domain/billing.js';
import { localTime } from '../../shared/domain/time.js';
import { workspaceConfiguration } from '../../shared/domain/workspace.js';
import { errorMessage } from '../../shared/errors.js';
import type { Logger } from '../../shared/log.js';
import type { Mail, Mailer } from '../../shared/mail.js';

export interface BudgetAlertDeps {
  db: Db;
  mailer: Mailer;
  log: Logger;
}

/**
 * Mails each workspace whose estimated costs reach a threshold of its budget, once for a threshold and month (UTC). It
 * looks at what is stored now, so that it does not matter by which change the costs rose or the budget fell. Returns a
 * line for each mail.
 */
export async function sendBudgetAlerts(deps: BudgetAlertDeps): Promise<string[]> {
  const done: string[] = [];
  for (const workspace of await workspacesWantingAlerts(deps.db)) {
    const { currency, budget } = workspaceConfiguration(workspace.configuration);
    const cost = monthlyCost(await pricedServices(deps.db, workspace.id), currency);
    for (const threshold of reachedThresholds(cost, budget)) {
      if (await alert(deps, workspace, threshold, cost)) {
        done.push(`mailed workspace ${workspace.id} that ${threshold} % of its budget is reached`);
      }
    }
  }
  return done;
}

async function alert(
  { db, mailer, log }: BudgetAlertDeps,
  workspace: AlertedWorkspace,
  threshold: number,
  cost: number,
): Promise<boolean> {
  const tries = await takeAlert(db, workspace.id, threshold);
  if (tries === undefined) return false;
  try {
    const sent = await mailer.send(mailOf(workspace, threshold, cost));
    if (sent) await markAlertSent(db, workspace.id, threshold);
    return sent;
  } catch (error) {
    const facts = { workspaceId: workspace.id, threshold, tries };
    log.warn(facts, `a budget alert could not be sent, it is tried again: ${errorMessage(error)}`);
    return false;
  }
}

function mailOf(workspace: AlertedWorkspace, threshold: number, cost: number): Mail {
  const settings = workspaceConfiguration(workspace.configuration);
  const { notificationEmail, currency, budget, allowOverages, timezone } = settings;
  const consequence = allowOverages
    ? 'The workspace allows overages: deployments go on past the budget.'
    : 'Deployments that would take the estimate past the budget are refused.';
  return {
    to: notificationEmail,
    subject: `${workspace.name} has reached ${threshold} % of its budget`,
    text: [
      `The services of ${workspace.name} cost an estimated ${cost} ${currency} a month.`,
      `That is ${budgetUsedPercent(cost, budget)} % of its budget of ${budget} ${currency}.`,
      `This is the estimate of ${localTime(new Date(), timezone)}.`,
      '',
      consequence,
      '',
    ].join('\n'),
  };
}
