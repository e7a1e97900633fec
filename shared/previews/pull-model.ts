/** A pull request (GitLab: merge request) as reported by a git host. */
export interface PullReport {
  number: number;
  title: string;
  author: string;
  /** The source branch, without `refs/heads/`. */
  branch: string;
  /** The target branch. */
  target: string;
  headSha: string;
  fork: boolean;
  open: boolean;
  reopened: boolean;
  /** When the pull request changed, by the git host's clock; null if the report does not say. */
  at: Date | null;
  /** The ref by which the head commit can be fetched from the service's own repository, such as `refs/pull/7/head`. */
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
 * Returns true if a report is older than the stored state. Git hosts repeat and reorder reports, and their times are in
 * whole seconds. If a closed pull request is reported as open in the same second or without a time, only a report with
 * `reopened` counts.
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

/** Returns the status of a pull request. `waiting`: no member has approved or declined a fork's head commit. */
export function pullStatus({ open, fork, headSha, decision, decidedSha }: Omit<PullFacts, 'reportedAt'>): PullStatus {
  if (!open) return 'closed';
  if (!fork) return 'open';
  return decision === '' || decidedSha !== headSha ? 'waiting' : decision;
}

/** Maximum number of open pull requests stored per service. */
export const MAX_OPEN = 500;
/** Days for which a closed pull request is stored, so that a late report does not reopen it. */
export const CLOSED_KEPT_DAYS = 30;
/** Time from a failed creation of a preview to the next attempt. */
export const RETRY_SECONDS = 60;

export const MAX_TEXT_LENGTH = 200;
