import { escapeControls } from '../../shared/core/plain-text.js';
import { type DeploymentState, isTerminal, STEP_OF, type StepRecord } from '../../shared/deployments/model.js';

export interface DeploymentFacts {
  status: DeploymentState;
  error: string;
  steps: readonly Pick<StepRecord, 'name'>[];
  commitSha: string;
  /** URL of the deployment's page in the console. */
  link: string;
}

export interface ServiceFacts {
  name: string;
  slug: string;
  /** The service's public URL; null if the service has none or has no live release. */
  url: string | null;
}

/** Only GitLab has `running`; the other hosts get `pending` for it. */
export type ReportState = 'pending' | 'running' | 'success' | 'failure' | 'error';

export interface StatusReport {
  state: ReportState;
  description: string;
  context: string;
  link: string;
}

/** GitHub's limit, in characters. */
const MAX_DESCRIPTION_LENGTH = 140;

const STATES: Readonly<Record<DeploymentState, ReportState>> = {
  queued: 'pending',
  building: 'running',
  releasing: 'running',
  prepared: 'running',
  canary: 'running',
  withdrawn: 'running',
  switched: 'running',
  live: 'success',
  failed: 'failure',
  cancelled: 'error',
};

/** Returns the status for the commit that a deployment deploys. */
export function statusReport({ status, error, steps, link }: DeploymentFacts, slug: string): StatusReport {
  return {
    state: STATES[status],
    description: shortened(sentenceOf({ status, error, steps }), MAX_DESCRIPTION_LENGTH),
    context: `ranvier/${slug}`,
    link,
  };
}

const WORDS = { queued: 'Queued', build: 'Building', release: 'Releasing', canary: 'Canary' } as const;

function sentenceOf({ status, error, steps }: Pick<DeploymentFacts, 'status' | 'error' | 'steps'>): string {
  if (!isTerminal(status)) return WORDS[STEP_OF[status as keyof typeof STEP_OF]];
  if (status === 'live') return 'Live';
  if (status === 'cancelled') return 'Cancelled';
  const cause = escapeControls(error.split('\n', 1)[0] ?? '');
  return `${failedStep(steps)}${cause === '' ? '' : `: ${cause}`}`;
}

function failedStep(steps: DeploymentFacts['steps']): string {
  return `The step ${steps.at(-1)?.name ?? 'queued'} failed`;
}

/** The state of a GitHub deployment. */
export interface EnvironmentReport {
  state: 'queued' | 'in_progress' | 'success' | 'failure' | 'error' | 'inactive';
  description: string;
  environment: string;
  transient: boolean;
  link: string;
  url: string | null;
}

/** Returns what GitHub shows for a deployment. A live deployment is inactive once another one has replaced it. */
export function environmentReport(
  deployment: DeploymentFacts,
  { slug, url }: Pick<ServiceFacts, 'slug' | 'url'>,
  { preview, active }: { preview: boolean; active: boolean },
): EnvironmentReport {
  const { state, description, link } = statusReport(deployment, slug);
  const shown = { pending: 'queued', running: 'in_progress' } as const;
  return {
    state:
      state === 'success' && !active ? 'inactive' : state === 'pending' || state === 'running' ? shown[state] : state,
    description,
    environment: slug,
    transient: preview,
    link,
    url: state === 'success' && active ? url : null,
  };
}

export interface PreviewFacts {
  service: ServiceFacts;
  /** Why the preview is being closed; '' if it is not. */
  closedReason: string;
  deployment: DeploymentFacts | null;
  /** The last lines of the deployment's log, if it failed. */
  log: readonly string[];
}

const MAX_ERROR_LENGTH = 1000;
const MAX_LOG_LINE_LENGTH = 300;
const ICONS = { pending: '⏳', running: '⏳', success: '✅', failure: '❌', error: '⚪' } as const;

/** Returns the text of the comment on a pull request. The comment can later be found by `marker`. */
export function commentBody(preview: PreviewFacts | null, marker: string): string {
  return `${markerOf(marker)}\n${preview === null ? 'The preview of this pull request was deleted.' : shownPreview(preview)}\n`;
}

/** Returns the text by which a comment is found again. Git hosts do not display this text. */
export function markerOf(id: string): string {
  return `<!-- ranvier:${id} -->`;
}

function shownPreview({ service, closedReason, deployment, log }: PreviewFacts): string {
  const title = `**Preview** ${code(service.name)}`;
  if (closedReason !== '') return `${title} is being deleted: ${inert(closedReason)}.`;
  if (deployment === null) return `${title} has no deployment.`;
  const { status, error, steps, commitSha, link } = deployment;
  const state = STATES[status];
  const sentence = state === 'failure' ? failedStep(steps) : sentenceOf(deployment);
  const lines = [
    `${title}: ${ICONS[state]} ${sentence}`,
    '',
    ...(service.url === null ? [] : [`- Address: ${service.url}`]),
    `- Commit: ${code(commitSha.slice(0, 7))}`,
    `- [Deployment](${link})`,
  ];
  if (state === 'failure') lines.push('', block([shortened(error, MAX_ERROR_LENGTH)]));
  if (state === 'failure' && log.length > 0)
    lines.push('', 'The last lines of its log:', '', block(log.map((line) => shortened(line, MAX_LOG_LINE_LENGTH))));
  return lines.join('\n');
}

/** Returns the text as inline code in Markdown, in which git hosts recognize no mentions or links. */
function code(text: string): string {
  return `\`${escapeControls(text).replaceAll('`', "'")}\``;
}

function block(lines: readonly string[]): string {
  const text = lines
    .flatMap((line) => line.split('\n'))
    .map(escapeControls)
    .join('\n');
  const longest = Math.max(2, ...[...text.matchAll(/`+/g)].map(([run]) => run.length));
  const fence = '`'.repeat(longest + 1);
  return `${fence}text\n${text}\n${fence}`;
}

/** Returns a text with spaces in place of the characters that have a meaning in Markdown. */
function inert(text: string): string {
  return escapeControls(text).replace(/[[\]()<>*_`~@|\\]/g, ' ');
}

function shortened(text: string, most: number): string {
  const all = [...text];
  return all.length <= most ? text : `${all.slice(0, most - 1).join('')}…`;
}
