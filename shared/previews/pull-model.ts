/** A pull request (GitLab: merge request) as a git server reports it. */
export interface PullReport {
  number: number;
  title: string;
  author: string;
  /** The branch with the changes, without `refs/heads/`. */
  branch: string;
  /** The branch that the changes are for. */
  target: string;
  headSha: string;
  /** The branch is in another repository. */
  fork: boolean;
  open: boolean;
  /** The report says that a closed one was opened again. */
  reopened: boolean;
  /** When it changed, by the clock of the server; null if the report does not say. */
  at: Date | null;
  /** The ref of the service's own repository that has the commit. */
  ref: string;
}

/** The stored facts of a pull request. */
export interface PullFacts {
  fork: boolean;
  headSha: string;
  open: boolean;
  reportedAt: Date;
  decision: '' | 'approved' | 'declined';
  decidedSha: string;
}

/**
 * Returns true if a report is older than what is stored: servers repeat and reorder reports. Their clocks count whole seconds, so
 * of two reports of one second the one that closes wins, unless the other reopens.
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

/** Returns the status of a pull request. `waiting`: no member has decided about the newest commit of a fork. */
export function pullStatus({ open, fork, headSha, decision, decidedSha }: Omit<PullFacts, 'reportedAt'>): PullStatus {
  if (!open) return 'closed';
  if (!fork) return 'open';
  return decision === '' || decidedSha !== headSha ? 'waiting' : decision;
}

/** Open pull requests that are kept for one service. */
export const MAX_OPEN = 500;
/** How long a closed one is remembered, so that a late report does not open it again. */
export const CLOSED_KEPT_DAYS = 30;
/** The pause before a preview is tried again that could not be made, in seconds. */
export const RETRY_SECONDS = 60;

export const MAX_TEXT_LENGTH = 200;
