import { SKIPPED, skipsDeployment } from '../hooks/model.js';

export interface KnownCommits {
  /** The last commit that was handled or seen; null if there is none. */
  head: string | null;
  /** True if the first poll saw `head`, and no report of it has been handled. */
  onlySeen: boolean;
  /** The commit of the branch's last deployment; null if there is none. */
  deployed: string | null;
  /** True if an unfinished deployment of the branch has not determined yet which commit it deploys. */
  undecided: boolean;
}

/** `first`: nothing is stored about the branch. `wait`: an unfinished deployment will deploy the head commit. */
export type Novelty = 'known' | 'news' | 'first' | 'wait';

/** Returns whether a head commit, found by a poll or reported by a hook, still has to be handled. */
export function noveltyOf(
  commit: string,
  { head, onlySeen, deployed, undecided }: KnownCommits,
  by: 'poll' | 'hook' = 'hook',
): Novelty {
  const isHandled = commit === head && (by === 'poll' || !onlySeen);
  if (isHandled || commit === deployed) return 'known';
  if (undecided) return 'wait';
  return head === null && deployed === null ? 'first' : 'news';
}

export interface CommitFacts {
  autoDeploy: string;
  message: string;
  /** The files that differ between the new commit and the last deployed one; null if unknown. */
  changed: readonly string[] | null;
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

/** Interval between polls of a repository. `hooked`: a hook also reports its pushes. `longest`: after failed polls. */
const POLL_MS = { unhooked: 60_000, hooked: 15 * 60_000, longest: 60 * 60_000 };

/** Returns the delay until a repository's next poll, in milliseconds. Failed polls lengthen it, up to an hour. */
export function pauseBeforePoll({ hooked, failures }: { hooked: boolean; failures: number }): number {
  const pause = hooked ? POLL_MS.hooked : POLL_MS.unhooked;
  return Math.max(pause, Math.min(POLL_MS.unhooked * 2 ** failures, POLL_MS.longest));
}

/** Returns the delay until a repository's first poll, in milliseconds. First polls are spread over a minute. */
export function firstPoll(fingerprint: Buffer): number {
  return (fingerprint.readUInt32BE(0) % 60) * 1000;
}

/** If a repository has more branches, polling creates no previews for it. */
export const MAX_BRANCHES = 1000;
/** Maximum number of previews that one poll of a repository requests. The next poll requests more. */
const MAX_NEW_PREVIEWS = 20;

export interface BranchNews {
  /** Branches that are new or have a new head commit, at most MAX_NEW_PREVIEWS. Empty at the first poll. */
  news: [branch: string, commit: string][];
  /**
   * Branches to record. At the first poll, these are all branches except the one that the service deploys. Later, they
   * are those in `news`.
   */
  noted: [branch: string, commit: string][];
  /** Recorded branches that are no longer in the repository. */
  gone: string[];
}

/**
 * Compares a repository's branches with the recorded ones. The first poll only records branches, because enabling
 * previews must not deploy all existing branches.
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
