import { SourceError } from '../failures/explained-errors.js';

export interface ResolvedCommit {
  sha: string;
  message: string;
  /**
   * The repository's own default branch. Set only if the commit is from this branch, because the repository lacks the
   * branch that services use by default.
   */
  defaultBranch?: string;
}

export interface RepositoryRequest {
  /** The user and password in the stored URL are sent to the server and never shown. */
  url: string;
  /** The ref of a pull request that contains the commit, for servers that do not serve a commit by its id. */
  pullRef?: string;
  signal: AbortSignal;
}

export type FoundFile = { type: 'found'; text: string } | { type: 'missing' } | { type: 'tooLarge' };

/** Thrown if a repository has more branches than can be listed. */
export class TooManyBranches extends SourceError {}

/**
 * Reads repositories with git. Unsafe protocols, hooks, submodules, git's own redirects and injected options are
 * disabled. All methods throw `SourceError`; an abort kills git at once and rejects with the signal's reason.
 */
export interface RepositorySource {
  /**
   * Finds a commit by its id, or the newest commit of a branch or tag. If `ref` is the branch that services use by
   * default, and the repository lacks it, uses the repository's own default branch.
   */
  resolve(request: RepositoryRequest & { ref: string }): Promise<ResolvedCommit>;
  /** Writes the commit's files into an empty folder, without `.git` and submodules. Links are kept as they are. */
  checkout(request: RepositoryRequest & { sha: string; directory: string }): Promise<void>;
  /** Returns the newest commits of the given branches that exist, or of all branches. Throws `TooManyBranches`. */
  heads(request: RepositoryRequest & { branches: readonly string[] | 'all' }): Promise<Map<string, string>>;
  /** Returns at most 65,536 characters. */
  messageOf(request: RepositoryRequest & { sha: string }): Promise<string>;
  /** Returns the files in which two commits differ; null if `before` is gone, or if more than 5000 files differ. */
  changedPaths(request: RepositoryRequest & { before: string; after: string }): Promise<string[] | null>;
  /** Returns UTF-8 text. A symbolic link or a folder counts as missing. */
  fileOf(request: RepositoryRequest & { sha: string; path: string; maxBytes: number }): Promise<FoundFile>;
  /** Removes this host's mirrors that were unused for 30 days. Returns their number. */
  sweep(): Promise<number>;
}
