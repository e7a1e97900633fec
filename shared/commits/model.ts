import { SKIPPED, skipsDeployment } from '../hooks/model.js';

/** What the database stores about a service's branch. */
export interface KnownCommits {
  /** The newest handled commit; null if there is none. */
  head: string | null;
  /** The commit of the branch's latest deployment; null if there is none. */
  deployed: string | null;
  /** True if a waiting deployment has not yet found out which commit it deploys. */
  undecided: boolean;
}

/** `first`: nothing is known about the branch yet. `wait`: a waiting deployment will find the newest commit itself. */
export type Novelty = 'known' | 'news' | 'first' | 'wait';

/** Returns whether the branch's newest commit must still be handled. */
export function noveltyOf(commit: string, { head, deployed, undecided }: KnownCommits): Novelty {
  if (commit === head || commit === deployed) return 'known';
  if (undecided) return 'wait';
  return head === null && deployed === null ? 'first' : 'news';
}

/** The facts that decide whether a new commit is deployed automatically. */
export interface CommitFacts {
  autoDeploy: string;
  message: string;
  /** The files that differ between the new commit and the last deployed one; null if unknown. */
  changed: readonly string[] | null;
  /** Returns true if a file matters to the service, according to its path filters. */
  matters: (path: string) => boolean;
}

/** Returns the reason not to deploy a new commit, or null. */
export function reasonAgainst({ autoDeploy, message, changed, matters }: CommitFacts): string | null {
  if (autoDeploy !== 'commit') return 'autoDeploy of the service is off';
  if (skipsDeployment(message)) return SKIPPED;
  if (changed !== null && !changed.some(matters))
    return 'no changed file is one of includePaths, or all are of ignorePaths';
  return null;
}

/**
 * Milliseconds between two polls of a repository: without or with a hook that reports its pushes, and after many
 * failures.
 */
const POLL_MS = { unhooked: 60_000, hooked: 15 * 60_000, longest: 60 * 60_000 };

/** Returns the wait until a repository's next poll, in milliseconds. Failures double it, up to an hour. */
export function pauseBeforePoll({ hooked, failures }: { hooked: boolean; failures: number }): number {
  const pause = hooked ? POLL_MS.hooked : POLL_MS.unhooked;
  return Math.max(pause, Math.min(POLL_MS.unhooked * 2 ** failures, POLL_MS.longest));
}

/**
 * Returns the wait until a repository's first poll. Depends on its fingerprint, so that first polls are spread over a
 * minute.
 */
export function firstPoll(fingerprint: Buffer): number {
  return (fingerprint.readUInt32BE(0) % 60) * 1000;
}

/**
 * The most branches of a repository that are recorded for previews. If it has more, polling makes no previews of it.
 */
export const MAX_BRANCHES = 1000;
/** The most previews that one poll of a repository requests. The next poll requests more. */
const MAX_NEW_PREVIEWS = 20;

export interface BranchNews {
  /** Branches that are new, or have another commit than the recorded one. */
  news: [branch: string, commit: string][];
  /** Branches to record: the news, or on the first poll all branches. */
  noted: [branch: string, commit: string][];
  /** Recorded branches that the repository no longer has. */
  gone: string[];
}

/**
 * Compares a repository's branches with the recorded ones. `own` is the branch that the service deploys. The first poll
 * only records branches: when previews are enabled, old branches must not all be deployed.
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
