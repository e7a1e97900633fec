import { randomUUID } from 'node:crypto';
import { mkdir, readdir, readFile, rename, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { validate as isUuid } from 'uuid';
import type { Db } from '../../shared/core/database/database-client.js';
import { exists } from '../../shared/core/exists.js';
import { linked } from '../../shared/core/lock-file.js';
import type { Logger } from '../../shared/core/log.js';
import { branchRef, FOLDER_ID_FILE, keptRef, PUSHED_FOLDER, repositoryFolder } from '../../shared/pushes/model.js';
import {
  announceHost,
  goneServices,
  keptDeployments,
  type PushedRepositoryRow,
  recordRepository,
  recordSize,
  withdrawHost,
} from '../../shared/pushes/store.js';
import type { ServiceRow } from '../../shared/services/rows.js';
import { type GitResult, runGit } from './git-process.js';
import { writeHooks } from './repository-hooks.js';

const NOTHING = '0'.repeat(40);
/** Number of releases whose commits are kept even if no branch contains them, so that they can be built again. */
const KEPT_RELEASES = 10;
/**
 * A note file is renewed every NOTE_RENEW_MS (`noteShallow`). Once it is older than NOTE_HOLDS_MS, `isHeld` ignores it.
 */
const NOTE_RENEW_MS = 10_000;
const NOTE_HOLDS_MS = 60_000;
export const PUSHES_BEFORE_PACKING = 20;

/** Holds the bare repositories in `DATA_DIR/pushed`, one per service that is deployed by `git push`. */
export class PushedRepositories {
  readonly #db: Db;
  readonly #log: Logger;
  readonly #folder: string;
  readonly #address: string;
  #prepared: Promise<{ id: string; hooks: string }> | null = null;

  /** `address` is the URL at which other API hosts can connect to this process. */
  constructor({ db, log, dataDir, address }: { db: Db; log: Logger; dataDir: string; address: string }) {
    this.#address = address;
    this.#db = db;
    this.#log = log;
    this.#folder = join(dataDir, PUSHED_FOLDER);
  }

  get folder(): string {
    return this.#folder;
  }

  prepare(): Promise<{ id: string; hooks: string }> {
    this.#prepared ??= this.#make().catch((error: unknown) => {
      this.#prepared = null;
      throw error;
    });
    return this.#prepared;
  }

  /** Opens or creates a service's repository. `repository` is null if another API host has it. */
  async open(
    service: Pick<ServiceRow, 'id' | 'configuration'>,
  ): Promise<{ repository: PushedRepository | null; row: PushedRepositoryRow }> {
    const { id, hooks } = await this.prepare();
    const row = await recordRepository(this.#db, service.id, id);
    if (row.folder_id !== id) return { repository: null, row };
    const path = join(this.#folder, repositoryFolder(service.id));
    if (!(await exists(join(path, 'HEAD')))) await this.#init(path);
    const repository = new PushedRepository(path, hooks);
    await repository.pointHead(service.configuration.branch);
    return { repository, row };
  }

  /** Records this process's address, to which other API hosts forward git requests. */
  async announce(): Promise<void> {
    await announceHost(this.#db, (await this.prepare()).id, this.#address);
  }

  async withdraw(): Promise<void> {
    if (await exists(this.#folder)) await withdrawHost(this.#db, (await this.prepare()).id, this.#address);
  }

  /** Returns a service's repository, which must exist. Only `open` creates repositories. */
  async at(serviceId: string): Promise<PushedRepository> {
    const { hooks } = await this.prepare();
    return new PushedRepository(join(this.#folder, repositoryFolder(serviceId)), hooks);
  }

  /** Records the repository's size. With `pack`, first repacks the repository and deletes unreferenced commits. */
  async tidy(serviceId: string, pack: boolean): Promise<void> {
    const repository = await this.at(serviceId);
    if (pack) {
      await repository.forgetExcept(await keptDeployments(this.#db, serviceId, KEPT_RELEASES));
      const packed = await repository.pack();
      if (!packed.ok)
        this.#log.warn({ serviceId }, `a pushed repository cannot be packed: ${packed.stderr.slice(0, 500)}`);
    }
    await recordSize(this.#db, serviceId, await repository.size(), pack);
  }

  /** Deletes the repositories of deleted services. Returns their number. */
  async removeGone(): Promise<number> {
    const names = await readdir(this.#folder).catch(() => []);
    const ids = names.flatMap((name) =>
      name.endsWith('.git') && isUuid(name.slice(0, -4)) ? [name.slice(0, -4)] : [],
    );
    if (ids.length === 0) return 0;
    const gone = await goneServices(this.#db, ids);
    for (const id of gone) await rm(join(this.#folder, repositoryFolder(id)), { recursive: true, force: true });
    return gone.length;
  }

  async #make(): Promise<{ id: string; hooks: string }> {
    await mkdir(this.#folder, { recursive: true, mode: 0o700 });
    const path = join(this.#folder, FOLDER_ID_FILE);
    const own = `${path}.${randomUUID()}`;
    await writeFile(own, `${randomUUID()}\n`, { mode: 0o600 });
    await linked(own, path).finally(() => rm(own, { force: true }));
    const id = (await readFile(path, 'utf8')).trim();
    await announceHost(this.#db, id, this.#address);
    return { id, hooks: await writeHooks(this.#folder) };
  }

  async #init(path: string): Promise<void> {
    const own = `${path}.${randomUUID()}`;
    const made = await runGit(null, ['init', '-q', '--bare', '--template=', '--', own]);
    if (!made.ok) throw new Error(`git init failed: ${made.stderr}`);
    await rename(own, path).catch(async (error: unknown) => {
      await rm(own, { recursive: true, force: true });
      if (!(await exists(join(path, 'HEAD')))) throw error;
    });
  }
}

export class PushedRepository {
  readonly path: string;
  readonly hooks: string;
  readonly #renewals: NodeJS.Timeout[] = [];

  constructor(path: string, hooks: string) {
    this.path = path;
    this.hooks = hooks;
  }

  /** Points HEAD at the service's branch, so that a clone checks it out. */
  async pointHead(branch: string): Promise<void> {
    const text = await readFile(join(this.path, 'HEAD'), 'utf8').catch(() => '');
    if (text.trim() === `ref: ${branchRef(branch)}`) return;
    await this.#git('symbolic-ref', 'HEAD', branchRef(branch));
  }

  async branches(): Promise<Set<string>> {
    const { stdout } = await this.#git('for-each-ref', '--format=%(refname:lstrip=2)', 'refs/heads');
    return new Set(stdout.split('\n').filter((name) => name !== ''));
  }

  /** Returns the commit of a branch; '' if the branch does not exist. */
  async commitOf(branch: string): Promise<string> {
    return (await this.#git('rev-parse', '--verify', '-q', branchRef(branch))).stdout.trim();
  }

  /** Returns true if the id belongs to a commit, and not to a tag or file. */
  async hasCommit(sha: string): Promise<boolean> {
    return (await this.#git('cat-file', '-t', sha)).stdout.trim() === 'commit';
  }

  async subject(sha: string): Promise<string> {
    return (await this.#git('log', '--no-walk', '--format=%s', '--end-of-options', sha)).stdout.trim().slice(0, 200);
  }

  /** Updates a branch. With `from`, fails unless the branch is at that commit. */
  async moveBranch(branch: string, to: string, from?: string): Promise<GitResult> {
    return this.#git('update-ref', branchRef(branch), to, ...(from === undefined ? [] : [from]));
  }

  async deleteBranch(branch: string, from: string): Promise<GitResult> {
    return this.#git('update-ref', '-d', branchRef(branch), from);
  }

  /** Creates a ref for a deployment's commit, so that git keeps the commit when the branch is updated. */
  async keep(deploymentId: string, sha: string): Promise<void> {
    const kept = await this.#git('update-ref', keptRef(deploymentId), sha, NOTHING);
    if (!kept.ok) throw new Error(`the pushed commit cannot be kept: ${kept.stderr}`);
  }

  async forget(deploymentId: string): Promise<void> {
    await this.#git('update-ref', '-d', keptRef(deploymentId));
  }

  /** Deletes the refs that `keep` has created, except those of the given deployments. */
  async forgetExcept(kept: ReadonlySet<string>): Promise<void> {
    const { stdout } = await this.#git('for-each-ref', '--format=%(refname:lstrip=2)', 'refs/ranvier');
    for (const id of stdout.split('\n')) if (id !== '' && !kept.has(id)) await this.forget(id);
  }

  async pack(): Promise<GitResult> {
    return runGit(this.path, ['gc', '-q', '--prune=1.hour.ago'], { long: true });
  }

  /** Returns the size of the repository's objects on disk, in bytes. */
  async size(): Promise<number> {
    const { stdout } = await this.#git('count-objects', '-v');
    const kib = (name: string) => Number(new RegExp(`^${name}: (\\d+)$`, 'm').exec(stdout)?.[1] ?? 0);
    return 1024 * (kib('size') + kib('size-pack'));
  }

  /**
   * Writes a note file with `lines`: the ids of the commits at which the history of a shallow push ends. The file makes
   * `isHeld` return true until `adoptShallow` deletes the file, or until it expires after `release`.
   */
  async noteShallow(deploymentId: string, lines: string): Promise<void> {
    const note = this.#shallowNote(deploymentId);
    await writeFile(note, lines, { mode: 0o600 });
    const renew = () => {
      const now = new Date();
      // Fails once `adoptShallow` has deleted the note file. That is no error, because the push is then finished.
      utimes(note, now, now).catch(() => undefined);
    };
    this.#renewals.push(setInterval(renew, NOTE_RENEW_MS));
  }

  /** Stops renewing the note files, so that they expire. To be called when git has exited. */
  release(): void {
    for (const renewal of this.#renewals.splice(0)) clearInterval(renewal);
  }

  /**
   * Returns true while git is about to update the ref of a shallow push. If anything else changed that ref or the file
   * `shallow`, git would exit without a response, and the pusher's git would wait forever.
   */
  async isHeld(deploymentId: string): Promise<boolean> {
    const note = await stat(this.#shallowNote(deploymentId)).catch(() => null);
    return note !== null && Date.now() - note.mtimeMs < NOTE_HOLDS_MS;
  }

  /** Adds the commits in a note file to the repository's file `shallow`, unless git has already done so. */
  async adoptShallow(deploymentId: string): Promise<void> {
    const note = this.#shallowNote(deploymentId);
    const noted = await readFile(note, 'utf8').catch(() => null);
    if (noted === null) return;
    const path = join(this.path, 'shallow');
    const known = idsOf(await readFile(path, 'utf8').catch(() => ''));
    const added: string[] = [];
    for (const id of idsOf(noted)) if (!known.includes(id) && (await this.#lacksParent(id))) added.push(id);
    if (added.length > 0) {
      // `shallow.lock` is git's own lock file: a concurrent push fails instead of overwriting lines.
      await writeFile(`${path}.lock`, `${[...known, ...added].join('\n')}\n`, { mode: 0o644, flag: 'wx' });
      await rename(`${path}.lock`, path);
    }
    await rm(note, { force: true });
  }

  async #lacksParent(sha: string): Promise<boolean> {
    const { ok, stdout } = await this.#git('cat-file', 'commit', sha);
    if (!ok) return false;
    for (const [, parent = ''] of stdout.split('\n\n', 1)[0]?.matchAll(/^parent ([0-9a-f]+)$/gm) ?? []) {
      if (!(await this.hasCommit(parent))) return true;
    }
    return false;
  }

  #shallowNote(deploymentId: string): string {
    return join(this.path, `ranvier-shallow-${deploymentId}`);
  }

  #git(...args: string[]): Promise<GitResult> {
    return runGit(this.path, args);
  }
}

function idsOf(lines: string): string[] {
  return lines.split('\n').filter((id) => /^[0-9a-f]{40,64}$/.test(id));
}
