import { SKIPPED, skipsDeployment } from '../hooks/model.js';

/** What is known of a branch of a service. */
export interface KnownCommits {
  /** The newest commit that was looked at; null if none was. */
  head: string | null;
  /** The commit of the branch's latest deployment; null if there is none. */
  deployed: string | null;
  /** A deployment waits that has not looked yet which commit it deploys. */
  undecided: boolean;
}

/** `first`: nothing is known of the branch yet. `wait`: a deployment is about to look which commit is the newest. */
export type Novelty = 'known' | 'news' | 'first' | 'wait';

/** Whether the branch's newest commit still has to be handled. */
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

/** Why a new commit is not deployed, or null. */
export function reasonAgainst({ autoDeploy, message, changed, matters }: CommitFacts): string | null {
  if (autoDeploy !== 'commit') return 'autoDeploy of the service is off';
  if (skipsDeployment(message)) return SKIPPED;
  if (changed !== null && !changed.some(matters))
    return 'no changed file is one of includePaths, or all are of ignorePaths';
  return null;
}

/** Milliseconds between two polls of a repository. */
export const POLL_MS = { unhooked: 60_000, hooked: 15 * 60_000, longest: 60 * 60_000 };

/** When a repository is polled again, in milliseconds from now. Failures double the pause, up to an hour. */
export function pauseBeforePoll({ hooked, failures }: { hooked: boolean; failures: number }): number {
  const pause = hooked ? POLL_MS.hooked : POLL_MS.unhooked;
  return Math.max(pause, Math.min(POLL_MS.unhooked * 2 ** failures, POLL_MS.longest));
}

/** When a repository is polled for the first time: its fingerprint spreads them over a minute. */
export function firstPoll(fingerprint: Buffer): number {
  return (fingerprint.readUInt32BE(0) % 60) * 1000;
}
