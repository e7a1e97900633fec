import { SKIPPED, skipsDeployment } from '../hooks/model.js';

/** The stored facts about a service's branch. */
export interface KnownCommits {
  /** The last commit that was handled; null if there is none. */
  head: string | null;
  /** The commit of the branch's last deployment; null if there is none. */
  deployed: string | null;
  /** True if an unfinished deployment of the branch has not determined yet which commit it deploys. */
  undecided: boolean;
}

/**
 * `first`: nothing is stored about the branch yet. `wait`: an unfinished deployment will itself look up the head commit
 * and deploy it.
 */
export type Novelty = 'known' | 'news' | 'first' | 'wait';

/** Returns whether the head commit of a branch still has to be handled. */
export function noveltyOf(commit: string, { head, deployed, undecided }: KnownCommits): Novelty {
  if (commit === head || commit === deployed) return 'known';
  if (undecided) return 'wait';
  return head === null && deployed === null ? 'first' : 'news';
}

/** Facts that decide whether a new commit is deployed automatically. */
export interface CommitFacts {
  autoDeploy: string;
  message: string;
  /** The files that differ between the new commit and the last deployed one; null if unknown. */
  changed: readonly string[] | null;
  /** Returns true if the service's path filters include a file. */
  matters: (path: string) => boolean;
}

/** Returns why a new commit is not deployed; null if it is. */
export function reasonAgainst({ autoDeploy, message, changed, matters }: CommitFacts): string | null {
  if (autoDeploy !== 'commit') return 'autoDeploy of the service is off';
  if (skipsDeployment(message)) return SKIPPED;
  if (changed !== null && !changed.some(matters))
    return 'no changed file is one of includePaths, or all are of ignorePaths';
  return null;
}

/**
 * Interval between polls of a repository, in milliseconds. `hooked`: a hook also reports its pushes. `unhooked`: no
 * hook does. `longest`: the maximum after failed polls.
 */
const POLL_MS = { unhooked: 60_000, hooked: 15 * 60_000, longest: 60 * 60_000 };

/**
 * Returns the delay until a repository's next poll, in milliseconds. This is the interval in `POLL_MS`. After failed
 * polls, it is at least one minute, doubled for each failure in a row, up to an hour.
 */
export function pauseBeforePoll({ hooked, failures }: { hooked: boolean; failures: number }): number {
  const pause = hooked ? POLL_MS.hooked : POLL_MS.unhooked;
  return Math.max(pause, Math.min(POLL_MS.unhooked * 2 ** failures, POLL_MS.longest));
}

/**
 * Returns the delay until a repository's first poll, in milliseconds. It depends on the repository's fingerprint, so
 * that first polls are spread over a minute.
 */
export function firstPoll(fingerprint: Buffer): number {
  return (fingerprint.readUInt32BE(0) % 60) * 1000;
}

/** Maximum number of recorded branches per repository. If a repository has more, polling creates no previews for it. */
export const MAX_BRANCHES = 1000;
/** Maximum number of previews that one poll of a repository requests. The next poll requests more. */
const MAX_NEW_PREVIEWS = 20;

export interface BranchNews {
  /** Branches that are new or have a new head commit, at most MAX_NEW_PREVIEWS. Empty at the first poll. */
  news: [branch: string, commit: string][];
  /** Branches to record: `news`; at the first poll, all other branches than the one that the service deploys. */
  noted: [branch: string, commit: string][];
  /** Recorded branches that are no longer in the repository. */
  gone: string[];
}

/**
 * Compares a repository's branches with the recorded ones. `own` is the branch that the service deploys. The first poll
 * only records branches: enabling previews must not deploy all existing branches.
 */
export function branchNews(
  heads: ReadonlyMap<string, string>,
  noted: ReadonlyMap<string, string>,
  { own, first }: { own: string; first: boolean },
): BranchNews {
  const others = [...heads].filter(([branch]) => branch !== own);
  const changed = others.filter(([branch, commit]) => noted.get(branch) !== commit);
  const gone = [...noted.keys()].filter((branch) => branch !== own && !heads.has(branch));
  if (first) return { news: [], noted: changed, gone };
  const news = changed.slice(0, MAX_NEW_PREVIEWS);
  return { news, noted: news, gone };
}
