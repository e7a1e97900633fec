import { join } from 'node:path';
import type { Config } from '../../shared/core/config.js';
import type { ChildLimits } from '../../shared/core/limited-child.js';
import type { Logger } from '../../shared/core/log.js';
import { isBranchName } from '../../shared/core/string-formats.js';
import { removeUnused } from '../core/remove-folders.js';
import { SourceError } from '../failures/explained-errors.js';
import { type AddressPolicy, hostPolicy, type Remote } from './checked-remote.js';
import { Git, gitNetwork } from './git-command.js';
import { missesBranch, refusesCommits } from './git-failure.js';
import { JoinedRuns } from './joined-runs.js';
import { Mirror, MirrorDamaged, mirrorPath, prepareMirrors } from './repository-mirror.js';
import { type FoundRef, RepositoryServer } from './repository-server.js';
import type {
  FoundFile,
  RepositoryRequest,
  RepositorySource,
  ResolvedCommit,
  WantedFile,
} from './repository-source.js';
import type { SshAccess } from './ssh-access.js';

export interface GitSourceOptions {
  config: Pick<Config, 'dataDir' | 'allowLocalRepositories' | 'buildEnvironment'>;
  log: Logger;
  /**
   * How host names are resolved and which IP addresses are private. By default: the host's resolver and the known
   * private ranges.
   */
  policy?: AddressPolicy;
  /** Reads repositories over SSH. */
  ssh?: SshAccess;
  /** Limits for git that differ from the defaults. */
  limits?: Partial<ChildLimits>;
}

const MAX_PATHS = 5000;
const HEADS = 'refs/heads/';
const SHA = /^[0-9a-f]{40}$/;

/** Reads repositories with the git command line. Mirrors are in `<dataDir>/mirrors`. */
export class GitSource implements RepositorySource {
  readonly #dataDir: string;
  readonly #log: Logger;
  readonly #git: Git;
  readonly #server: RepositoryServer;
  /** Deployments of one branch that start at the same time share one fetch. */
  readonly #resolved = new JoinedRuns<ResolvedCommit | null>();

  constructor({ config, log, policy = hostPolicy(config.allowLocalRepositories), ssh, limits = {} }: GitSourceOptions) {
    this.#dataDir = config.dataDir;
    this.#log = log;
    const network = gitNetwork(config.buildEnvironment);
    const configFile = join(this.#mirrors, 'gitconfig');
    this.#git = new Git({ network, configFile, allowFile: policy.allowLocal, limits });
    this.#server = new RepositoryServer(this.#git, { policy, network, dataDir: config.dataDir, ssh: ssh ?? null });
  }

  get #mirrors(): string {
    return join(this.#dataDir, 'mirrors');
  }

  async resolve({ url, signal, ref, pullRef }: RepositoryRequest & { ref: string }): Promise<ResolvedCommit> {
    if (!isBranchName(ref)) throw new SourceError(`"${ref}" is not a name that a branch or tag can have`);
    const remote = await this.#open(url);
    const path = await mirrorPath(this.#mirrors, url);
    if (!SHA.test(ref)) {
      const found = await this.#resolved.join(`${path} ${ref}`, signal, (joint, begins) =>
        this.#resolveBranch(remote, new Mirror(this.#git, path, joint), ref, joint, begins),
      );
      if (found !== null) return found;
    }
    const wanted: FoundRef = SHA.test(ref) ? { remote, sha: ref } : await this.#server.findRef(remote, ref, signal);
    const { sha, defaultBranch } = wanted;
    const commit = await this.#withCommit(
      new Mirror(this.#git, path, signal),
      wanted.remote,
      sha,
      signal,
      describe,
      pullRef,
    );
    return defaultBranch === undefined ? commit : { ...commit, defaultBranch };
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
      branches === 'all'
        ? null
        : branches.filter((branch) => isBranchName(branch)).map((branch) => `${HEADS}${branch}`);
    const { commits } = await this.#server.refs(remote, names ?? 'branches', signal);
    return new Map([...commits].map(([name, sha]) => [name.slice(HEADS.length), sha]));
  }

  async messageOf({ url, sha, signal }: RepositoryRequest & { sha: string }): Promise<string> {
    return this.#read(url, sha, signal, (copy, commit) => copy.message(commit));
  }

  async fileOf({ url, sha, signal, path, maxBytes }: RepositoryRequest & WantedFile): Promise<FoundFile> {
    return this.#read(url, sha, signal, (copy, commit) => copy.file(commit, path, maxBytes));
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
      // The commit is gone, for example after a forced push, so there is nothing to compare.
      if (error instanceof SourceError) return null;
      throw error;
    }
    const paths = await this.#read(url, after, signal, (copy, commit) => copy.changedPaths(before, commit));
    return paths.length > MAX_PATHS ? null : paths;
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
    return this.#server.open(address);
  }

  /**
   * Fetches the newest commit of a branch. Returns null if the repository has no such branch; the name may belong to a
   * tag.
   */
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
        const { result } = await this.#server.reach(
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
   * Runs `work`, which reads a commit from the mirror. If the mirror does not have the commit, fetches it and runs
   * `work` again. A damaged mirror is deleted and created again first.
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

  /**
   * Runs `attempt` on a mirror that the caller has locked. If the mirror is damaged, deletes it and tries once more.
   */
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
    const { result } = await this.#server.reach(remote, signal, async (to) => {
      const fetched = await mirror.fetchCommit(to.url, to.config, sha);
      return refusesCommits(fetched) ? mirror.fetchAll(to.url, to.config, pullRef) : fetched;
    });
    if (result.code !== 0) throw new MirrorDamaged(result);
    const commit = await mirror.find(sha);
    if (commit === null)
      throw new SourceError(`commit ${sha} does not exist in ${remote.url}; deploy its branch instead`);
    return commit;
  }
}

async function describe(mirror: Mirror, sha: string): Promise<ResolvedCommit> {
  mirror.expectCheckout(sha);
  return { sha, message: await mirror.subject(sha) };
}
