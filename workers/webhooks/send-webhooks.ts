import { serviceUrl } from '../../shared/core/config.js';
import { errorMessage } from '../../shared/core/error-registry.js';
import { openFrom, SEALED } from '../../shared/secrets/sealed-columns.js';
import { isRouted, type ServiceKind } from '../../shared/services/model.js';
import {
  deliveryBody,
  pauseAfterAnswer,
  pauseAfterTry,
  resultOf,
  retryAfterMs,
  signatureOf,
} from '../../shared/webhooks/model.js';
import {
  type DueDelivery,
  recordTry,
  storeDeliveries,
  storeDelivery,
  takeDeliveries,
  workspacesWithBudgetWebhooks,
} from '../../shared/webhooks/store.js';
import { budgetUsedPercent, monthlyCost, reachedThresholds } from '../../shared/workspaces/billing.js';
import { workspaceConfiguration } from '../../shared/workspaces/model.js';
import { pricedServices } from '../../shared/workspaces/plan-usage.js';
import { concurrently } from '../core/concurrently.js';
import { chatBody } from './chat-bodies.js';
import { noticeOf } from './notice.js';
import { postJson, type SenderDeps } from './post-json.js';

const BATCH = 40;
/** Maximum number of deliveries of one workspace in a batch: its slow receivers must not delay other workspaces. */
const SHARE = 8;
const AT_ONCE = 8;
/** Maximum time for which a response's Retry-After delays all deliveries to the same receiver. */
const HOLD_MS = 60 * 60_000;
const MAX_OUTCOME_LENGTH = 200;

/** Stores deliveries for new events, and sends the deliveries that are due. A delivery is sent at least once. */
export async function sendWebhooks(deps: SenderDeps): Promise<void> {
  if (!(await storeDeliveries(deps.db))) return;
  const due = await takeDeliveries(deps.db, { most: BATCH, mostOfWorkspace: SHARE });
  await concurrently(due, AT_ONCE, (delivery) => send(deps, delivery));
}

async function send(deps: SenderDeps, delivery: DueDelivery): Promise<void> {
  const { db, keyring, log } = deps;
  try {
    const url = openFrom(keyring, SEALED.webhookUrl, delivery.webhook_id, delivery.sealed_url);
    const secret = openFrom(keyring, SEALED.webhookSecret, delivery.webhook_id, delivery.sealed_secret);
    const body = bodyOf(deps, delivery);
    const { status, retryAfter } = await postJson(deps, url, {
      body,
      headers: {
        'X-Ranvier-Event': delivery.event,
        'X-Ranvier-Delivery': delivery.id,
        'X-Ranvier-Signature': signatureOf(secret, body, new Date()),
      },
    });
    const waitMs = status === 429 || status === 503 ? retryAfterMs(retryAfter, new Date()) : 0;
    const againMs = resultOf(status) === 'again' ? pauseAfterAnswer(delivery.tries, waitMs) : null;
    await recordTry(db, delivery, { outcome: `answered with ${status}`, againMs, holdMs: Math.min(waitMs, HOLD_MS) });
  } catch (error) {
    const outcome = `not delivered: ${errorMessage(error)}`.slice(0, MAX_OUTCOME_LENGTH);
    log.debug({ webhookId: delivery.webhook_id, tries: delivery.tries }, outcome);
    await recordTry(db, delivery, { outcome, againMs: pauseAfterTry(delivery.tries) });
  }
}

function bodyOf(
  { config }: SenderDeps,
  { id, event, workspace_id: workspaceId, happened_at: happenedAt, format, data }: DueDelivery,
): string {
  const { slug, kind, ...shown } = data;
  const url = typeof slug === 'string' && isRouted(kind as ServiceKind) ? { url: serviceUrl(config, slug) } : {};
  const content = { id, event, workspaceId, happenedAt, data: { ...shown, ...url } };
  return format === 'json' ? deliveryBody(content) : chatBody(format, noticeOf(content, config.publicUrl));
}

/** Stores a budget alert for each threshold that a workspace's costs reach, once a month (UTC). */
export async function storeBudgetDeliveries({ db }: Pick<SenderDeps, 'db'>, now = new Date()): Promise<void> {
  for (const { id: workspaceId, name, configuration } of await workspacesWithBudgetWebhooks(db)) {
    const { currency, budget } = workspaceConfiguration(configuration);
    const cost = monthlyCost(await pricedServices(db, workspaceId), currency);
    for (const threshold of reachedThresholds(cost, budget)) {
      const subject = `${now.toISOString().slice(0, 7)} ${threshold}`;
      const usedPercent = budgetUsedPercent(cost, budget);
      const data = { workspaceName: name, threshold, cost, budget, currency, usedPercent };
      await storeDelivery(db, { workspaceId, event: 'budget.alert', subject, data });
    }
  }
}
