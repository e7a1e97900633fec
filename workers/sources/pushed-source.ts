import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Config } from '../../shared/core/config.js';
import type { Db } from '../../shared/core/database/database-client.js';
import { exists } from '../../shared/core/exists.js';
import {
  branchRef,
  FOLDER_ID_FILE,
  PUSHED_FOLDER,
  parsePushedAddress,
  repositoryFolder,
} from '../../shared/pushes/model.js';
import { arrivingCommit, findRepository } from '../../shared/pushes/store.js';
import { newFetchToken, WORKER_NAME } from '../../shared/secrets/internal-token.js';
import type { Keyring } from '../../shared/secrets/keyring.js';
import { starterNode } from '../../shared/services/service-source.js';
import { SourceError } from '../failures/explained-errors.js';
import type { Remote } from './checked-remote.js';
import { Git, gitNetwork } from './git-command.js';
import { lastLine } from './git-failure.js';
import { Mirror, MirrorDamaged, mirrorPath, prepareMirrors } from './repository-mirror.js';
import type { RepositorySource } from './repository-source.js';
import { starterSource } from './starter-source.js';

export interface PushedSourceOptions {
  db: Db;
  keyring: Keyring;
  config: Pick<Config, 'dataDir' | 'publicUrl' | 'buildEnvironment'>;
}

const SHA = /^[0-9a-f]{40}$/;

/** Reads pushed repositories. Nothing polls them for new commits, so methods such as `heads` are missing. */
export type PushedRepositorySource = Pick<RepositorySource, 'resolve' | 'checkout'>;

/** Combines the sources into one source, which chooses by the repository's URL. */
export function createSources({
  git,
  pushed,
}: {
  git: RepositorySource;
  pushed: PushedRepositorySource;
}): RepositorySource {
  const unpushed = (url: string) => (starterNode(url) === null ? git : starterSource);
  const of = (url: string) => (parsePushedAddress(url) === null ? unpushed(url) : pushed);
  return {
    resolve: (request) => of(request.url).resolve(request),
    checkout: (request) => of(request.url).checkout(request),
    heads: (request) => unpushed(request.url).heads(request),
    messageOf: (request) => unpushed(request.url).messageOf(request),
    changedPaths: (request) => unpushed(request.url).changedPaths(request),
    fileOf: (request) => unpushed(request.url).fileOf(request),
    // Also removes old mirrors of pushed repositories, which are in the same folder.
    sweep: () => git.sweep(),
  };
}

/** Reads repositories that were pushed to the platform: from DATA_DIR if the API shares it, otherwise from the API. */
export class PushedSource implements PushedRepositorySource {
  readonly #options: PushedSourceOptions;
  readonly #git: Git;

  constructor(options: PushedSourceOptions) {
    this.#options = options;
    const network = gitNetwork(options.config.buildEnvironment);
    this.#git = new Git({ network, configFile: join(this.#mirrors, 'gitconfig'), allowFile: false });
  }

  get #mirrors(): string {
    return join(this.#options.config.dataDir, 'mirrors');
  }

  resolve: RepositorySource['resolve'] = async ({ url, ref: wanted, signal }) => {
    const { serviceId } = parts(url);
    const arriving = SHA.test(wanted) ? null : await arrivingCommit(this.#options.db, serviceId, branchRef(wanted));
    const ref = arriving ?? wanted;
    const local = await this.#local(url, signal);
    if (local !== null) {
      const sha = await local.find(SHA.test(ref) ? ref : branchRef(ref));
      if (sha === null) throw missing(ref);
      return { sha, message: await local.subject(sha) };
    }
    const sha = SHA.test(ref) ? ref : await this.#remoteHead(url, ref, signal);
    return this.#copied(url, sha, signal, async (mirror) => ({ sha, message: await mirror.subject(sha) }));
  };

  checkout: RepositorySource['checkout'] = async ({ url, sha, directory, signal }) => {
    const local = await this.#local(url, signal);
    if (local === null) return this.#copied(url, sha, signal, (mirror) => mirror.checkout(sha, directory));
    try {
      await local.checkout(sha, directory);
    } catch (error) {
      if (!(error instanceof MirrorDamaged)) throw error;
      throw (await local.find(sha)) === null ? missing(sha) : error;
    }
  };

  /** Returns null if another host has the repository. */
  async #local(url: string, signal: AbortSignal): Promise<Mirror | null> {
    const { serviceId } = parts(url);
    const row = await findRepository(this.#options.db, serviceId);
    if (!row?.pushed_at) throw new SourceError('nothing was pushed yet; push a commit with git push first');
    await prepareMirrors(this.#mirrors);
    const folder = join(this.#options.config.dataDir, PUSHED_FOLDER);
    const own = await readFile(join(folder, FOLDER_ID_FILE), 'utf8').catch(() => '');
    if (own.trim() !== row.folder_id) return null;
    const path = join(folder, repositoryFolder(serviceId));
    if (!(await exists(path))) throw new SourceError('the pushed repository is lost; push it again');
    return new Mirror(this.#git, path, signal);
  }

  async #copied<T>(url: string, sha: string, signal: AbortSignal, work: (mirror: Mirror) => Promise<T>): Promise<T> {
    const mirror = new Mirror(this.#git, mirrorPath(this.#mirrors, url), signal);
    return mirror.alone(async () => {
      await mirror.open();
      if ((await mirror.find(sha)) === null) {
        const remote = this.#remote(url);
        const fetched = await mirror.fetchCommit(remote, sha);
        if (/not our ref/.test(fetched.stderr)) throw missing(sha);
        if (fetched.code !== 0) throw unreachable(remote.url, lastLine(fetched));
      }
      return work(mirror);
    });
  }

  async #remoteHead(url: string, branch: string, signal: AbortSignal): Promise<string> {
    const { url: address, config } = this.#remote(url);
    const args = ['ls-remote', '--', address, branchRef(branch)];
    const listed = await this.#git.run({ args, config, signal });
    if (listed.code !== 0) throw unreachable(address, lastLine(listed));
    const sha = listed.stdout.split('\t')[0] ?? '';
    if (!SHA.test(sha)) throw missing(branch);
    return sha;
  }

  #remote(url: string): Pick<Remote, 'url' | 'config'> {
    const { keyring, config } = this.#options;
    const { workspaceId, serviceId } = parts(url);
    const { origin } = new URL(config.publicUrl);
    const proof = Buffer.from(`${WORKER_NAME}:${newFetchToken(keyring, serviceId, Date.now())}`).toString('base64');
    return {
      url: `${config.publicUrl}/git/${workspaceId}/${serviceId}.git`,
      config: [[`http.${origin}/.extraHeader`, `Authorization: Basic ${proof}`]],
    };
  }
}

function parts(url: string): { workspaceId: string; serviceId: string } {
  const found = parsePushedAddress(url);
  if (found === null) throw new Error('this is no address of a pushed repository');
  return found;
}

function missing(ref: string): SourceError {
  return SHA.test(ref)
    ? new SourceError(`commit ${ref} is not in the pushed repository any more; push it again`)
    : new SourceError(`the branch ${ref} was not pushed; push it, or set the service's branch to one that was`);
}

/** This error makes the worker try the deployment again, because the API may be restarting. */
function unreachable(address: string, problem: string): Error {
  return new Error(
    `the pushed repository cannot be fetched from ${address}: ${problem}; is PUBLIC_URL right on this worker?`,
  );
}
