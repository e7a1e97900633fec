import { escapeControls } from '../../shared/core/plain-text.js';
import type { DeliveryContent, WebhookEvent } from '../../shared/webhooks/model.js';

/** What a person in a chat reads of an event. Texts are plain: no chat makes a mention or a link of them. */
export interface Notice {
  title: string;
  /** Lines below the title; may be empty. */
  text: string;
  tone: 'good' | 'bad' | 'warning';
  /** The page of the console, and the only link of a message. */
  link: string;
  at: Date;
}

type Data = DeliveryContent['data'];

interface Wording {
  tone: Notice['tone'];
  title: (data: Data) => string;
  /** The path of the page in the console, below the workspace's. */
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
};

/** Returns what a chat shows of an event. `publicUrl` is the address of the console. */
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
    ['Estimated costs', budget === undefined ? undefined : `${cost} of ${budget} ${currency} a month`],
  ];
  const shown = facts.filter(([, value]) => value !== undefined && value !== null && value !== '');
  return [...(error ? [String(error)] : []), ...shown.map(([name, value]) => `${name}: ${value}`)];
}

/**
 * Returns a text of which no chat makes a mention or a link: an invisible space parts what would be one. Control
 * characters, which could disguise it, are written out.
 */
function inert(text: string): string {
  const lines = text.replace(/\t/g, ' ').split('\n').map(escapeControls);
  return lines.join('\n').replace(/@/g, '@\u200b').replace(/:\/\//g, ':\u200b//');
}
