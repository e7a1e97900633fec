import { isBranchName } from '../../shared/core/string-formats.js';
import { DEFAULT_CONFIGURATION } from '../../shared/services/configuration.js';
import { SourceError } from '../failures/explained-errors.js';
import { openRemote, type Remote, type RemoteOptions, redirectedAddress } from './checked-remote.js';
import type { Git, GitCommand, GitResult } from './git-command.js';
import { explainRemote, isRedirect, lastLine } from './git-failure.js';
import { type ResolvedCommit, TooManyBranches } from './repository-source.js';

const MAX_REDIRECTS = 3;
const BRANCHES_NAMED = 10;
const HEADS = 'refs/heads/';
const MAX_LIST = {
  bytes: 1024 ** 2,
  problem: 'the repository has too many branches to list them',
  error: TooManyBranches,
};
const SHA = /^[0-9a-f]{40}$/;

type FoundRef = Pick<ResolvedCommit, 'sha' | 'defaultBranch'> & { remote: Remote };

/** Queries git servers. Every URL, including the target of a redirect, is checked before git connects to it. */
export class RepositoryServer {
  readonly #git: Git;
  readonly #options: RemoteOptions;

  constructor(git: Git, options: RemoteOptions) {
    this.#git = git;
    this.#options = options;
  }

  open(address: string): Promise<Remote> {
    return openRemote(address, this.#options);
  }

  /** Throws `SourceError`, or its subclass `TooManyBranches`. */
  async refs(
    remote: Remote,
    names: readonly string[] | 'branches',
    signal: AbortSignal,
  ): Promise<{ remote: Remote; commits: Map<string, string> }> {
    const all = names === 'branches';
    const [options, wanted, bound] = all ? [['--heads'], [], { atMost: MAX_LIST }] : [[], names, {}];
    const found = await this.reach(remote, signal, (to) => this.#list(to, signal, options, wanted, bound));
    if (found.result.code !== 0) throw new SourceError(`${remote.url} cannot be read: ${lastLine(found.result)}`);
    // git also returns refs whose longer names end with a requested name.
    const commits = [...parseRefs(found.result.stdout)].filter(
      ([name, sha]) => SHA.test(sha) && (all ? isBranchName(name.slice(HEADS.length)) : names.includes(name)),
    );
    return { remote: found.remote, commits: new Map(commits) };
  }

  /**
   * Finds the commit of a branch or tag. If `ref` is the branch that services use by default, and the repository lacks
   * it, finds the commit of the repository's own default branch. Throws `SourceError`.
   */
  async findRef(remote: Remote, ref: string, signal: AbortSignal): Promise<FoundRef> {
    const names = [`refs/heads/${ref}`, `refs/tags/${ref}^{}`, `refs/tags/${ref}`];
    const found = await this.refs(remote, names, signal);
    for (const name of names) {
      const sha = found.commits.get(name);
      if (sha !== undefined) return { remote: found.remote, sha };
    }
    const head = ref === DEFAULT_CONFIGURATION.branch ? await this.#head(found.remote, signal) : null;
    if (head !== null) return head;
    throw await this.#missingRef(found.remote, ref, signal);
  }

  /** Returns null if the repository has no default branch. */
  async #head(remote: Remote, signal: AbortSignal): Promise<FoundRef | null> {
    const { code, stdout } = await this.#list(remote, signal, ['--symref'], ['HEAD']);
    const branch = /^ref: refs\/heads\/(\S+)\tHEAD$/m.exec(stdout)?.[1] ?? '';
    const sha = parseRefs(stdout).get('HEAD') ?? '';
    return code === 0 && isBranchName(branch) && SHA.test(sha) ? { remote, sha, defaultBranch: branch } : null;
  }

  async #missingRef(remote: Remote, ref: string, signal: AbortSignal): Promise<SourceError> {
    const { stdout } = await this.#list(remote, signal, ['--heads']);
    const branches = [...parseRefs(stdout).keys()].map((name) => name.replace(/^refs\/heads\//, ''));
    const more = branches.length - BRANCHES_NAMED;
    const list = `${branches.slice(0, BRANCHES_NAMED).join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
    const has =
      branches.length === 0
        ? 'it has no branch at all; push a commit first'
        : `it has ${list}; set branch to one of them`;
    return new SourceError(`branch or tag "${ref}" does not exist in ${remote.url}; ${has}`);
  }

  /**
   * Follows redirects itself, so that each new URL is checked like the first URL. Throws `SourceError` for a failure
   * caused by the server or the connection, unless `isAnswer` is true for that failure.
   */
  async reach(
    first: Remote,
    signal: AbortSignal,
    talk: (remote: Remote) => Promise<GitResult>,
    isAnswer: (result: GitResult) => boolean = () => false,
  ): Promise<{ remote: Remote; result: GitResult }> {
    let remote = first;
    for (let redirects = 0; ; redirects++) {
      const result = await talk(remote);
      if (result.code === 0 || isAnswer(result)) return { remote, result };
      if (!isRedirect(result)) {
        const cause = explainRemote(remote, result);
        if (cause !== null) throw new SourceError(cause);
        return { remote, result };
      }
      if (redirects === MAX_REDIRECTS) {
        throw new SourceError(`${first.url} redirects more than ${MAX_REDIRECTS} times; use its current address`);
      }
      remote = await this.open(redirectedAddress(remote, await this.#locationOf(remote, signal)));
    }
  }

  #list(
    { url, config }: Remote,
    signal: AbortSignal,
    options: readonly string[],
    refs: readonly string[] = [],
    more: Pick<GitCommand, 'atMost' | 'env'> = {},
  ): Promise<GitResult> {
    return this.#git.run({ args: ['ls-remote', ...options, '--', url, ...refs], config, signal, ...more });
  }

  /** git shows the target of a redirect only in its trace, which masks secrets and is not kept. */
  async #locationOf(remote: Remote, signal: AbortSignal): Promise<string> {
    const env = { GIT_TRACE_CURL: '1', GIT_TRACE_CURL_NO_DATA: '1' };
    const { stderr } = await this.#list(remote, signal, [], [], { env });
    const location = /<= Recv header: location: *(\S+)/i.exec(stderr)?.[1];
    if (location === undefined) throw new SourceError(`${remote.url} redirects and does not name the new address`);
    return location;
  }
}

function parseRefs(output: string): Map<string, string> {
  const refs = new Map<string, string>();
  for (const line of output.split('\n')) {
    const [sha, name] = line.split('\t');
    if (sha && name) refs.set(name, sha);
  }
  return refs;
}
