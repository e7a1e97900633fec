export interface ResolvedCommit {
  sha: string;
  /** The commit's subject line. */
  message: string;
}

export interface RepositoryRequest {
  /** The address as the caller stored it; user and password in it are used and never shown. */
  url: string;
  signal: AbortSignal;
}

/** Why a repository could not be used, in words for the person who deployed. */
export class SourceError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'SourceError';
  }
}

/**
 * Repositories, through the git command line with every unsafe protocol, hook, submodule, redirect and option injection
 * closed. A bare mirror for each repository makes the second clone quick. All methods throw `SourceError`; an abort ends
 * git at once and rejects with the signal's reason.
 */
export interface RepositorySource {
  /** The commit of a branch or tag, or the one that is named (40 hex digits), with its message. */
  resolve(request: RepositoryRequest & { ref: string }): Promise<ResolvedCommit>;
  /** The commit's files into an empty folder, without `.git` and without submodules. Links are kept as they are. */
  checkout(request: RepositoryRequest & { sha: string; directory: string }): Promise<void>;
}
