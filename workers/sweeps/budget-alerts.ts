import type { Db } from '../../shared/core/database/database-client.js';
import { errorMessage } from '../../shared/core/error-registry.js';
import type { Logger } from '../../shared/core/log.js';
import type { Mail, Mailer } from '../../shared/core/mail.js';
import { localTime } from '../../shared/core/mail.js';
import {
  budgetUsedPercent,
  monthlyCost,
  type PricedService,
  reachedThresholds,
} from '../../shared/workspaces/billing.js';
import {
  type AlertedWorkspace,
  claimAlert,
  markAlertSent,
  workspacesWantingAlerts,
} from '../../shared/workspaces/budget-alert-store.js';
import { workspaceConfiguration } from '../../shared/workspaces/model.js';
import { pricedServices } from '../../shared/workspaces/plan-usage.js';

export interface BudgetAlertDeps {
  db: Db;
  mailer: Mailer;
  log: Logger;
}

export interface BudgetAlert {
  threshold: number;
  mail: Mail;
}

/** Mails workspaces whose estimated costs reach a threshold of their budget, once a month (UTC). */
export async function sendBudgetAlerts(deps: BudgetAlertDeps): Promise<string[]> {
  const done: string[] = [];
  for (const workspace of await workspacesWantingAlerts(deps.db)) {
    const services = await pricedServices(deps.db, workspace.id);
    for (const alert of budgetAlerts(workspace, services, new Date())) {
      if (await sendAlert(deps, workspace.id, alert)) {
        done.push(`mailed workspace ${workspace.id} that ${alert.threshold} % of its budget is reached`);
      }
    }
  }
  return done;
}

/** Returns the alerts for a workspace's costs at `now`, including those already sent this month. */
export function budgetAlerts(
  workspace: AlertedWorkspace,
  services: readonly PricedService[],
  now: Date,
): BudgetAlert[] {
  const { currency, budget } = workspaceConfiguration(workspace.configuration);
  const cost = monthlyCost(services, currency);
  return reachedThresholds(cost, budget).map((threshold) => ({
    threshold,
    mail: alertMail(workspace, threshold, cost, now),
  }));
}

/** Returns true if the alert was sent. The database decides which of several workers sends it. */
async function sendAlert(
  { db, mailer, log }: BudgetAlertDeps,
  workspaceId: string,
  { threshold, mail }: BudgetAlert,
): Promise<boolean> {
  const tries = await claimAlert(db, workspaceId, threshold);
  if (tries === null) return false;
  try {
    const sent = await mailer.send(mail);
    if (sent) await markAlertSent(db, workspaceId, threshold);
    return sent;
  } catch (error) {
    const facts = { workspaceId, threshold, tries };
    log.warn(facts, `a budget alert could not be sent, it is tried again: ${errorMessage(error)}`);
    return false;
  }
}

function alertMail(workspace: AlertedWorkspace, threshold: number, cost: number, now: Date): Mail {
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
      `This is the estimate of ${localTime(now, timezone)}.`,
      '',
      consequence,
      '',
    ].join('\n'),
  };
}
