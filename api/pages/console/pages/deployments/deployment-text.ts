import type { Deployment } from '../../api/types.js';

export const TRIGGER_TEXT: Readonly<Record<Deployment['trigger'], string>> = {
  manual: 'manual',
  api: 'API',
  create: 'service created',
  rollback: 'rollback',
  'clear-cache': 'build cache cleared',
  commit: 'new commit',
  schedule: 'schedule',
};

export function shortSha(sha: string): string {
  return sha.slice(0, 7);
}

/** Formats a commit: `4f2c1ab Fix the cart`. Returns the branch while the commit is unknown. */
export function commitText({ commitSha, commitMessage, branch }: Deployment): string {
  const [subject = ''] = commitMessage.split('\n');
  if (commitSha === '') return branch === '' ? 'Deployment' : branch;
  return `${shortSha(commitSha)} ${subject}`.trim();
}

const STEPS = ['queued', 'build', 'release', 'canary'] as const;
export type StepName = (typeof STEPS)[number];

export function hasCanary({ steps }: Deployment): boolean {
  return steps.some(({ name }) => name === 'canary');
}

export function stepsOf(deployments: readonly Deployment[]): readonly StepName[] {
  return STEPS.filter((name) => name !== 'canary' || deployments.some(hasCanary));
}

export const STEP_TEXT: Readonly<Record<StepName, string>> = {
  queued: 'Queued',
  build: 'Build',
  release: 'Release',
  canary: 'Canary',
};

/** Returns the median duration of a step in the last five successful deployments, in milliseconds. */
export function usualMs(name: StepName, others: readonly Deployment[]): number | null {
  const times = others
    .filter(({ status }) => status === 'live')
    .slice(0, 5)
    .flatMap(({ steps }) => steps.filter((step) => step.name === name && step.finishedAt !== null))
    .map(({ startedAt, finishedAt }) => Date.parse(finishedAt ?? startedAt) - Date.parse(startedAt))
    .sort((a, b) => a - b);
  return times[Math.floor(times.length / 2)] ?? null;
}
