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
import { RepositoryServer } from './repository-server.js';
import type { RepositoryRequest, RepositorySource, ResolvedCommit } from './repository-source.js';
import type { SshAccess } from './ssh-access.js';

export interface GitSourceOptions {
  config: Pick<Config, 'dataDir' | 'allowLocalRepositories' | 'buildEnvironment'>;
  log: Logger;
  policy?: AddressPolicy;
  ssh?: SshAccess;
  limits?: Partial<ChildLimits>;
}

const MAX_PATHS = 5000;
const HEADS = 'refs/heads/';
const SHA = /^[0-9a-f]{40}$/;

interface Opened {
  remote: Remote;
  mirror: Mirror;
  pullRef?: string | undefined;
}

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

  resolve: RepositorySource['resolve'] = async ({ ref, ...request }) => {
    if (!isBranchName(ref)) throw new SourceError(`"${ref}" is not a name that a branch or tag can have`);
    const opened = await this.#open(request);
    const { mirror, remote } = opened;
    const { signal } = request;
    if (SHA.test(ref)) return this.#withCommit(opened, ref, describe);
    const found = await this.#resolved.join(`${mirror.path} ${ref}`, signal, (joint, begins) =>
      this.#resolveBranch({ remote, mirror: mirror.until(joint) }, ref, begins),
    );
    if (found !== null) return found;
    const { sha, defaultBranch, remote: place } = await this.#server.findRef(remote, ref, signal);
    const commit = await this.#withCommit({ ...opened, remote: place }, sha, describe);
    return defaultBranch === undefined ? commit : { ...commit, defaultBranch };
  };

  checkout: RepositorySource['checkout'] = ({ sha, directory, ...request }) =>
    this.#read(request, sha, (mirror, commit) => mirror.checkout(commit, directory));

  heads: RepositorySource['heads'] = async ({ branches, ...request }) => {
    const { remote } = await this.#open(request);
    const names = branches === 'all' ? 'branches' : branches.filter(isBranchName).map((branch) => `${HEADS}${branch}`);
    const { commits } = await this.#server.refs(remote, names, request.signal);
    return new Map([...commits].map(([name, sha]) => [name.slice(HEADS.length), sha]));
  };

  messageOf: RepositorySource['messageOf'] = ({ sha, ...request }) =>
    this.#read(request, sha, (mirror, commit) => mirror.message(commit));

  fileOf: RepositorySource['fileOf'] = ({ sha, path, maxBytes, ...request }) =>
    this.#read(request, sha, (mirror, commit) => mirror.file(commit, path, maxBytes));

  changedPaths: RepositorySource['changedPaths'] = async ({ before, after, ...request }) => {
    try {
      await this.#read(request, before, (mirror, commit) => mirror.subject(commit));
    } catch (error) {
      // The commit `before` is gone, for example after a forced push.
      if (error instanceof SourceError) return null;
      throw error;
    }
    const paths = await this.#read(request, after, (mirror, commit) => mirror.changedPaths(before, commit));
    return paths.length > MAX_PATHS ? null : paths;
  };

  async #read<T>(
    request: RepositoryRequest,
    sha: string,
    work: (mirror: Mirror, sha: string) => Promise<T>,
  ): Promise<T> {
    if (!SHA.test(sha)) throw new SourceError(`"${sha.slice(0, 100)}" is not the number of a commit`);
    return this.#withCommit(await this.#open(request), sha, work);
  }

  async sweep(): Promise<number> {
    return removeUnused({ dataDir: this.#dataDir, log: this.#log }, this.#mirrors);
  }

  async #open({ url, signal, pullRef }: RepositoryRequest): Promise<Opened> {
    await prepareMirrors(this.#mirrors);
    const remote = await this.#server.open(url);
    return { remote, mirror: new Mirror(this.#git, mirrorPath(this.#mirrors, url), signal), pullRef };
  }

  /** Returns null if the repository has no such branch; the name may belong to a tag. */
  async #resolveBranch(opened: Opened, branch: string, begins: () => void): Promise<ResolvedCommit | null> {
    const { remote, mirror } = opened;
    return mirror.alone(async () => {
      begins();
      return this.#mended(opened, async () => {
        await mirror.open();
        const fetch = (to: Remote) => mirror.fetchBranch(to, branch);
        const { result } = await this.#server.reach(remote, mirror.signal, fetch, missesBranch);
        if (missesBranch(result)) return null;
        if (result.code !== 0) throw new MirrorDamaged(result);
        return describe(mirror, await mirror.newest(branch));
      });
    });
  }

  /** Runs `work` on the mirror. Fetches the commit if the mirror does not have it, and replaces a damaged mirror. */
  async #withCommit<T>(opened: Opened, sha: string, work: (mirror: Mirror, sha: string) => Promise<T>): Promise<T> {
    const { mirror } = opened;
    try {
      return await work(mirror, sha);
    } catch (error) {
      if (!(error instanceof MirrorDamaged)) throw error;
    }
    return mirror.alone(async () => {
      await mirror.open();
      const known = await mirror.find(sha);
      if (known !== null) {
        // The first attempt may have failed only because the mirror was replaced at that moment. So try once more.
        try {
          return await work(mirror, known);
        } catch (error) {
          await this.#discard(opened, error);
        }
      }
      return this.#mended(opened, async () => {
        await mirror.open();
        return work(mirror, await this.#fetch(opened, sha));
      });
    });
  }

  /** The caller must hold the mirror's lock. A damaged mirror is deleted, and `attempt` is run once more. */
  async #mended<T>(opened: Opened, attempt: () => Promise<T>): Promise<T> {
    try {
      return await attempt();
    } catch (error) {
      await this.#discard(opened, error);
    }
    try {
      return await attempt();
    } catch (error) {
      if (!(error instanceof MirrorDamaged)) throw error;
      await opened.mirror.discard();
      throw new SourceError(`${opened.remote.url} cannot be copied: ${error.message}`);
    }
  }

  async #discard({ remote, mirror }: Opened, error: unknown): Promise<void> {
    if (!(error instanceof MirrorDamaged)) throw error;
    this.#log.warn({ repository: remote.url }, `the mirror is damaged and made again: ${error.message}`);
    await mirror.discard();
  }

  async #fetch({ remote, mirror, pullRef }: Opened, sha: string): Promise<string> {
    const { result } = await this.#server.reach(remote, mirror.signal, async (to) => {
      const fetched = await mirror.fetchCommit(to, sha);
      return refusesCommits(fetched) ? mirror.fetchAll(to, pullRef) : fetched;
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
