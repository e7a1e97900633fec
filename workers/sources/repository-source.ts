import { SourceError } from '../failures/explained-errors.js';
export interface ResolvedCommit {
  sha: string;
  /** The commit's subject line. */
  message: string;
  /**
   * The repository's default branch, if it was used because the repository has no branch with the name that services
   * use by default.
   */
  defaultBranch?: string;
}

export interface RepositoryRequest {
  /** The stored address. Its user and password are used and never shown. */
  url: string;
  /** The ref of a pull request with the commit, for servers that serve no commit by its id. */
  pullRef?: string;
  signal: AbortSignal;
}

export interface WantedFile {
  sha: string;
  path: string;
  maxBytes: number;
}

export type FoundFile = { type: 'found'; text: string } | { type: 'missing' } | { type: 'tooLarge' };

/** Thrown if a repository has more branches than can be listed. */
export class TooManyBranches extends SourceError {}

/**
 * Reads repositories with the git command line. Unsafe protocols, hooks, submodules, redirects and injected options are
 * disabled. A bare mirror for each repository makes later clones fast. All methods throw `SourceError`; an abort ends
 * git at once and rejects with the signal's reason.
 */
export interface RepositorySource {
  /**
   * Returns the commit of a branch, tag or id (40 hex digits), with its message. If a repository lacks the branch that
   * services have by default, uses the repository's own default branch: many call it `master`.
   */
  resolve(request: RepositoryRequest & { ref: string }): Promise<ResolvedCommit>;
  /**
   * Writes the commit's files into an empty folder, without `.git` and without submodules. Links are kept as they are.
   */
  checkout(request: RepositoryRequest & { sha: string; directory: string }): Promise<void>;
  /**
   * Returns the newest commit of each of these branches that exists, or of all branches. Asks the repository once and
   * does not copy it. Throws `TooManyBranches` if all are wanted and cannot be listed.
   */
  heads(request: RepositoryRequest & { branches: readonly string[] | 'all' }): Promise<Map<string, string>>;
  /** Returns the whole message of a commit, at most 64 KiB. */
  messageOf(request: RepositoryRequest & { sha: string }): Promise<string>;
  /** Returns the files in which two commits differ; null if a commit is gone, or if more than 5000 files differ. */
  changedPaths(request: RepositoryRequest & { before: string; after: string }): Promise<string[] | null>;
  /**
   * Returns the text of a commit's file, as UTF-8. A link or a folder at the path is no file.
   */
  fileOf(request: RepositoryRequest & WantedFile): Promise<FoundFile>;
  /** Removes this host's mirrors that were unused for 30 days. Returns their number. */
  sweep(): Promise<number>;
}
