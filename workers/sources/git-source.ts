import { randomUUID } from 'node:crypto';
import { mkdir, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Config } from '../../shared/core/config.js';
import type { Logger } from '../../shared/core/log.js';
import { removeUnused, touch } from '../folders.js';
import { Git, type GitResult, gitNetwork } from './git-command.js';
import { explainRemote, isRedirect, lastLine, missesBranch, refusesCommits } from './git-failure.js';
import { JoinedRuns } from './joined-runs.js';
import { Mirror, MirrorDamaged, mirrorPath } from './mirror.js';
import { type AddressPolicy, hostPolicy, openRemote, type Remote, redirectedAddress } from './remote.js';
import {
  type RepositoryRequest,
  type RepositorySource,
  type ResolvedCommit,
  SourceError,
  TooManyBranches,
} from './repository-source.js';
import type { SshAccess } from './ssh-access.js';

export interface GitSourceOptions {
  config: Pick<Config, 'dataDir' | 'allowLocalRepositories' | 'buildEnvironment'>;
  log: Logger;
  /** How names are resolved and which addresses are private; by default the host's resolver and the known private ranges. */
  policy?: AddressPolicy;
  /** Reads repositories over SSH. */
  ssh?: SshAccess;
}

const MOST_REDIRECTS = 3;
const BRANCHES_NAMED = 10;
const MOST_PATHS = 5000;
const HEADS = 'refs/heads/';
/** A list of all branches beyond this is not read. */
const LARGEST_LIST = {
  bytes: 1024 ** 2,
  problem: 'the repository has too many branches to list them',
  error: TooManyBranches,
};
const SHA = /^[0-9a-f]{40}$/;
/** The same names that `configuration.branch` accepts. */
const REF = /^(?!-)(?!.*\.\.)[A-Za-z0-9._/#@+-]{1,255}$/;

/** Reads repositories with the git command line. Mirrors are in `<dataDir>/mirrors`. */
export function createGitSource(options: GitSourceOptions): RepositorySource {
  return new GitSource(options);
}

class GitSource implements RepositorySource {
  readonly #dataDir: string;
  readonly #log: Logger;
  readonly #network: Record<string, string>;
  readonly #policy: AddressPolicy;
  readonly #git: Git;
  readonly #ssh: SshAccess | null;
  /** Deployments of one branch that begin together share one fetch. */
  readonly #resolved = new JoinedRuns<ResolvedCommit | null>();

  constructor({ config, log, policy = hostPolicy(config.allowLocalRepositories), ssh }: GitSourceOptions) {
    this.#ssh = ssh ?? null;
    this.#dataDir = config.dataDir;
    this.#log = log;
    this.#network = gitNetwork(config.buildEnvironment);
    this.#policy = policy;
    const configFile = join(this.#mirrors, 'gitconfig');
    this.#git = new Git({ network: this.#network, configFile, allowFile: policy.allowLocal });
  }

  get #mirrors(): string {
    return join(this.#dataDir, 'mirrors');
  }

  async resolve({ url, signal, ref, pullRef }: RepositoryRequest & { ref: string }): Promise<ResolvedCommit> {
    if (!REF.test(ref)) throw new SourceError(`"${ref}" is not a name that a branch or tag can have`);
    const remote = await this.#open(url);
    const path = await mirrorPath(this.#mirrors, url);
    if (!SHA.test(ref)) {
      const found = await this.#resolved.join(`${path} ${ref}`, signal, (joint, begins) =>
        this.#resolveBranch(remote, new Mirror(this.#git, path, joint), ref, joint, begins),
      );
      if (found !== null) return found;
    }
    const wanted = SHA.test(ref) ? { remote, sha: ref } : await this.#findRef(remote, ref, signal);
    return this.#withCommit(new Mirror(this.#git, path, signal), wanted.remote, wanted.sha, signal, describe, pullRef);
  }

  async checkout({
    url,
    signal,
    sha,
    directory,
    pullRef,
  }: RepositoryRequest & { sha: string; directory: string }): Promise<void> {
    if (!SHA.test(sha)) throw new SourceError(`"${sha}" is not the number of a commit`);
    const remote = await this.#open(url);
    const mirror = new Mirror(this.#git, await mirrorPath(this.#mirrors, url), signal);
    await this.#withCommit(mirror, remote, sha, signal, (copy, commit) => copy.checkout(commit, directory), pullRef);
  }

  async heads({
    url,
    signal,
    branches,
  }: RepositoryRequest & { branches: readonly string[] | 'all' }): Promise<Map<string, string>> {
    const remote = await this.#open(url);
    const names =
      branches === 'all' ? null : branches.filter((branch) => REF.test(branch)).map((branch) => `${HEADS}${branch}`);
    const list = names === null ? ['--heads', '--'] : ['--'];
    const atMost = names === null ? { atMost: LARGEST_LIST } : {};
    const { result } = await this.#reach(remote, signal, (to) =>
      this.#git.run({ args: ['ls-remote', ...list, to.url, ...(names ?? [])], config: to.config, signal, ...atMost }),
    );
    if (result.code !== 0) throw new SourceError(`${remote.url} cannot be read: ${lastLine(result)}`);
    // A name also matches as the end of a longer one.
    const wanted = names && new Set(names);
    const found = [...parseRefs(result.stdout)].filter(
      ([name, sha]) => SHA.test(sha) && (wanted?.has(name) ?? REF.test(name.slice(HEADS.length))),
    );
    return new Map(found.map(([name, sha]) => [name.slice(HEADS.length), sha]));
  }

  async messageOf({ url, sha, signal }: RepositoryRequest & { sha: string }): Promise<string> {
    return this.#read(url, sha, signal, (copy, commit) => copy.message(commit));
  }

  async changedPaths({
    url,
    before,
    after,
    signal,
  }: RepositoryRequest & { before: string; after: string }): Promise<string[] | null> {
    try {
      await this.#read(url, before, signal, (copy, commit) => copy.subject(commit));
    } catch (error) {
      // After a forced push, a server may have removed the commit.
      if (error instanceof SourceError) return null;
      throw error;
    }
    const paths = await this.#read(url, after, signal, (copy, commit) => copy.changedPaths(before, commit));
    return paths.length > MOST_PATHS ? null : paths;
  }

  async #read<T>(
    url: string,
    sha: string,
    signal: AbortSignal,
    work: (copy: Mirror, sha: string) => Promise<T>,
  ): Promise<T> {
    if (!SHA.test(sha)) throw new SourceError(`"${sha.slice(0, 100)}" is not the number of a commit`);
    const remote = await this.#open(url);
    return this.#withCommit(
      new Mirror(this.#git, await mirrorPath(this.#mirrors, url), signal),
      remote,
      sha,
      signal,
      work,
    );
  }

  async sweep(): Promise<number> {
    return removeUnused({ dataDir: this.#dataDir, log: this.#log }, this.#mirrors);
  }

  async #open(address: string): Promise<Remote> {
    await prepareMirrors(this.#mirrors);
    return openRemote(address, {
      policy: this.#policy,
      network: this.#network,
      dataDir: this.#dataDir,
      ssh: this.#ssh,
    });
  }

  async #findRef(remote: Remote, ref: string, signal: AbortSignal): Promise<{ remote: Remote; sha: string }> {
    const names = [`refs/heads/${ref}`, `refs/tags/${ref}^{}`, `refs/tags/${ref}`];
    const found = await this.#reach(remote, signal, (to) =>
      this.#git.run({ args: ['ls-remote', '--', to.url, ...names], config: to.config, signal }),
    );
    if (found.result.code !== 0) throw new SourceError(`${remote.url} cannot be read: ${lastLine(found.result)}`);
    const shas = parseRefs(found.result.stdout);
    for (const name of names) {
      const sha = shas.get(name);
      if (sha !== undefined && SHA.test(sha)) return { remote: found.remote, sha };
    }
    throw await this.#missingRef(found.remote, ref, signal);
  }

  async #missingRef(remote: Remote, ref: string, signal: AbortSignal): Promise<SourceError> {
    const args = ['ls-remote', '--heads', '--', remote.url];
    const { stdout } = await this.#git.run({ args, config: remote.config, signal });
    const branches = [...parseRefs(stdout).keys()].map((name) => name.replace(/^refs\/heads\//, ''));
    const more = branches.length - BRANCHES_NAMED;
    const list = `${branches.slice(0, BRANCHES_NAMED).join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
    const has = branches.length === 0 ? 'it has no branch at all' : `it has ${list}`;
    return new SourceError(`branch or tag "${ref}" does not exist in ${remote.url}; ${has}`);
  }

  /** Fetches the newest commit of a branch. Null if the repository has no such branch: it may be a tag. */
  async #resolveBranch(
    remote: Remote,
    mirror: Mirror,
    branch: string,
    signal: AbortSignal,
    begins: () => void,
  ): Promise<ResolvedCommit | null> {
    return mirror.alone(async () => {
      begins();
      return this.#mended(remote, mirror, async () => {
        await mirror.open();
        const { result } = await this.#reach(
          remote,
          signal,
          (to) => mirror.fetchBranch(to.url, to.config, branch),
          missesBranch,
        );
        if (missesBranch(result)) return null;
        if (result.code !== 0) throw new MirrorDamaged(result);
        return describe(mirror, await mirror.newest(branch));
      });
    });
  }

  /**
   * Runs `work`, which reads a commit of the mirror. If that fails because the mirror lacks the commit or is damaged, the
   * commit is fetched, or the mirror made again, and `work` runs once more.
   */
  async #withCommit<T>(
    mirror: Mirror,
    remote: Remote,
    sha: string,
    signal: AbortSignal,
    work: (mirror: Mirror, sha: string) => Promise<T>,
    pullRef?: string,
  ): Promise<T> {
    try {
      return await work(mirror, sha);
    } catch (error) {
      if (!(error instanceof MirrorDamaged)) throw error;
    }
    return mirror.alone(async () => {
      await mirror.open();
      const known = await mirror.find(sha);
      if (known !== null) {
        // Another caller may have replaced the mirror while this one read it.
        try {
          return await work(mirror, known);
        } catch (error) {
          if (!(error instanceof MirrorDamaged)) throw error;
          this.#log.warn({ repository: remote.url }, `the mirror is damaged and made again: ${error.message}`);
          await mirror.discard();
        }
      }
      return this.#mended(remote, mirror, async () => {
        await mirror.open();
        return work(mirror, await this.#fetch(mirror, remote, sha, signal, pullRef));
      });
    });
  }

  /** Runs `attempt` on a mirror of which the caller has the lock. A damaged mirror is removed and made again once. */
  async #mended<T>(remote: Remote, mirror: Mirror, attempt: () => Promise<T>): Promise<T> {
    try {
      return await attempt();
    } catch (error) {
      if (!(error instanceof MirrorDamaged)) throw error;
      this.#log.warn({ repository: remote.url }, `the mirror is damaged and made again: ${error.message}`);
      await mirror.discard();
    }
    try {
      return await attempt();
    } catch (error) {
      if (!(error instanceof MirrorDamaged)) throw error;
      await mirror.discard();
      throw new SourceError(`${remote.url} cannot be copied: ${error.message}`);
    }
  }

  async #fetch(mirror: Mirror, remote: Remote, sha: string, signal: AbortSignal, pullRef?: string): Promise<string> {
    const { result } = await this.#reach(remote, signal, async (to) => {
      const fetched = await mirror.fetchCommit(to.url, to.config, sha);
      return refusesCommits(fetched) ? mirror.fetchAll(to.url, to.config, pullRef) : fetched;
    });
    if (result.code !== 0) throw new MirrorDamaged(result);
    const commit = await mirror.find(sha);
    if (commit === null)
      throw new SourceError(`commit ${sha} does not exist in ${remote.url}; deploy its branch instead`);
    return commit;
  }

  /**
   * Runs a git command against a repository. Redirects are followed here and not by git, so that each new address is checked
   * like the first one. Throws `SourceError` if the server is the cause of a failure; returns other failures, and those for
   * which `isAnswer` is true.
   */
  async #reach(
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
      if (redirects === MOST_REDIRECTS) {
        throw new SourceError(`${first.url} redirects more than ${MOST_REDIRECTS} times; use its current address`);
      }
      remote = await this.#open(redirectedAddress(remote, await this.#locationOf(remote, signal)));
    }
  }

  /** The target of the server's redirect. Git reports it only in its trace, which masks secrets and is not stored. */
  async #locationOf(remote: Remote, signal: AbortSignal): Promise<string> {
    const { stderr } = await this.#git.run({
      args: ['ls-remote', '--', remote.url],
      config: remote.config,
      env: { GIT_TRACE_CURL: '1', GIT_TRACE_CURL_NO_DATA: '1' },
      signal,
    });
    const location = /<= Recv header: location: *(\S+)/i.exec(stderr)?.[1];
    if (location === undefined) throw new SourceError(`${remote.url} redirects and does not name the new address`);
    return location;
  }
}

async function describe(mirror: Mirror, sha: string): Promise<ResolvedCommit> {
  return { sha, message: await mirror.subject(sha) };
}

/** Makes git accept local repositories of other users: it reads that setting from a file only. */
export async function prepareMirrors(mirrors: string): Promise<void> {
  const path = join(mirrors, 'gitconfig');
  if (await touch(path)) return;
  await mkdir(mirrors, { recursive: true, mode: 0o700 });
  const own = `${path}.${randomUUID()}`;
  await writeFile(own, '[safe]\n\tdirectory = *\n', { mode: 0o600 });
  await rename(own, path);
}

function parseRefs(output: string): Map<string, string> {
  const refs = new Map<string, string>();
  for (const line of output.split('\n')) {
    const [sha, name] = line.split('\t');
    if (sha && name) refs.set(name, sha);
  }
  return refs;
}
