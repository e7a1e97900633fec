import { branchNews, firstPoll, MAX_BRANCHES, noveltyOf, pauseBeforePoll } from '../../shared/commits/model.js';
import {
  appliedCommit,
  type DueRepository,
  endWatches,
  insertCommitEvent,
  knownCommits,
  noteBranches,
  notedBranches,
  type PolledService,
  recordPoll,
  recordSeen,
  servicesOfRepository,
  takeDueRepositories,
  unsyncedServices,
  type WatchedService,
  watchService,
} from '../../shared/commits/store.js';
import { errorMessage } from '../../shared/core/error-registry.js';
import { noteBranch } from '../../shared/previews/store.js';
import { SealError } from '../../shared/secrets/keyring.js';
import { concurrently } from '../core/concurrently.js';
import { SourceError } from '../failures/explained-errors.js';
import { TooManyBranches } from '../sources/repository-source.js';
import type { JobDeps } from '../worker-deps.js';
import { addressOf } from './consider-event.js';
import { stackThatDeploys } from './stack-hooks.js';

type PollDeps = Pick<JobDeps, 'db' | 'keyring' | 'source' | 'dispatcher' | 'log'>;

const SYNCED = 500;
const POLLED = 64;
const AT_ONCE = 8;
const POLL_TIMEOUT_MS = 20_000;
const MAX_ERROR_LENGTH = 300;

/** Polls the repositories that are due, stores an event for each new commit, and returns log lines. */
export async function pollRepositories(deps: PollDeps): Promise<string[]> {
  await syncWatches(deps);
  const found: string[] = [];
  for (;;) {
    const due = await takeDueRepositories(deps.db, POLLED);
    await concurrently(due, AT_ONCE, async (repository) => {
      found.push(...(await poll(deps, repository)));
    });
    if (due.length < POLLED) break;
  }
  if (found.length > 0) deps.dispatcher.wake();
  return found;
}

/** Starts polling for services that deploy, apply a stack or create previews on a commit. Stops it for all others. */
async function syncWatches({ db, keyring, log }: PollDeps): Promise<void> {
  for (const service of await unsyncedServices(db, SYNCED)) {
    const address = openedAddress(keyring, service);
    if (address === null)
      log.warn({ serviceId: service.id }, "the address of a service's repository cannot be opened; it is not polled");
    const fingerprint = keyring.fingerprint(address ?? service.id, 'polled-repository');
    await db.transaction((trx) => watchService(trx, service, fingerprint, firstPoll(fingerprint)));
  }
  await endWatches(db);
}

function openedAddress(keyring: PollDeps['keyring'], service: WatchedService): string | null {
  try {
    return addressOf(keyring, service);
  } catch (error) {
    if (error instanceof SealError) return null;
    throw error;
  }
}

async function poll(deps: PollDeps, { fingerprint, failures }: DueRepository): Promise<string[]> {
  const services = await servicesOfRepository(deps.db, fingerprint);
  const hooked = await areReported(deps, services);
  try {
    const found = await look(deps, services);
    await recordPoll(deps.db, fingerprint, { pauseMs: pauseBeforePoll({ hooked, failures: 0 }), error: '' });
    return found;
  } catch (error) {
    const shown = shownError(error);
    if (failures === 0)
      deps.log.info({ services: services.map(({ id }) => id) }, `a repository cannot be polled: ${shown}`);
    const pauseMs = pauseBeforePoll({ hooked, failures: failures + 1 });
    await recordPoll(deps.db, fingerprint, { pauseMs, error: shown.slice(0, MAX_ERROR_LENGTH) || 'it failed' });
    return [];
  }
}

/** The URL may contain a secret. A `SourceError` never shows it, but the messages of other errors may. */
function shownError(error: unknown): string {
  if (error instanceof SourceError) return errorMessage(error);
  const { name, code } = error as { name?: string; code?: unknown };
  if (name === 'TimeoutError') return 'it did not answer in time';
  return `a fault of the platform (${typeof code === 'string' ? code : name})`;
}

/** True if webhooks report each push: a service's own webhook, or a webhook that applies its stack. */
async function areReported({ db }: PollDeps, services: readonly PolledService[]): Promise<boolean> {
  const others = services.filter(({ hooked }) => !hooked);
  if (others.length > 0 && !services.some(({ applies_stack }) => applies_stack)) return false;
  for (const service of others) if ((await stackThatDeploys(db, service)) === null) return false;
  return true;
}

async function look(deps: PollDeps, services: readonly PolledService[]): Promise<string[]> {
  const [first] = services;
  const url = first && openedAddress(deps.keyring, first);
  if (!first || url === null || url === undefined) return [];
  const watching = services.filter(({ configuration }) => configuration.previewMode === 'automatic');
  const { heads, all } = await headsOf(deps, url, services, watching.length > 0);
  const found: string[] = [];
  for (const service of services) {
    const { id, configuration, applies_stack } = service;
    const sha = heads.get(configuration.branch);
    await noteOwnBranch(deps, service, sha !== undefined);
    if ((configuration.autoDeploy !== 'commit' && !applies_stack) || sha === undefined) continue;
    if (await report(deps, service, sha)) {
      found.push(`found commit ${sha.slice(0, 12)} for service ${id}`);
    }
  }
  if (all) for (const service of watching) found.push(...(await wantPreviews(deps, service, heads)));
  return found;
}

/**
 * Returns the heads of all branches if `all` is set, otherwise the heads of the services' branches. More than
 * `MAX_BRANCHES` branches count as if `all` were not set.
 */
async function headsOf(
  { source, log }: PollDeps,
  url: string,
  services: readonly PolledService[],
  all: boolean,
): Promise<{ heads: Map<string, string>; all: boolean }> {
  const signal = AbortSignal.timeout(POLL_TIMEOUT_MS);
  try {
    const heads = all ? await source.heads({ url, branches: 'all', signal }) : null;
    if (heads !== null && heads.size <= MAX_BRANCHES) return { heads, all };
  } catch (error) {
    if (!(error instanceof TooManyBranches)) throw error;
  }
  if (all) {
    const ids = services.map(({ id }) => id);
    log.info({ services: ids }, `a repository has more than ${MAX_BRANCHES} branches; polling makes no previews of it`);
  }
  const branches = [...new Set(services.map(({ configuration }) => configuration.branch))];
  return { heads: await source.heads({ url, branches, signal }), all: false };
}

async function noteOwnBranch({ db, log }: PollDeps, service: PolledService, there: boolean): Promise<void> {
  if (!service.is_preview || (there && !service.branch_missing)) return;
  if (await noteBranch(db, service.id, there)) {
    log.info({ serviceId: service.id }, 'the branch of a preview is gone; the preview will be deleted');
  }
}

/** Records a service's branches for automatic previews, and stores an event for each new or changed one. */
async function wantPreviews(
  { db }: PollDeps,
  { id, configuration, branches_noted }: PolledService,
  heads: ReadonlyMap<string, string>,
): Promise<string[]> {
  const own = { own: configuration.branch, first: !branches_noted };
  const news = branchNews(heads, await notedBranches(db, id), own);
  if (news.noted.length + news.gone.length > 0 || own.first) {
    await db.transaction((trx) => noteBranches(trx, id, news));
  }
  return news.news.map(
    ([branch, sha]) => `found commit ${sha.slice(0, 12)} of ${branch} for a preview of service ${id}`,
  );
}

/** Stores an event if the commit is new. */
async function report({ db }: PollDeps, service: PolledService, sha: string): Promise<boolean> {
  const { id: serviceId, applies_stack, configuration } = service;
  const { branch } = configuration;
  const known = await knownCommits(db, serviceId, branch);
  if (applies_stack) {
    // A commit may be deployed before its `ranvier.yaml` is applied, so compare with the last applied commit.
    known.deployed = (await appliedCommit(db, serviceId, branch)) ?? known.deployed;
    known.undecided = false;
  }
  switch (noveltyOf(sha, known, 'poll')) {
    case 'known':
    case 'wait':
      return false;
    case 'first':
      await recordSeen(db, serviceId, branch, sha);
      return false;
    case 'news':
      if (!applies_stack && (await stackThatDeploys(db, service)) !== null) return false;
      return (
        (await insertCommitEvent(db, {
          service_id: serviceId,
          kind: 'push',
          branch,
          after_sha: sha,
          actor: 'poll',
        })) !== null
      );
  }
}
