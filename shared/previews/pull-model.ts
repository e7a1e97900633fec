/** A pull request (GitLab: merge request) as a git server reports it. */
export interface PullReport {
  number: number;
  title: string;
  author: string;
  /** The branch with the changes, without `refs/heads/`. */
  branch: string;
  /** The branch into which the changes go. */
  target: string;
  headSha: string;
  /** True if the branch is in another repository, a fork. */
  fork: boolean;
  open: boolean;
  /** True if the report says that a closed pull request was opened again. */
  reopened: boolean;
  /** When the pull request changed, on the server's clock; null if the report does not say. */
  at: Date | null;
  /** The ref in the service's own repository that has the commit. */
  ref: string;
}

export interface PullFacts {
  fork: boolean;
  headSha: string;
  open: boolean;
  reportedAt: Date;
  decision: '' | 'approved' | 'declined';
  decidedSha: string;
}

/**
 * Returns true if a report is older than what is stored: servers repeat and reorder reports.
 * Their clocks count whole seconds. If two reports are from one second, the one that closes takes precedence, unless
 * the other reopens.
 */
export function isStale(
  stored: Pick<PullFacts, 'open' | 'reportedAt'>,
  report: Pick<PullReport, 'open' | 'reopened' | 'at'>,
): boolean {
  const age = report.at === null ? 0 : stored.reportedAt.getTime() - report.at.getTime();
  if (age !== 0) return age > 0;
  return !stored.open && report.open && !report.reopened;
}

export const PULL_STATUSES = ['open', 'waiting', 'approved', 'declined', 'closed'] as const;
export type PullStatus = (typeof PULL_STATUSES)[number];

/** Returns the status of a pull request. `waiting`: no member has decided about a fork's newest commit. */
export function pullStatus({ open, fork, headSha, decision, decidedSha }: Omit<PullFacts, 'reportedAt'>): PullStatus {
  if (!open) return 'closed';
  if (!fork) return 'open';
  return decision === '' || decidedSha !== headSha ? 'waiting' : decision;
}

/** The most open pull requests that are kept for one service. */
export const MAX_OPEN = 500;
/** How long a closed pull request is kept, so that a late report does not open it again. */
export const CLOSED_KEPT_DAYS = 30;
/** How long until a preview that could not be made is tried again, in seconds. */
export const RETRY_SECONDS = 60;

export const MAX_TEXT_LENGTH = 200;
