import { type AlertMetric, alertTitle, ruleText, valueText } from '../../shared/alerts/model.js';
import { escapeControls } from '../../shared/core/plain-text.js';
import type { DeliveryContent, WebhookEvent } from '../../shared/webhooks/model.js';

/** The content of a chat message about an event, as plain text that no chat service interprets as mentions or links. */
export interface Notice {
  title: string;
  /** Lines below the title; '' for none. */
  text: string;
  tone: 'good' | 'bad' | 'warning';
  /** URL of the page in the console, the only link in the message. */
  link: string;
  at: Date;
}

type Data = DeliveryContent['data'];

interface Wording {
  tone: Notice['tone'];
  title: (data: Data) => string;
  /** The page in the console, relative to the workspace's path. */
  page: (data: Data) => string;
}

const ofService = ({ serviceId }: Data, rest = '') => `/s/${serviceId}${rest}`;

const WORDINGS: Readonly<Record<WebhookEvent, Wording>> = {
  'deployment.live': {
    tone: 'good',
    title: ({ serviceName }) => `The deployment of ${serviceName} is live`,
    page: (data) => ofService(data, `/d/${data.deploymentId}`),
  },
  'deployment.failed': {
    tone: 'bad',
    title: ({ serviceName }) => `The deployment of ${serviceName} failed`,
    page: (data) => ofService(data, `/d/${data.deploymentId}`),
  },
  'run.failed': {
    tone: 'bad',
    title: ({ serviceName }) => `A run of ${serviceName} failed`,
    page: (data) => ofService(data, `/runs/${data.runId}`),
  },
  'backup.failed': {
    tone: 'bad',
    title: ({ serviceName }) => `A backup of ${serviceName} failed`,
    page: (data) => ofService(data, '/backups'),
  },
  'budget.alert': {
    tone: 'warning',
    title: ({ workspaceName, threshold }) => `${workspaceName} has reached ${threshold} % of its budget`,
    page: () => '/settings/usage',
  },
  'alert.firing': {
    tone: 'bad',
    title: ({ metric, serviceName }) => alertTitle(metric as AlertMetric, String(serviceName), true),
    page: (data) => ofService(data, '/metrics'),
  },
  'alert.resolved': {
    tone: 'good',
    title: ({ metric, serviceName }) => alertTitle(metric as AlertMetric, String(serviceName), false),
    page: (data) => ofService(data, '/metrics'),
  },
};

/** Returns the chat message for an event. `publicUrl` is the URL of the console. */
export function noticeOf({ event, workspaceId, happenedAt, data }: DeliveryContent, publicUrl: string): Notice {
  const { tone, title, page } = WORDINGS[event];
  return {
    title: inert(title(data)),
    text: inert(linesOf(data).join('\n')),
    tone,
    link: `${publicUrl}/w/${workspaceId}${page(data)}`,
    at: happenedAt,
  };
}

function linesOf(data: Data): string[] {
  const { error, branch, commitSha, commitMessage, actor, exitCode, url, cost, budget, currency } = data;
  const commit = `${String(commitSha ?? '').slice(0, 7)} ${String(commitMessage ?? '').split('\n', 1)[0]}`.trim();
  const facts: [string, unknown][] = [
    ['Branch', branch],
    ['Commit', commit],
    ['Queued by', actor],
    ['Exit code', exitCode],
    ['Address', url],
    ...alertFacts(data),
    ['Estimated costs', budget === undefined ? undefined : `${cost} of ${budget} ${currency} a month`],
  ];
  const shown = facts.filter(([, value]) => value !== undefined && value !== null && value !== '');
  return [...(error ? [String(error)] : []), ...shown.map(([name, value]) => `${name}: ${value}`)];
}

function alertFacts({ alertId, metric, above, forMinutes, value }: Data): [string, unknown][] {
  if (alertId === undefined) return [];
  const rule = { metric: metric as AlertMetric, above: Number(above), forMinutes: Number(forMinutes) };
  return [
    ['Rule', ruleText(rule)],
    ['Value', value === null ? value : valueText(rule.metric, Number(value))],
  ];
}

/** Splits mentions and links with zero-width spaces. Escapes control characters, which could disguise text. */
function inert(text: string): string {
  const lines = text.replace(/\t/g, ' ').split('\n').map(escapeControls);
  return lines.join('\n').replace(/@/g, '@\u200b').replace(/:\/\//g, ':\u200b//');
}
