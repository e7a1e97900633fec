import { randomUUID } from 'node:crypto';
import { mkdir, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Config } from '../../shared/config.js';
import type { Logger } from '../../shared/log.js';
import { explainRemote, isRedirect, lastLine, refusesCommits } from './explain.js';
import { Git, type GitResult } from './git-command.js';
import { type Mirror, MirrorDamaged, withMirror } from './mirror.js';
import { gitNetwork } from './network.js';
import { type AddressPolicy, hostPolicy, openRemote, type Remote, redirectedAddress } from './remote.js';
import { type RepositoryRequest, type RepositorySource, type ResolvedCommit, SourceError } from './source.js';

export interface GitSourceOptions {
  config: Pick<Config, 'dataDir' | 'allowLocalRepositories' | 'buildEnvironment'>;
  log: Logger;
  /** How names are resolved and which addresses are private; by default the host's resolver and the known ranges. */
  policy?: AddressPolicy;
}

const MOST_REDIRECTS = 3;
const BRANCHES_NAMED = 10;
const SHA = /^[0-9a-f]{40}$/;
/** The same names that `configuration.branch` accepts. */
const REF = /^(?!-)(?!.*\.\.)[A-Za-z0-9._/#@+-]{1,255}$/;

/** Repositories by way of the git command line. Mirrors lie in `<dataDir>/mirrors`. */
export function createGitSource(options: GitSourceOptions): RepositorySource {
  return new GitSource(options);
}

class GitSource implements RepositorySource {
  readonly #dataDir: string;
  readonly #log: Logger;
  readonly #network: Record<string, string>;
  readonly #policy: AddressPolicy;
  readonly #git: Git;
  #prepared: Promise<void> | null = null;

  constructor({ config, log, policy = hostPolicy(config.allowLocalRepositories) }: GitSourceOptions) {
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

  async resolve({ url, signal, ref }: RepositoryRequest & { ref: string }): Promise<ResolvedCommit> {
    if (!REF.test(ref)) throw new SourceError(`"${ref}" is not a name that a branch or tag can have`);
    const remote = await this.#open(url);
    const wanted = SHA.test(ref) ? { remote, sha: ref } : await this.#findRef(remote, ref, signal);
    return this.#withCommit(url, wanted.remote, wanted.sha, signal, async (mirror, sha) => {
      return { sha, message: await mirror.subject(sha) };
    });
  }

  async checkout({
    url,
    signal,
    sha,
    directory,
  }: RepositoryRequest & { sha: string; directory: string }): Promise<void> {
    if (!SHA.test(sha)) throw new SourceError(`"${sha}" is not the number of a commit`);
    const remote = await this.#open(url);
    await this.#withCommit(url, remote, sha, signal, (mirror) => mirror.checkout(sha, directory));
  }

  async #open(address: string): Promise<Remote> {
    this.#prepared ??= prepare(this.#mirrors);
    await this.#prepared.catch((error: unknown) => {
      this.#prepared = null;
      throw error;
    });
    return openRemote(address, { policy: this.#policy, network: this.#network, dataDir: this.#dataDir });
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

  /** Runs `work` on a mirror that has the commit; one that turns out to be damaged is thrown away and made again. */
  async #withCommit<T>(
    address: string,
    remote: Remote,
    sha: string,
    signal: AbortSignal,
    work: (mirror: Mirror, sha: string) => Promise<T>,
  ): Promise<T> {
    return withMirror(this.#git, this.#mirrors, address, signal, async (mirror) => {
      const attempt = async () => {
        await mirror.open();
        return work(mirror, (await mirror.find(sha)) ?? (await this.#fetch(mirror, remote, sha, signal)));
      };
      try {
        return await attempt();
      } catch (error) {
        if (!(error instanceof MirrorDamaged)) throw error;
        this.#log.warn({ repository: remote.url }, `the mirror is made again: ${error.message}`);
        await mirror.discard();
      }
      try {
        return await attempt();
      } catch (error) {
        if (!(error instanceof MirrorDamaged)) throw error;
        await mirror.discard();
        throw new SourceError(`${remote.url} cannot be copied: ${error.message}`);
      }
    });
  }

  async #fetch(mirror: Mirror, remote: Remote, sha: string, signal: AbortSignal): Promise<string> {
    const { result } = await this.#reach(remote, signal, async (to) => {
      const fetched = await mirror.fetchCommit(to.url, to.config, sha);
      return refusesCommits(fetched) ? mirror.fetchAll(to.url, to.config) : fetched;
    });
    if (result.code !== 0) throw new MirrorDamaged(result);
    const commit = await mirror.find(sha);
    if (commit === null) throw new SourceError(`commit ${sha} does not exist in ${remote.url}`);
    return commit;
  }

  /**
   * Talks to a repository; redirects are followed by hand, each new address being checked like the first one. A failure
   * that is not the far side's is returned.
   */
  async #reach(
    first: Remote,
    signal: AbortSignal,
    talk: (remote: Remote) => Promise<GitResult>,
  ): Promise<{ remote: Remote; result: GitResult }> {
    let remote = first;
    for (let redirects = 0; ; redirects++) {
      const result = await talk(remote);
      if (result.code === 0) return { remote, result };
      if (!isRedirect(result)) {
        const cause = explainRemote(remote, result);
        if (cause !== null) throw new SourceError(cause);
        return { remote, result };
      }
      if (redirects === MOST_REDIRECTS) {
        throw new SourceError(`${first.url} redirects more than ${MOST_REDIRECTS} times`);
      }
      remote = await this.#open(redirectedAddress(remote, await this.#locationOf(remote, signal)));
    }
  }

  /** Where the server sends git. Git itself says so only in its trace, whose secrets it blots out and which nobody sees. */
  async #locationOf(remote: Remote, signal: AbortSignal): Promise<string> {
    const { stderr } = await this.#git.run({
      args: ['ls-remote', '--', remote.url],
      config: remote.config,
      env: { GIT_TRACE_CURL: '1', GIT_TRACE_CURL_NO_DATA: '1' },
      signal,
    });
    const location = /<= Recv header: location: *(\S+)/i.exec(stderr)?.[1];
    if (location === undefined) throw new SourceError(`${remote.url} redirects and does not say where to`);
    return location;
  }
}

/** The owner of a local repository may be another user; a file is the only place where git accepts to be told so. */
async function prepare(mirrors: string): Promise<void> {
  await mkdir(mirrors, { recursive: true, mode: 0o700 });
  const own = join(mirrors, `gitconfig.${randomUUID()}`);
  await writeFile(own, '[safe]\n\tdirectory = *\n', { mode: 0o600 });
  await rename(own, join(mirrors, 'gitconfig'));
}

function parseRefs(output: string): Map<string, string> {
  const refs = new Map<string, string>();
  for (const line of output.split('\n')) {
    const [sha, name] = line.split('\t');
    if (sha && name) refs.set(name, sha);
  }
  return refs;
}
