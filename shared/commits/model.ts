import { SKIPPED, skipsDeployment } from '../hooks/model.js';

/** What the database knows of a service's branch. */
export interface KnownCommits {
  /** The newest commit that was handled; null if none was. */
  head: string | null;
  /** The commit of the branch's latest deployment; null if there is none. */
  deployed: string | null;
  /** A waiting deployment has yet to find out which commit it deploys. */
  undecided: boolean;
}

/** `first`: nothing is known of the branch yet. `wait`: a deployment is about to find the newest commit. */
export type Novelty = 'known' | 'news' | 'first' | 'wait';

/** Returns whether the branch's newest commit still has to be handled. */
export function noveltyOf(commit: string, { head, deployed, undecided }: KnownCommits): Novelty {
  if (commit === head || commit === deployed) return 'known';
  if (undecided) return 'wait';
  return head === null && deployed === null ? 'first' : 'news';
}

/** What decides whether a new commit is deployed. */
export interface CommitFacts {
  autoDeploy: string;
  message: string;
  /** The files in which it differs from the last deployed commit; null if that is not known. */
  changed: readonly string[] | null;
  /** True if a file matters to the service: its path filters. */
  matters: (path: string) => boolean;
}

/** Returns why a new commit is not deployed, or null. */
export function reasonAgainst({ autoDeploy, message, changed, matters }: CommitFacts): string | null {
  if (autoDeploy !== 'commit') return 'autoDeploy of the service is off';
  if (skipsDeployment(message)) return SKIPPED;
  if (changed !== null && !changed.some(matters))
    return 'no changed file is one of includePaths, or all are of ignorePaths';
  return null;
}

/** Milliseconds between two polls of a repository. */
const POLL_MS = { unhooked: 60_000, hooked: 15 * 60_000, longest: 60 * 60_000 };

/** Returns when a repository is polled again, in milliseconds from now. Failures double the pause, up to an hour. */
export function pauseBeforePoll({ hooked, failures }: { hooked: boolean; failures: number }): number {
  const pause = hooked ? POLL_MS.hooked : POLL_MS.unhooked;
  return Math.max(pause, Math.min(POLL_MS.unhooked * 2 ** failures, POLL_MS.longest));
}

/** Returns when a repository is polled for the first time: its fingerprint spreads them over a minute. */
export function firstPoll(fingerprint: Buffer): number {
  return (fingerprint.readUInt32BE(0) % 60) * 1000;
}

/** Branches of a repository that are recorded for previews. Polling makes no previews of a repository with more. */
export const MAX_BRANCHES = 1000;
/** Previews that one poll of a repository asks for; the next poll asks for more. */
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
 * Compares the branches of a repository with the recorded ones. The first poll only records them, because enabling previews is no
 * reason to deploy every old branch. `own` is the branch that the service deploys.
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
